# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator deletes requests beside a launcher, in virtual time."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.delete_requests import delete_requests
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from tests.support.world import World, one_provider


def test_a_pending_request_is_given_up_and_its_node_serves_the_next():
    with World(one_provider(max_servers=1)) as world:
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: bool(world.nodes(NodeState.BUILDING)))
        second = world.request("small")
        (node,) = world.nodes()
        (seen,) = delete_requests(world.store, [first], check=True)
        assert seen.changed and [freed.id for freed in seen.freed] == [node.id]
        assert world.state(first) == "pending"
        (done,) = delete_requests(world.store, [first, first], check=False)
        assert done.changed and world.state(first) is None
        assert world.run(1, until=lambda: first in cycle.account.canceled)
        assert world.run(60, until=lambda: second in world.fulfilled)
        assert world.take(second) == [node.id], "the launch went on for the other request"
        (again,) = delete_requests(world.store, [first], check=False)
        assert not again.changed and not again.refusal


def test_a_fulfilled_request_frees_its_node_unless_its_requestor_takes_it():
    with World(one_provider(max_servers=1)) as world:
        world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        (node,) = world.nodes()
        held = world.store.nodes.lock(node.id)
        assert held is not None
        (refused,) = delete_requests(world.store, [first], check=False)
        assert refused.refusal == (f"request {first} is being collected by world, which has already locked {node.id}")
        assert world.state(first) == "fulfilled"
        held.release()
        assert delete_requests(world.store, [first], check=False)[0].changed
        second = world.request("small")
        assert world.run(60, until=lambda: second in world.fulfilled)
        assert world.take(second) == [node.id]


def test_a_request_of_a_lease_is_refused_while_there_is_the_lease():
    with World(one_provider()) as world:
        request = NodeRequest(
            state="requested", node_types=["small"], requestor="stackci.nodepool", requestor_data={"lease": "try"}
        )
        world.store.requests.create(request)
        world.store.own.put("leases/try", {"name": "try"})
        (refused,) = delete_requests(world.store, [request.id], check=False)
        assert "belongs to the lease try: release the lease" in refused.refusal
        world.store.own.delete("leases/try")
        assert delete_requests(world.store, [request.id], check=False)[0].changed


def test_a_record_that_cannot_be_read_is_deleted():
    with World(one_provider()) as world:
        world.keeper.store_raw("/nodepool/requests/100-0000000099", b"[]")
        (done,) = delete_requests(world.store, ["100-0000000099"], check=False)
        assert done.changed and done.before is None
        assert not world.store.requests.exists("100-0000000099")
