# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found in a record is found again only after the record or its lock has changed, or where nothing lasts."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import Found, TreeReading
from tests.support.tree_reading import Written, tree_of

ONE, OTHER = f"{paths.NODES}/0000000001", f"{paths.NODES}/0000000002"


class Finder:
    """Finds the state and the lock of nodes; ``seen`` names those that it looked at."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, found: Found) -> tuple[object, bool]:
        """The state, and whether the node is locked."""
        self.seen.append(found.name)
        return found.document.get("state"), found.locked


def test_a_fact_is_found_once_for_all_readings_and_again_only_for_what_was_written():
    tree, finder = tree_of({ONE: {"state": "ready"}, OTHER: {"state": "ready"}}), Finder()

    def facts():
        return [found.fact(finder) for found in TreeReading(tree).kept().below(paths.NODES)]

    assert facts() == facts() == [("ready", False), ("ready", False)]
    assert finder.seen == ["0000000001", "0000000002"]

    tree.put(OTHER, b'{"state": "used"}', Written(1_000))
    assert facts() == facts() == [("ready", False), ("used", False)]
    assert finder.seen[2:] == ["0000000002"]


def test_a_fact_is_found_again_when_the_lock_is_taken_and_when_it_is_released():
    tree, finder = tree_of({ONE: {"state": "ready"}}), Finder()
    contender = f"{ONE}/lock/0123456789abcdef0123456789abcdef__lock__0000000000"

    def fact():
        found = TreeReading(tree).one(ONE)
        assert found is not None
        return found.fact(finder)

    assert fact() == ("ready", False)
    tree.touch(contender)
    assert fact() == ("ready", True)
    tree.remove(contender)
    assert fact() == ("ready", False)


def test_two_functions_have_a_fact_each():
    tree, first, second = tree_of({ONE: {"state": "ready"}}), Finder(), Finder()
    found = TreeReading(tree).one(ONE)
    assert found is not None
    assert found.fact(first) == found.fact(second)
    assert (first.seen, second.seen) == (["0000000001"], ["0000000001"])


def test_a_reading_that_does_not_last_keeps_nothing_with_the_tree():
    tree, finder = tree_of({ONE: {"state": "ready"}}), Finder()
    reading = TreeReading(tree, lasting=False)
    assert list(reading.facts(paths.NODES, finder)) == list(reading.facts(paths.NODES, finder)) == [("ready", False)]
    assert finder.seen == ["0000000001"] * 2
    entry = tree.entry(ONE)
    assert entry is not None and entry.record is None


def test_facts_that_are_named_beforehand_are_found_together_and_their_records_let_go():
    tree, first, second, third = tree_of({ONE: {"state": "ready"}, OTHER: {}}), Finder(), Finder(), Finder()
    reading = TreeReading(tree, lasting=False).kept({paths.NODES: (first, second)})
    assert list(reading.facts(paths.NODES, first)) == [("ready", False), (None, False)]
    assert (first.seen, second.seen) == (["0000000001", "0000000002"],) * 2
    tree.put(OTHER, b'{"state": "used"}', Written(1_000))
    assert list(reading.facts(paths.NODES, second)) == [("ready", False), (None, False)]
    assert list(reading.facts(paths.NODES, third)) == [("ready", False), ("used", False)], "not named: found anew"
    assert len(first.seen) == len(second.seen) == 2


def test_records_of_a_folder_with_named_facts_are_let_go_when_they_are_walked():
    tree = tree_of({ONE: {"state": "ready"}, f"{paths.REQUESTS}/1": {}})
    reading = TreeReading(tree, lasting=False).kept({paths.NODES: (Finder(),)})
    for root, kept in ((paths.NODES, False), (paths.REQUESTS, True)):
        (once,), (again,) = reading.below(root), reading.below(root)
        assert (once is again) is kept, root
