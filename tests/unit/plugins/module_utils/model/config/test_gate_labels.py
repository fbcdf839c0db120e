# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate of a diskimage in nodepool-settings.yaml: its labels, who tests, and the names that it may have."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_labels import (
    canary_label,
    control_label,
    gate_of,
    providers_that_test,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.gate_settings import GateSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError


def provider(name: str, *labels: dict[str, Any]) -> dict[str, Any]:
    made = [{"flavor-name": "s", "diskimage": "deb", **label} for label in labels]
    pools = [{"name": "main", "labels": made}]
    return {"name": name, "cloud": name, "diskimages": [{"name": "deb"}], "pools": pools}


MAIN: dict[str, Any] = {
    "zookeeper-servers": [{"host": "zk"}],
    "labels": [{"name": name} for name in ("small", "large", "other")],
    "diskimages": [{"name": "base", "abstract": True}, {"name": "deb", "parent": "base"}, {"name": "fed"}],
    "providers": [
        provider("north"),
        provider("west", {"name": "small"}, {"name": "large", "flavor-name": "l"}),
        provider("east", {"name": "large", "flavor-name": "l"}),
    ],
}


def read(gate: dict[str, Any] | None, name: str = "deb") -> NodepoolConfig:
    own = {"diskimages": [{"name": name, "gate": gate}]} if gate is not None else {}
    return parse_config(yaml.safe_dump(MAIN), settings_text=yaml.safe_dump(own))


def problems(gate: dict[str, Any], name: str = "deb") -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(gate, name)
    return caught.value.problems


def test_without_a_gate_nothing_is_added():
    config = read(None)
    assert gate_of(config, "deb") is None
    assert gate_of(config, "unknown") is None
    assert providers_that_test(config, "deb") == []
    assert list(config.providers["west"].pools["main"].labels) == ["small", "large"]


def test_its_labels_are_copies_of_the_first_one_of_the_diskimage():
    config = read({"playbook": "smoke.yml"})
    assert gate_of(config, "deb") == GateSettings("smoke.yml")
    labels = config.providers["west"].pools["main"].labels
    canary, control, small = labels[canary_label("deb")], labels[control_label("deb")], labels["small"]
    assert (canary.is_canary, control.is_canary, small.is_canary) == (True, False, False)
    assert canary.flavor_name == control.flavor_name == small.flavor_name == "s"
    assert canary.diskimage == control.diskimage == "deb"
    assert not config.providers["north"].pools["main"].labels
    assert providers_that_test(config, "deb") == ["west"]
    assert providers_that_test(config, "fed") == []


def test_label_flavor_and_providers_are_chosen():
    config = read({"playbook": "smoke.yml", "label": "large", "flavor": "huge", "providers": ["east", "west"]})
    assert providers_that_test(config, "deb") == ["east", "west"]
    flavors = {
        config.providers[name].pools["main"].labels[label].flavor_name
        for name in ("east", "west")
        for label in (canary_label("deb"), control_label("deb"))
    }
    assert flavors == {"huge"}


def test_a_gate_is_inherited_from_an_abstract_diskimage():
    config = read({"playbook": "smoke.yml", "label": "whatever-the-children-have"}, "base")
    assert gate_of(config, "deb") == GateSettings("smoke.yml", label="whatever-the-children-have")
    assert providers_that_test(config, "deb") == []


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({}, "playbook"),
        ({"playbook": "x", "label": "smal"}, "did you mean small?"),
        ({"playbook": "x", "label": "other"}, "which no pool makes from diskimage 'deb'"),
        ({"playbook": "x", "providers": ["north"]}, "name one of west, east"),
        ({"playbook": "x", "label": "small", "providers": ["west", "east"]}, "did you mean west?"),
        ({"playbook": "x", "tries": 1}, "tries"),
        ({"playbook": "x", "at-deadline": "give-up"}, "at-deadline"),
        ({"playbook": "x", "time-out": 3}, "timeout"),
    ],
)
def test_what_cannot_be_is_told(gate: dict[str, Any], said: str):
    (problem,) = problems(gate)
    assert said in problem and "nodepool-settings.yaml" in problem


def test_a_diskimage_without_a_label_cannot_be_tested():
    (problem,) = problems({"playbook": "x"}, "fed")
    assert "no provider that lists diskimage 'fed' has a label of it" in problem


@pytest.mark.parametrize("odd", [{"diskimages": 3}, {"diskimages": ["deb", {"name": 3, "gate": []}]}])
def test_data_of_any_form_gives_problems_and_no_traceback(odd: dict[str, Any]):
    with pytest.raises(ConfigError):
        parse_config(yaml.safe_dump(MAIN), settings_text=yaml.safe_dump(odd))


def channels(own: dict[str, Any]) -> NodepoolConfig:
    return parse_config(yaml.safe_dump(MAIN), settings_text=yaml.safe_dump(own))


def test_channels_are_labels_of_other_builds():
    config = channels({"labels": [{"name": "small", "channels": ["previous", "candidate"]}]})
    labels = config.providers["west"].pools["main"].labels
    assert {name: labels[name].channel for name in labels} == {
        "small": "",
        "large": "",
        "small-previous": "previous",
        "small-candidate": "candidate",
    }
    assert labels["small-previous"].flavor_name == "s"
    assert config.labels["small-previous"].min_ready == 0
    assert not [name for name in config.providers["east"].pools["main"].labels if "small" in name]


@pytest.mark.parametrize("wrong", [["last"], ["previous", "previous"], "previous"])
def test_a_channel_that_there_is_not_is_told(wrong: Any):
    with pytest.raises(ConfigError) as caught:
        channels({"labels": [{"name": "small", "channels": wrong}]})
    assert "channels" in caught.value.problems[0]


def test_a_channel_may_not_take_the_name_of_a_label():
    main = {**MAIN, "labels": [*MAIN["labels"], {"name": "small-previous"}]}
    own = yaml.safe_dump({"labels": [{"name": "small", "channels": ["previous"]}]})
    with pytest.raises(ConfigError) as caught:
        parse_config(yaml.safe_dump(main), settings_text=own)
    assert "makes the label 'small-previous', which nodepool.yaml defines" in caught.value.problems[0]


def test_channels_of_a_pools_label_are_compared_as_well():
    main = {**MAIN, "labels": [*MAIN["labels"], {"name": "small-previous"}]}
    pools = [{"name": "main", "labels": [{"name": "small", "channels": ["candidate", "previous"]}]}]
    with pytest.raises(ConfigError) as caught:
        parse_config(
            yaml.safe_dump(main), settings_text=yaml.safe_dump({"providers": [{"name": "west", "pools": pools}]})
        )
    (found,) = caught.value.problems
    assert "providers[west].pools[main].labels[small].channels[1]: makes the label 'small-previous'" in found


def test_the_probe_of_a_label_is_for_all_nodes_that_are_made_as_it_says():
    """Also for those of its channels, and for canaries."""
    own = {
        "labels": [{"name": "small", "channels": ["previous"], "probe": {"port": 22}}],
        "diskimages": [{"name": "deb", "gate": {"playbook": "x", "label": "small"}}],
    }
    config = channels(own)
    west = config.providers["west"]
    labels = west.pools["main"].labels
    for name in ("small", "small-previous", canary_label("deb"), control_label("deb")):
        probe = config.probe(labels[name], config.image_settings(west, labels[name]))
        assert probe is not None and probe.port == 22, name
    assert config.probe(labels["large"], config.image_settings(west, labels["large"])) is None
