# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a lease is told."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import (
    LeaseStatus,
    SetStatus,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.run import LeaseOutcome, LeaseTurn
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.lease_plan import (
    Begin,
    DropRequest,
    End,
    Release,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import DeadlineExceeded
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseError, LeaseSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.lease_files import NO_FILES, lease_row
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.lease_result import (
    outcome_result,
    progress_line,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.node_access_rows import node_row
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.leasing import LEASE_ARGUMENTS
from ansible_collections.stackci.nodepool.plugins.modules import nodepool_request

NO_ROOM = {"code": "no-room", "text": "2 instances needed, 0 left in cloud1/main"}
WAITING = LeaseStatus(
    wanted=5,
    ready=3,
    sets=[SetStatus("100-0000000011", "fulfilled"), SetStatus("100-0000000012", "requested", NO_ROOM)],
)


def turn(**values: object) -> LeaseTurn:
    return LeaseTurn(spec=LeaseSpec("web", ("small",)), config="/etc/nodepool.yaml", **values)  # type: ignore[arg-type]


def test_progress_line_names_the_first_reason() -> None:
    assert progress_line(WAITING) == (
        "3 of 5 nodes ready; request 100-0000000012 waits: 2 instances needed, 0 left in cloud1/main"
    )


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (LeaseStatus(done=True, wanted=5, ready=5), "all 5 nodes ready"),
        (LeaseStatus(done=True, changed=True), "released"),
        (LeaseStatus(done=True), "nothing to release"),
        (LeaseStatus(done=True, wanted=2, failures=["request r1 failed"]), "0 of 2 nodes ready; request r1 failed"),
        (LeaseStatus(busy="node 1 is locked by another program"), "releasing; node 1 is locked by another program"),
        (LeaseStatus(wanted=1, sets=[SetStatus("100-1", "pending")]), "0 of 1 node ready"),
        (LeaseStatus(done=True, wanted=1, ready=1), "the node is ready"),
        (
            LeaseStatus(wanted=2, sets=[SetStatus("r1", "requested", NO_ROOM), SetStatus("r2", "requested", NO_ROOM)]),
            "0 of 2 nodes ready; request r1 (and 1 more) waits: 2 instances needed, 0 left in cloud1/main",
        ),
    ],
)
def test_progress_lines(status: LeaseStatus, line: str) -> None:
    assert progress_line(status) == line


def test_time_over_says_what_happens_to_the_requests() -> None:
    with pytest.raises(DeadlineExceeded, match=r"not complete after 600 s: 3 of 5 .* the requests stay") as caught:
        outcome_result(turn(), LeaseOutcome(WAITING, WAITING, timed_out=True))
    assert caught.value.last_state["requests"][1]["reason"] == NO_ROOM
    with pytest.raises(DeadlineExceeded, match="everything was released"):
        outcome_result(turn(), LeaseOutcome(WAITING, WAITING, timed_out=True, cancelled=True))
    with pytest.raises(DeadlineExceeded, match="could not be released"):
        outcome_result(turn(present=False), LeaseOutcome(LeaseStatus(), LeaseStatus(busy="x"), timed_out=True))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, "the server of node 7 is not created yet"),
        ({"external_id": "s"}, "the server of node 7 is not up yet"),
        ({"interface_ip": "10.0.0.7"}, "the server of node 7 is up, but 10.0.0.7:22 has not answered"),
        ({"interface_ip": "fd00::7"}, r"the server of node 7 is up, but \[fd00::7\]:22 has not answered"),
    ],
)
def test_time_over_says_how_far_the_launch_is(known: dict[str, Any], told: str) -> None:
    status = LeaseStatus(wanted=1, sets=[SetStatus("r1", "pending")], coming=[Node("7", **known)])
    with pytest.raises(DeadlineExceeded, match=f"0 of 1 node ready; {told}; the requests stay"):
        outcome_result(turn(), LeaseOutcome(status, status, timed_out=True))


def test_failure_carries_the_reason() -> None:
    status = LeaseStatus(done=True, failures=["request r1 for small failed: no pool offers it"])
    with pytest.raises(LeaseError, match=r"lease web: request r1 for small failed: no pool offers it\. "):
        outcome_result(turn(), LeaseOutcome(LeaseStatus(), status))


def test_diffs() -> None:
    held = LeaseStatus(
        done=True,
        wanted=1,
        sets=[SetStatus("r1", "fulfilled")],
        nodes=[Node(id="0000000001", state="hold", type=["small"])],
    )
    result = outcome_result(turn(), LeaseOutcome(LeaseStatus(), held))
    assert result["diff"] == {
        "before": {"requests": {}, "nodes": {}},
        "after": {"requests": {"r1": "fulfilled"}, "nodes": {"0000000001": "hold"}},
    }
    released = outcome_result(turn(present=False), LeaseOutcome(held, LeaseStatus(done=True, changed=True)))
    assert released["diff"]["after"]["nodes"] == {"0000000001": "used"}
    held.planned = [DropRequest("why", "r1"), Release("why", "0000000001"), End("why")]
    preview = outcome_result(turn(present=False), LeaseOutcome(held, held), preview=True)
    assert preview["planned"] == ["delete request r1: why", "release node 0000000001: why", "end the lease: why"]
    assert preview["diff"]["after"] == {"requests": {}, "nodes": {"0000000001": "used"}}
    new = LeaseStatus(wanted=3, planned=[Begin("none yet")])
    assert outcome_result(turn(), LeaseOutcome(new, new), preview=True)["diff"]["after"]["nodes"] == {
        "(new)": "3 x requested"
    }


def test_node_row_has_exactly_what_the_module_documents() -> None:
    import yaml

    documented = yaml.safe_load(nodepool_request.RETURN)["nodes"]["contains"]
    assert set(lease_row(node_row(Node(id="1", type=["small"])), NO_FILES)) == set(documented)
    options = yaml.safe_load(nodepool_request.DOCUMENTATION)["options"]
    for name, spec in LEASE_ARGUMENTS.items():
        if name in options:
            assert options[name]["type"] == spec["type"]
            assert options[name].get("default") == spec.get("default")
    assert set(options) <= set(LEASE_ARGUMENTS)
