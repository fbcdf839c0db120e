# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The id of the tree: made once, compared with the cache, and with ZooKeeper before anything is deleted."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import (
    check_tree,
    confirm_tree,
    site_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged


class Documents:
    """The documents of ZooKeeper, and those that the cache shows."""

    def __init__(self, there: dict[str, Any] | None = None) -> None:
        self.there = there
        self.cached = there
        self.reads = 0
        self.puts: list[dict[str, Any]] = []

    def get(self, _path: str) -> dict[str, Any] | None:
        return self.cached

    def read(self, _path: str) -> dict[str, Any] | None:
        self.reads += 1
        return self.there

    def create_once(self, _path: str, document: dict[str, Any]) -> dict[str, Any]:
        self.there = self.there or document
        return self.there

    def put(self, _path: str, document: dict[str, Any]) -> None:
        self.there = document
        self.puts.append(document)


class Tree:
    def __init__(self, there: dict[str, Any] | None = None) -> None:
        self.own = Documents(there)


def store(tree: Tree) -> Store:
    return cast(Store, tree)


def test_the_id_is_made_once():
    tree = Tree()
    first = site_of(store(tree), create=True)
    assert len(first) == 32
    assert site_of(store(tree), create=True) == first


def test_check_mode_makes_none():
    tree = Tree()
    assert site_of(store(tree), create=False) == ""
    assert tree.own.there is None
    assert site_of(store(Tree({"id": "abc"})), create=False) == "abc"


@pytest.mark.parametrize("damaged", [{"id": ""}, {"id": 7}, {"other": "abc"}])
def test_a_damaged_document_gets_a_new_id(damaged):
    tree = Tree(damaged)
    fresh = site_of(store(tree), create=True)
    assert tree.own.puts == [{"id": fresh}]
    assert len(fresh) == 32


def test_zookeeper_is_asked_only_when_the_cache_shows_another_id():
    tree = Tree({"id": "abc"})
    check_tree(store(tree), "abc")
    assert tree.own.reads == 0
    tree.own.cached = None  # as after a reconnection
    check_tree(store(tree), "abc")
    assert tree.own.reads == 1


@pytest.mark.parametrize(("there", "said"), [({"id": "xyz"}, "it says 'xyz' now"), (None, "it is gone")])
def test_another_tree_is_told_with_both_ids(there, said):
    tree = Tree(there)
    for look in (check_tree, confirm_tree):
        with pytest.raises(TreeExchanged, match=f"said 'abc', and {said}"):
            look(store(tree), "abc")
