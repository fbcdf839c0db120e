# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The entries of nodepool-settings.yaml belong to entries of nodepool.yaml with the same names."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.changes import changes
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import LaunchSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.own_settings import (
    check_settings,
    laid_over,
    place_in_settings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

SERVER = "6e23bde4-97c1-4a4a-8ea8-52c0b4b3a3d4"
MAIN = """
zookeeper-servers: [{host: zk}]
labels: [{name: small}, {name: large}]
providers:
  - name: west
    cloud: west
    boot-timeout: 77
    cloud-images: [{name: deb}]
    pools:
      - name: main
        labels:
          - {name: small, cloud-image: deb, flavor-name: s}
          - {name: large, cloud-image: deb, flavor-name: l, server-group: ignored}
  - {name: bare, driver: static, pools: [{nodes: []}, 3]}
"""
OWN = f"""
labels:
  - {{name: small, boot-timeout: 300, server-group: spread, scheduler-hints: {{different_host: {SERVER}}}}}
providers:
  - name: west
    pools: [{{name: main, labels: [{{name: small, launch-timeout: 90, scheduler-hints: {{}}}}]}}]
"""


def read(own: str | None) -> NodepoolConfig:
    return parse_config(MAIN, settings_text=own)


def problems(own: str, main: str = MAIN) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(main, settings_text=own)
    return caught.value.problems


def launches(config: NodepoolConfig, label: str) -> LaunchSettings:
    return config.providers["west"].pools["main"].labels[label].launches


def test_a_pools_label_has_its_own_value_or_that_of_the_label():
    assert launches(read(OWN), "small") == LaunchSettings(boot_timeout=300, launch_timeout=90, server_group="spread")
    assert launches(read(OWN), "large") == launches(read(None), "small") == LaunchSettings()
    assert read(OWN).labels["small"].launches.scheduler_hints == {"different_host": SERVER}
    assert changes(read(None), read(OWN)) == [
        "label small changed (launches)",
        "label west/main/small changed (launches)",
    ]


def test_what_only_the_settings_may_say_has_no_effect_in_nodepool_yaml():
    assert launches(read(OWN), "large").server_group is None
    assert "or providers.pools.labels of nodepool-settings.yaml" in read(None).warnings[0]


@pytest.mark.parametrize("own", ["", "# nothing yet", "labels:", "labels: []"])
def test_an_empty_file_says_nothing(own):
    assert read(own) == read(None)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (
            "labels: [{name: smal}]",
            "labels[smal].name: names the label 'smal', which nodepool.yaml does not define: ",
        ),
        ("providers: [{name: west, pools: [{name: man}]}]", "in provider 'west': did you mean main?"),
        (
            "providers: [{name: west, pools: [{name: main, labels: [{name: tiny}]}]}]",
            "does not define in pool 'main' of provider 'west': define it there, or remove the entry",
        ),
        ("providers: [{name: bare}]", "names a provider with another driver, which is left out"),
        ("labels: [{name: small}, {name: small}]", "is also the name of entry number 1: write one entry"),
        ("labels: [{name: small, boot-timeot: 3}]", "is not a known key here: did you mean boot-timeout?"),
        ("labels: [{name: small, min-ready: 3}]", "is not a known key here: it belongs to labels of nodepool.yaml"),
        ("labels: [{name: small, boot-timeout: 0}]", "expected a whole number of seconds, 1 or more"),
        ("labels: [{boot-timeout: 3}]", "lacks 'name'"),
        ("labels: [{name: small, scheduler-hints: {group: x}}]", "write server-group instead"),
        ("labels: [{name: small, scheduler-hints: {same_host: web1}}]", "is not the id of a server"),
        ("labels: [{name: small, scheduler-hints: {same_host: [web1]}}]", "is not the id of a server"),
        ("labels: [{name: small, server-group: ''}]", "is empty: write a text"),
        ("- a list", "holds a list"),
        ("labels: {name: small}", "put '- ' before each entry"),
        ("zookeeper-servers: [{host: zk}]", "is not a known key here: it belongs to the top of nodepool.yaml"),
    ],
)
def test_a_mistake_is_told_with_file_place_and_remedy(own, sentence):
    found = problems(own)
    assert len(found) == 1 and sentence in found[0], found
    assert found[0].startswith("nodepool-settings.yaml:1: ")


def test_both_files_are_told_together_and_names_are_compared_only_with_what_was_read():
    broken = MAIN.replace("cloud: west", "cloud: 3")
    assert len(problems("labels: [{name: smal}]", broken)) == 2
    assert [text.split(":")[0] for text in problems("labels: [{name: x, server-group: 1}]", "[")] == [
        "nodepool.yaml",
        "nodepool-settings.yaml",
    ]


@pytest.mark.parametrize("odd", [None, 3, "x", [], {"labels": 3}, {"labels": [3, {"name": []}]}, {"providers": [None]}])
def test_data_of_any_form_is_no_trouble(odd: Any):
    assert check_settings(odd, None) == [] == check_settings(odd, {"labels": 3})
    assert not [one for one in check_settings({"labels": [{"name": "a"}]}, odd) if "does not define" not in one.message]


def test_the_place_of_an_entry_is_found_by_names():
    main = {"labels": [{"name": "a"}, {"name": "b"}], "providers": [{"name": "p", "pools": [{"name": "x"}]}]}
    own = {"labels": [{"name": "b"}], "providers": [{"name": "p"}]}
    assert place_in_settings(main, ("labels", 1), own) == ("labels", 0)
    assert place_in_settings(main, ("labels", 0), own) is None
    assert place_in_settings(main, ("providers", 0, "pools", 0), own) is None
    assert place_in_settings(main, ("labels", 1), None) is None
    assert laid_over(main, own) == main


def test_a_value_that_is_written_twice_is_named() -> None:
    (problem,) = problems("labels: [{name: small, channels: [previous, previous]}]")
    assert problem.endswith("channels: has the text 'previous' more than once: remove one")
