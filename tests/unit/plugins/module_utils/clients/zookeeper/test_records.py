# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build, Upload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.build_case import build_id
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda

LAG = 5.0
"""Seconds after which a store knows what another one has written."""


@pytest.fixture
def keeper() -> MemoryZooKeeper:
    return MemoryZooKeeper(Agenda(), lag=LAG)


@pytest.fixture
def store(keeper: MemoryZooKeeper) -> MemoryStore:
    return keeper.store()


def made_node(store: MemoryStore) -> Node:
    node = Node(type=["small"], provider="east", state=NodeState.READY)
    store.nodes.create(node)
    return node


def test_what_is_read_belongs_to_the_reader(store: MemoryStore) -> None:
    node = made_node(store)
    read = store.nodes.read(node.id)
    read.type.append("large")
    read.state = NodeState.DELETING
    assert store.nodes.read(node.id) == store.nodes.get(node.id) == node


def test_what_another_store_has_written_is_read_before_the_cache_knows_it(
    keeper: MemoryZooKeeper, store: MemoryStore
) -> None:
    node = made_node(store)
    keeper.agenda.run(2 * LAG)
    other = keeper.store()
    assert store.nodes.read(node.id).version == 0
    node.comment = "a look"
    other.nodes.write(node)
    read = store.nodes.read(node.id)
    assert (read.comment, read.version) == ("a look", 1)
    assert store.nodes.get(node.id).comment is None
    other.nodes.delete(node.id)
    assert store.nodes.read(node.id) is None


def test_what_stays_as_it_was_is_parsed_once(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    node = made_node(store)
    assert store.nodes.read(node.id) == node
    monkeypatch.setattr(Node, "from_bytes", None)
    assert store.nodes.read(node.id) == node


def test_an_upload_that_is_read_belongs_to_the_reader(store: MemoryStore) -> None:
    build = Build(image="debian", id=build_id(1))
    store.images.create_build(build)
    upload = Upload(image="debian", build_id=build.id, provider="east", external_id="one")
    store.images.create_upload(upload)
    store.images.read_upload(upload).external_id = "two"
    assert store.images.read_upload(upload) == upload
    assert store.images.read_upload(upload).external_id == "one"
