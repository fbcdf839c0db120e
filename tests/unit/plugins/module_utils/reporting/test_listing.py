# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several clouds side by side; a known_hosts file in one piece."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.known_hosts import known_hosts_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    NodepoolConfig,
    Provider,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable, ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.listing import (
    fetch_all,
    sources_of_clouds,
    sources_of_config,
)


def config(*providers: Provider) -> NodepoolConfig:
    return NodepoolConfig("/n.yaml", ZooKeeperSettings(()), providers={item.name: item for item in providers})


def test_providers_of_one_project_share_a_listing() -> None:
    found = sources_of_config(
        config(Provider("a", "east"), Provider("b", "east"), Provider("c", "east", "r2"), Provider("d", "west"))
    )
    assert [(source.name, source.providers) for source in found] == [
        ("east", frozenset("ab")),
        ("east/r2", frozenset("c")),
        ("west", frozenset("d")),
    ]


def test_only_wanted_providers() -> None:
    both = config(Provider("a", "east"), Provider("b", "west"))
    assert [source.name for source in sources_of_config(both, ["b"])] == ["west"]
    with pytest.raises(ConfigError, match="has no provider x: it has a, b"):
        sources_of_config(both, ["x"])
    (source,) = sources_of_clouds(["east", "east"], ["a"])
    assert source.providers == frozenset("a")


def test_one_failure_does_not_hold_up_the_others() -> None:
    never = threading.Event()

    def fail() -> list[dict[str, object]]:
        raise ValueError("no")

    def hang() -> list[dict[str, object]]:
        never.wait(60)
        return []

    try:
        answers = fetch_all({"good": lambda: [{"x": 1}], "bad": fail, "late": hang}, deadline=0.05)
    finally:
        never.set()
    assert answers["good"] == [{"x": 1}]
    assert isinstance(answers["bad"], ValueError)
    assert isinstance(answers["late"], CloudUnavailable)
    assert "0.05 s" in str(answers["late"])


def test_known_hosts_lines() -> None:
    assert known_hosts_lines("192.0.2.1", 22, ["a b", "c d"]) == ["192.0.2.1 a b", "192.0.2.1 c d"]
    assert known_hosts_lines("fd00::1", 2022, ["a b"]) == ["[fd00::1]:2022 a b"]
    assert known_hosts_lines("", 22, ["a b"]) == []
    assert known_hosts_lines("192.0.2.1", 22, ["", "a", "a b\nevil c"]) == []
    assert known_hosts_lines("1.1.1.1 k\n2.2.2.2", 22, ["a b"]) == []
