# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that somebody works on, or keeps: whatever becomes of their servers is theirs to decide."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from tests.support.world import World, one_provider

GONE = "gone"
STATUSES = ("PAUSED", "SUSPENDED", "RESCUE", "HARD_REBOOT", "SHUTOFF", "UNKNOWN", "ERROR", "SOFT_DELETED", GONE)


@pytest.mark.parametrize("state", [NodeState.IN_USE, NodeState.HOLD])
@pytest.mark.parametrize("status", STATUSES)
def test_a_node_that_is_used_or_kept_is_left_alone_whatever_its_server_does(state: str, status: str):
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        (node_id,) = world.take(request)
        if state == NodeState.HOLD:
            world.keep([node_id])
        (machine,) = world.clouds["east"].of_node(node_id)
        if status == GONE:
            world.clouds["east"].remove(machine)
        else:
            machine.status = status
        other = world.request("small")
        assert world.run(400, until=lambda: other in world.fulfilled)
        world.run(300)
        node = world.store.nodes.read(node_id)
        assert node is not None and (node.state, node.external_id) == (state, machine.id)
        deletes = [kind for client in cycle.clients for _when, kind in client.calls if kind.startswith("DELETE")]
        assert not deletes
