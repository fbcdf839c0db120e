# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of our own."""

from __future__ import annotations

import time

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from tests.support.fixtures_zookeeper import new_store


def test_put_get_children_delete(store, zk_client):
    store.own.put("launches/0000000001", {"phase": "create", "failures": []})
    assert zk_client.get("/nodepool/stackci/launches/0000000001")[0] == b'{"phase":"create","failures":[]}'
    document = store.own.get("launches/0000000001")
    document["failures"].append("mine")
    assert store.own.get("launches/0000000001") == {"phase": "create", "failures": []}
    store.own.put("launches/0000000001", {"phase": "boot"})
    assert store.own.get("launches/0000000001") == {"phase": "boot"}
    store.own.put("launches/0000000000", {})
    assert store.own.children("launches") == ["0000000000", "0000000001"]
    assert store.own.children("") == ["launches"]
    assert store.own.get("launches") is None
    assert store.own.get("nothing/here") is None
    store.own.delete("launches")
    store.own.delete("launches")
    assert store.own.children("") == []
    assert zk_client.get_children("/nodepool/stackci") == []


def test_create_once_keeps_the_first(store, zk_chroot):
    with new_store(zk_chroot) as other:
        first = store.own.create_once("site", {"id": "a"})
        assert first == {"id": "a"}
        assert other.own.create_once("site", {"id": "b"}) == {"id": "a"}
    store.own.put("providers/p/x", {})
    assert store.own.create_once("providers/p", {"id": "c"}) == {"id": "c"}
    assert store.own.get("providers/p") == {"id": "c"}


def test_changes_of_two_sessions_add_up(store, zk_chroot):
    def more(document):
        return {"count": (document or {"count": 0})["count"] + 1}

    with new_store(zk_chroot) as other:
        for _turn in range(20):
            store.own.change("counters/a", more)
            other.own.change("counters/a", more)
        assert store.own.read("counters/a") == {"count": 40}
        store.own.delete("counters/a")
        other.own.change("counters/a", more)
        assert store.own.read("counters/a") == {"count": 1}
        written = other.own.written("counters/a")
    assert written is not None and abs(written - time.time()) < 3600
    assert store.own.written("counters/none") is None


def test_one_document_is_absorbed_by_another_unless_it_is_written_meanwhile(store, zk_client):
    def both(mine, other):
        return {"count": mine["count"] + other["count"]}

    store.own.put("counters/a", {"count": 1})
    store.own.put("counters/b", {"count": 2})
    store.own.absorb("counters/a", "counters/b", both)
    assert (store.own.read("counters/a"), store.own.read("counters/b")) == ({"count": 3}, None)
    store.own.put("counters/b", {"count": 5})

    def late(mine, other):
        zk_client.set("/nodepool/stackci/counters/b", b'{"count": 6}')
        return both(mine, other)

    with pytest.raises(StoreError, match="counters/b"):
        store.own.absorb("counters/a", "counters/b", late)
    assert (store.own.read("counters/a"), store.own.read("counters/b")) == ({"count": 3}, {"count": 6})
    with pytest.raises(StoreError, match="counters/none"):
        store.own.absorb("counters/a", "counters/none", both)


def test_locks_create_what_they_need(store, zk_chroot):
    with new_store(zk_chroot) as other:
        held = store.own.lock("providers/p")
        assert held.path == "/nodepool/stackci/providers/p/lock"
        assert store.own.is_locked("providers/p")
        assert other.own.lock("providers/p") is None
        assert store.own.get("providers/p") is None
        store.own.put("providers/p", {"boot": 20})
        assert store.own.children("providers/p") == []
        held.release()
        assert not store.own.is_locked("providers/p")
        assert other.own.lock("providers/p") is not None


@pytest.mark.parametrize("path", ["", "/site", "site/", "a//b", "a/../b", "a/.", "leases/lock", "a/\0", "a/\n"])
def test_paths_that_cannot_be(store, path):
    with pytest.raises(StoreError, match="segment"):
        store.own.put(path, {})


@pytest.mark.parametrize("name", ["lock", "..", "a/b", "ü\n", "100%", "", "Zuul job 7"])
def test_names_that_users_choose(store, name):
    if not name:
        assert paths.segment(name) == ""
        return
    path = f"leases/{paths.segment(name)}"
    store.own.put(path, {"name": name})
    assert store.own.get(path) == {"name": name.replace("\n", " ")}, "documents are read as single lines"
    assert store.own.children("leases") == [paths.segment(name)]


def test_what_is_too_much_for_one_request_is_deleted_all_the_same(store, zk_client):
    """ZooKeeper takes no request of more than a megabyte."""
    name, many, at_once = "n" * 120, 8000, 1000
    store.own.put("many", {})
    for begin in range(0, many, at_once):
        batch = store.batch()
        for number in range(begin, begin + at_once):
            batch.create(paths.own(f"many/{name}{number}"))
        batch.commit()
    assert len(store.own.children("many")) == many
    store.own.delete("many")
    assert store.own.children("") == []
    assert zk_client.get_children("/nodepool/stackci") == []
