# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tree in which each thing is once, and the views that are torn by what others move meanwhile."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.steady import Moves, is_steady
from tests.support.tree_reading import Written

MOVES = Moves(sources="/nodepool/nodes", entries="/nodepool/stackci/entries", sums="/nodepool/stackci/days")
DAY, ENTRY, NODE = f"{MOVES.sums}/2026-11-25", f"{MOVES.entries}/n1", f"{MOVES.sources}/n1"


class Stored:
    """A session whose tree was read before the state that is stored now. Both are path → transaction."""

    def __init__(self, read: dict[str, int], now: dict[str, int]) -> None:
        self.tree, self._now = Tree(), now
        for path, zxid in read.items():
            self.tree.put(path, b"{}", Written(zxid))

    def children(self, path: str) -> list[str]:
        return sorted(name.rpartition("/")[2] for name in self._now if name.rpartition("/")[0] == path)

    def read_together(self, wanted: Any) -> dict[str, tuple[bytes, Written]]:
        return {path: (b"{}", Written(self._now[path])) for path in wanted if path in self._now}


CASES: dict[str, tuple[dict[str, int], dict[str, int], bool]] = {
    "nothing has moved": ({DAY: 1, ENTRY: 2, NODE: 1}, {DAY: 1, ENTRY: 2, NODE: 1}, True),
    "nothing is stored": ({}, {}, True),
    "a deletion has begun, and its node was read": ({NODE: 1}, {ENTRY: 5, NODE: 1}, True),
    "a node was deleted between the readings of the folders": ({DAY: 1}, {DAY: 1, ENTRY: 5}, False),
    "an entry was closed meanwhile": ({DAY: 1, ENTRY: 2}, {DAY: 1, ENTRY: 7}, True),
    "an entry was counted after both were read": ({DAY: 1, ENTRY: 2}, {DAY: 9}, False),
    "an entry was counted after it was read and before the day was": ({DAY: 9, ENTRY: 2}, {DAY: 9}, False),
    "a day was begun": ({ENTRY: 2}, {DAY: 9}, False),
    "a day of two was counted between": ({DAY: 9, ENTRY: 2}, {DAY: 9, ENTRY: 9}, False),
    "a day of two was counted before": ({DAY: 9, ENTRY: 9}, {DAY: 9, ENTRY: 9}, True),
    "an old day was deleted": ({DAY: 1}, {}, True),
}


@pytest.mark.parametrize("name", CASES)
def test_a_torn_view_is_seen(name: str) -> None:
    read, now, steady = CASES[name]
    assert is_steady(cast(Session, Stored(read, now)), MOVES) is steady
