# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be done next for a lease, from what is seen."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.lease_plan import (
    Adopt,
    DropRequest,
    LeaseView,
    plan_absent,
    plan_present,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import Lease, LeaseSpec, new_request
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState

SPEC = LeaseSpec("web", ("small",), patience=60)


def asked(lease: Lease, key: str, now: float = 0.0) -> NodeRequest:
    request = new_request(SPEC, lease, 0, "event", now)
    request.id = key
    return request


def test_of_two_requests_for_one_set_the_first_is_kept() -> None:
    lease = Lease.new(SPEC, "nonce", 0.0)
    view = LeaseView({key: asked(lease, key) for key in ("100-0000000002", "100-0000000001")})
    plan = plan_present(SPEC, lease, view, 1.0)
    assert next(action for action in plan.actions if isinstance(action, Adopt)).request == "100-0000000001"
    assert [action.request for action in plan.actions if isinstance(action, DropRequest)] == ["100-0000000002"]


def test_request_of_an_earlier_lease_of_the_name_is_dropped() -> None:
    lease = Lease.new(SPEC, "nonce", 0.0)
    lease.sets[0].request = "100-0000000002"
    old = asked(Lease.new(SPEC, "old nonce", 0.0), "100-0000000001")
    other = asked(Lease.new(LeaseSpec("other", ("small",)), "nonce", 0.0), "100-0000000003")
    view = LeaseView({old.id: old, "100-0000000002": asked(lease, "100-0000000002"), other.id: other})
    plan = plan_present(SPEC, lease, view, 1.0)
    assert [action.request for action in plan.actions if isinstance(action, DropRequest)] == [old.id]
    assert plan.waiting == ["100-0000000002"]
    dropped = [action.request for action in plan_absent("web", lease, view).actions if isinstance(action, DropRequest)]
    assert dropped == [old.id, "100-0000000002"]


def test_request_that_expired_is_asked_for_anew() -> None:
    lease = Lease.new(SPEC, "nonce", 0.0)
    lease.sets[0].request = "100-0000000001"
    view = LeaseView({"100-0000000001": asked(lease, "100-0000000001")})
    assert plan_present(SPEC, lease, view, 59.0).actions == []
    assert [type(action).__name__ for action in plan_present(SPEC, lease, view, 60.0).actions] == [
        "DropRequest",
        "Forget",
    ]


def test_fulfilled_with_too_few_nodes_is_not_taken() -> None:
    lease = Lease.new(SPEC, "nonce", 0.0)
    lease.sets[0].request = "100-0000000001"
    request = asked(lease, "100-0000000001")
    request.set_state(RequestState.FULFILLED, 1.0)
    view = LeaseView({request.id: request}, {"1": Node(id="1", state="ready", allocated_to=request.id)})
    assert [type(action).__name__ for action in plan_present(SPEC, lease, view, 1.0).actions] == [
        "DropRequest",
        "Forget",
    ]
    request.nodes = ["1"]
    assert [type(action).__name__ for action in plan_present(SPEC, lease, view, 1.0).actions] == [
        "Hold",
        "Note",
        "DropRequest",
    ]


def test_document_survives_a_round_trip() -> None:
    lease = Lease.new(LeaseSpec("web", ("small", "large"), count=2), "nonce", 5.0)
    lease.sets[1].nodes = ["0000000001"]
    assert Lease.from_document(lease.document()) == lease
