# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of scheduler hints is nova's, and their words name what restricts the hosts."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import LaunchSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import (
    NODEPOOL_SCHEMA,
    SETTINGS_SCHEMA,
)
from tests.support.config_texts import complaints, parse, valid_document

SERVER = "6e23bde4-97c1-4a4a-8ea8-52c0b4b3a3d4"


@pytest.mark.parametrize(
    ("hints", "fits"),
    [
        ({}, True),
        ({"same_host": SERVER}, True),
        ({"different_host": [SERVER, SERVER.replace("-", "")]}, True),
        ({"query": '["=", "$x", 1]', "cidr": "/24", "build_near_host_ip": "192.0.2.1"}, True),
        ({"of_a_cloud": {"any": ["thing", 3]}}, True),
        ({"same_host": "web1"}, False),
        ({"different_host": [3]}, False),
        ({"build_near_host_ip": "2001:db8::7"}, True),
        ({"build_near_host_ip": "node7"}, False),
        ({"cidr": "24"}, False),
        ({"target_cell": 3}, False),
        ([], False),
    ],
)
def test_hints_have_the_form_that_nova_wants(hints: Any, fits: bool):
    validator = jsonschema.Draft202012Validator(SETTINGS_SCHEMA)
    assert validator.is_valid({"labels": [{"name": "a", "scheduler-hints": hints}]}) is fits


def test_a_hint_without_a_value_counts_as_absent() -> None:
    """nova refuses each create with ``null``; an empty mapping still replaces what the label says."""
    settings = {
        "labels": [{"name": "small", "scheduler-hints": {"same_host": None, "cell": "a"}}],
        "providers": [{"name": "east", "pools": [{"name": "main", "labels": [{"name": "large"}]}]}],
    }
    config = parse(valid_document(), settings_text=yaml.safe_dump(settings))
    assert config.providers["east"].pools["main"].labels["small"].launches.scheduler_hints == {"cell": "a"}


def test_only_the_file_of_our_own_has_these_options():
    def keys(schema: Any) -> set[str]:
        return set(schema["properties"]["labels"]["items"]["properties"])

    own = {"boot-timeout", "launch-timeout", "probe", "scheduler-hints", "server-group", "channels"}
    assert keys(SETTINGS_SCHEMA) == {"name", *own}
    assert not keys(NODEPOOL_SCHEMA) & own
    assert set(SETTINGS_SCHEMA["properties"]) == {"labels", "diskimages", "providers", "usage-budgets"}


def test_what_restricts_the_hosts_has_words():
    assert LaunchSettings().placement == ""
    assert LaunchSettings(server_group="g").placement == "server group g"
    assert LaunchSettings(scheduler_hints={"b": 1, "a": 2}).placement == "hints a=2, b=1"


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        ({}, "needs port or command: say what is tried"),
        ({"interval": 5}, "needs port or command: say what is tried"),
        ({"command": "true"}, "has a command, but no key-file: name a private key"),
        ({"port": 0}, "port"),
        ({"port": 22, "comand": "true"}, "comand"),
        ({"port": 22, "timeout": 0}, "timeout"),
    ],
)
def test_a_probe_that_tries_nothing_or_cannot_log_in_is_an_error(probe: dict[str, Any], words: str) -> None:
    settings = yaml.safe_dump({"labels": [{"name": "small", "probe": probe}]})
    (found,) = complaints(valid_document(), settings_text=settings)
    assert words in found and "nodepool-settings.yaml" in found


def test_the_probe_of_a_pools_label_comes_before_that_of_the_label_and_of_the_image() -> None:
    ports = {"image": 1, "label": 2, "pool": 3}

    def probed(*places: str) -> int | None:
        pool = [{"name": "main", "labels": [{"name": "small", "probe": {"port": 3}}]}] if "pool" in places else []
        images = [{"name": "debian", "probe": {"port": 1}}] if "image" in places else []
        labels = [{"name": "small", "probe": {"port": 2}}] if "label" in places else []
        settings = {"labels": labels, "diskimages": images, "providers": [{"name": "east", "pools": pool}]}
        config = parse(valid_document(), settings_text=yaml.safe_dump(settings))
        east = config.providers["east"]
        label = east.pools["main"].labels["small"]
        found = config.probe(label, config.image_settings(east, label))
        return found.port if found is not None else None

    assert probed() is None
    for places in (("image",), ("image", "label"), ("image", "label", "pool"), ("label",), ("pool",)):
        assert probed(*places) == ports[places[-1]]
