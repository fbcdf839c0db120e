# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from types import SimpleNamespace

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Entry, Tree


def stat(mzxid, version=0):
    return SimpleNamespace(czxid=1, mzxid=mzxid, version=version, ephemeralOwner=0, numChildren=0)


def data(tree):
    entry = tree.entry("/a/1")
    assert entry is not None
    return entry.data


def test_only_news_is_stored():
    tree = Tree()
    assert tree.put("/a/1", b"one", stat(5))
    assert not tree.put("/a/1", b"older", stat(4))
    assert not tree.put("/a/1", b"same", stat(5))
    assert data(tree) == b"one"
    assert tree.put("/a/1", None, stat(6))
    assert data(tree) == b""


def test_names_documents_and_locks():
    tree = Tree()
    tree.put("/n/2", b"two", stat(1))
    tree.put("/n/1", b"one", stat(2))
    tree.touch("/n/lock")
    tree.touch("/n/1/lock")
    assert tree.names("/n") == ["1", "2", "lock"]
    assert [name for name, _entry in tree.documents("/n")] == ["1", "2"]
    assert not tree.is_locked("/n/1/lock")
    tree.touch("/n/1/lock/abc__lock__0000000000")
    assert tree.is_locked("/n/1/lock")
    assert tree.exists("/n/1/lock")
    assert not tree.exists("/n/2/lock")
    assert tree.content() == (
        {"/n/1": b"one", "/n/2": b"two"},
        {"/n/lock", "/n/1/lock", "/n/1/lock/abc__lock__0000000000"},
    )


def test_the_documents_of_a_folder_are_the_same_object_until_one_of_them_changes():
    tree = Tree()
    assert list(tree.documents("/n")) == []
    tree.put("/n/1", b"one", stat(1))
    before = tree.documents("/n")
    tree.put("/m/1", b"elsewhere", stat(2))
    tree.touch("/n/lock")
    tree.put("/n/1", b"older", stat(0))
    assert tree.documents("/n") is before
    tree.put("/n/1", b"two", stat(3))
    changed = tree.documents("/n")
    assert [entry.data for _name, entry in changed] == [b"two"] and changed is not before
    tree.put("/n/2", b"new", stat(4))
    assert [name for name, _entry in tree.documents("/n")] == ["1", "2"]
    tree.remove("/n/1")
    assert [name for name, _entry in tree.documents("/n")] == ["2"]
    tree.remove("/n/2")
    assert list(tree.documents("/n")) == []


def test_dropping_leaves_nothing():
    tree = Tree()
    tree.put("/n/1", b"", stat(1))
    tree.touch("/n/1/lock")
    tree.remove("/n/1/lock")
    tree.remove("/n/1")
    tree.remove("/n/1")
    assert tree.names("/n") == []
    assert tree.content() == ({}, set())


def test_a_subtree_has_children_before_parents():
    tree = Tree()
    for path in ("/n/1", "/n/1/lock", "/n/1/lock/c", "/n/2"):
        tree.touch(path)
    assert tree.subtree("/n/1") == ["/n/1/lock/c", "/n/1/lock", "/n/1"]
    assert tree.subtree("/unknown") == ["/unknown"]


def test_a_document_is_parsed_once():
    entry = Entry(b"data", stat(1, version=7))
    calls = []

    def parse(*arguments):
        calls.append(arguments)

    assert entry.parsed(parse, "x") is None
    assert entry.parsed(parse, "x") is None
    assert calls == [("x", b"data", 7)]


def test_the_number_of_changes_grows_with_each_change_of_one_name():
    tree = Tree()
    tree.put("/n/1/a", b"before anybody asked", stat(1))
    assert tree.changes("/n", "1") == tree.changes("/n", "2") == 0
    seen = [tree.changes("/n", "1")]
    for change in (
        lambda: tree.put("/n/1", b"itself", stat(2)),
        lambda: tree.put("/n/1/a", b"below it", stat(3)),
        lambda: tree.touch("/n/1/a/lock"),
        lambda: tree.remove("/n/1/a/lock"),
        lambda: tree.carry("/n/1/a", Entry(b"", stat(4))),
    ):
        change()
        seen.append(tree.changes("/n", "1"))
    assert len({*seen}) == len(seen) and seen == sorted(seen)
    tree.put("/n/1/a", b"older", stat(2))
    tree.put("/n/11", b"another one", stat(5))
    tree.put("/nn/1", b"elsewhere", stat(6))
    assert tree.changes("/n", "1") == seen[-1] and tree.changes("/n", "2") == 0


def test_the_number_of_changes_waits_for_a_removal_under_way(monkeypatch):
    """Else a reader has the number of the removal with the document from before it, and keeps that for good."""
    tree = Tree()
    tree.put("/n/1", b"there", stat(1))
    tree.changes("/n", "1")
    seen: list[tuple[int, object]] = []
    readers: list[threading.Thread] = []
    marking = tree._mark

    def mark(path):
        marking(path)
        reader = threading.Thread(target=lambda: seen.append((tree.changes("/n", "1"), tree.entry("/n/1"))))
        reader.start()
        readers.append(reader)

    monkeypatch.setattr(tree, "_mark", mark)
    tree.remove("/n/1")
    readers[0].join(30)
    assert seen == [(1, None)]
