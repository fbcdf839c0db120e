# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.batch import Batch
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_time import Agenda

BUILD = f"/nodepool/images/debian/builds/{'a' * 32}"
UPLOADS = f"{BUILD}/providers/west/images"


@pytest.fixture
def zookeeper():
    return MemoryZooKeeper(Agenda())


@pytest.fixture
def store(zookeeper):
    store = zookeeper.store()
    store.open()
    return store


def test_a_counter_is_brought_beyond_the_uploads_and_leaves_nothing(store, zookeeper):
    for highest in (0, 7, 7, 1500):
        store.raw_images.count_beyond(UPLOADS, highest)
        assert zookeeper.names[UPLOADS] == set()
    store.raw_images.put(f"{UPLOADS}/0000001500", b"{}")
    made, _stat = store.session.create(f"{UPLOADS}/", b"{}", sequence=True)
    assert int(paths.split(made)[1]) > 1500


def test_a_counter_that_stands_before_what_is_there_goes_on(store, zookeeper):
    zookeeper.store_raw(f"{UPLOADS}/0000000000", b"{}")
    zookeeper.store_raw(f"{UPLOADS}/0000000001", b"{}")
    store.raw_images.count_beyond(UPLOADS, 1)
    made, _stat = store.session.create(f"{UPLOADS}/", b"{}", sequence=True)
    assert int(paths.split(made)[1]) > 1


def test_what_is_put_is_read_and_replaced(store, zookeeper):
    store.raw_images.put(BUILD, b"1")
    store.raw_images.put(BUILD, b"2")
    assert store.raw_images.read()[BUILD] == b"2"


def test_builders_and_locks_are_found(store, zookeeper):
    assert (store.raw_images.builders(), store.raw_images.locks()) == ([], [])
    zookeeper.store_raw("/nodepool/components/builder/host0000000001", b"{}")
    zookeeper.store_raw(f"{UPLOADS}/lock/x{paths.CONTENDER}0000000000", b"")
    zookeeper.store_raw("/nodepool/nodes/0000000001/lock/x__lock__0000000000", b"")
    other = zookeeper.store()
    other.open()
    assert (other.raw_images.builders(), other.raw_images.locks()) == (["host0000000001"], [f"{UPLOADS}/lock"])


def next_number(store):
    made, _stat = store.session.create(f"{UPLOADS}/", b"{}", sequence=True)
    return int(paths.split(made)[1])


def many(numbers):
    """Records of a build and of uploads with these numbers."""
    return {BUILD: b"{}", **{f"{UPLOADS}/{number:010d}": b"{}" for number in sorted(numbers)}}


@pytest.mark.parametrize("numbers", [{1}, {7}, {1, 2, 3}, {0}, {3, 900}, set(range(1, 1001))])
@pytest.mark.parametrize("is_new", [True, False])
def test_many_records_at_once_and_the_next_upload_has_a_higher_number(store, zookeeper, numbers, is_new):
    if not is_new:
        store.raw_images.put(f"{UPLOADS}/0000000002", b"old")
    store.raw_images.put_all(many(numbers), {UPLOADS: max(numbers)})
    known = store.raw_images.read()
    assert {path: known[path] for path in many(numbers)} == many(numbers)
    assert next_number(store) > max(numbers)
    assert "counting" not in zookeeper.names[UPLOADS]


def test_many_records_take_few_round_trips(store, monkeypatch):
    commits: list[int] = []
    commit = Batch.commit

    def counted(batch):
        commits.append(len(batch.paths))
        commit(batch)

    monkeypatch.setattr(Batch, "commit", counted)
    store.raw_images.put_all(many(range(1, 4001)), {UPLOADS: 4000})
    assert len(commits) < 15


def test_records_that_another_client_writes_meanwhile_are_stored_all_the_same(store, monkeypatch):
    commit = Batch.commit

    def late(batch):
        if not store.raw_images.read():
            store.raw_images.put(f"{UPLOADS}/0000000002", b"of another")
        commit(batch)

    monkeypatch.setattr(Batch, "commit", late)
    store.raw_images.put_all(many({1, 2, 3}), {UPLOADS: 3})
    monkeypatch.undo()
    known = store.raw_images.read()
    assert {path: known[path] for path in many({1, 2, 3})} == many({1, 2, 3})
    assert next_number(store) > 3
