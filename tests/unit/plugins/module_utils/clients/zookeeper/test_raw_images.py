# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper import paths
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
