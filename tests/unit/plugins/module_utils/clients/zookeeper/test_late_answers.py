# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer of a session that has ended: the cache of the next one must not believe it."""

from __future__ import annotations

from typing import Any

import pytest
from kazoo.protocol.serialization import Create2

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from tests.support.memory_zookeeper import MemorySession, MemoryZooKeeper
from tests.support.virtual_time import Agenda


def test_a_lock_of_the_session_before_is_not_in_the_cache_of_the_next():
    keeper = MemoryZooKeeper(Agenda())
    store = keeper.store()
    session: MemorySession = store.session
    node = Node(state=NodeState.USED, provider="east", pool="main", type=["small"])
    store.nodes.create(node)

    def end(request: Any) -> None:
        if isinstance(request, Create2) and "__lock__" in request.path:
            session._end()
            keeper.end_session(session.owner)
            session._connect_anew()

    session.after = end
    with pytest.raises(StoreError):
        store.nodes.lock(node.id)
    assert store.nodes.holder(node.id) is None and not session.tree.is_locked(f"/nodepool/nodes/{node.id}/lock")
