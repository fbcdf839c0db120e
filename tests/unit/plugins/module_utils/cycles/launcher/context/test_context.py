# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Since when nodes are in their states, whatever clock has written that down."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.context import Ages
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node

NOW = 1_700_000_000.0


def node(at: float | None, version: int = 0) -> Node:
    return Node(id="1", state="ready", state_time=at, version=version)


def seen(ages: Ages, known: Node | None, now: float) -> None:
    ages.follow(["1"], {} if known is None else {"1": known}, now)


def test_what_is_past_is_believed():
    ages = Ages()
    seen(ages, node(NOW - 5), NOW)
    assert ages.since(node(NOW - 5), NOW) == NOW - 5
    assert ages.since(node(None), NOW) == 0.0


def test_what_is_to_come_began_when_it_was_seen_first():
    ages = Ages()
    seen(ages, node(NOW + 3600), NOW)
    assert ages.since(node(NOW + 3600), NOW + 60) == NOW
    assert ages.since(node(NOW + 3600), NOW + 7200) == NOW, "also when that time has come"
    seen(ages, node(NOW + 3600), NOW + 60)
    assert ages.since(node(NOW + 3600), NOW + 60) == NOW, "a lock that changes is not another state"


def test_another_version_is_another_state():
    ages = Ages()
    seen(ages, node(NOW + 3600), NOW)
    assert ages.since(node(NOW + 3600, version=1), NOW + 60) == NOW + 60, "not seen yet: not of the future"
    seen(ages, node(NOW + 3600, version=1), NOW + 60)
    assert ages.since(node(NOW + 3600, version=1), NOW + 90) == NOW + 60
    seen(ages, node(NOW + 50, version=2), NOW + 60)
    assert ages.since(node(NOW + 50, version=2), NOW + 60) == NOW + 50


def test_a_node_that_is_gone_is_forgotten():
    ages = Ages()
    seen(ages, node(NOW + 3600), NOW)
    seen(ages, None, NOW + 1)
    assert ages.since(node(NOW + 3600), NOW + 60) == NOW + 60
