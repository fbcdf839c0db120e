# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules return is what they document, no more and no less, with and without check mode."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.lease_cycle import (
    LeaseStatus,
    SetStatus,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.run import LeaseOutcome, LeaseTurn
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.lease_plan import Begin
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.lease_result import outcome_result
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.summary import launcher_summary
from ansible_collections.stackci.nodepool.plugins.modules import node_launch, nodepool_request
from tests.support.check_mode import check_mode
from tests.support.documented import differences
from tests.support.world import Habit, World, one_provider

# What the module takes out of the cycle's result and shows by Ansible's own means.
SHOWN_OTHERWISE = {"warnings"}


def returned(result: dict[str, Any]) -> dict[str, Any]:
    """What the module makes of a cycle's result."""
    kept = {name: value for name, value in result.items() if name not in SHOWN_OTHERWISE}
    return {**kept, "summary": launcher_summary(result)}


def test_a_cycle_returns_what_is_documented():
    with World(one_provider(max_servers=2, min_ready={"medium": 1}), quota={"east": {"instances": 9}}) as world:
        world.start(duration=60)
        cycle = world.cycles[0]
        for _count in range(2):
            world.request("small", habit=Habit())
        world.request("small", "small")
        world.request("unknown")
        world.run(30)
        world.fault("east", "GET", error=lambda: CloudUnavailable("503"))
        world.run(60)
        result = returned(cycle.result)
    assert result["requests"]["fulfilled"] and result["requests"]["waiting"] and result["requests"]["failed"]
    assert differences(node_launch.RETURN, result, check=False) == []


def test_check_mode_returns_what_is_documented():
    with World(one_provider(max_servers=2), quota={"east": {"instances": 9}}) as world, check_mode(world) as run:
        world.request("small", "small")
        world.request("small")
        world.request("unknown")
        result = returned(run())
    assert all(result["plan"][what] for what in ("admit", "wait", "decline"))
    assert differences(node_launch.RETURN, result, check=True) == []


@pytest.mark.parametrize("check", [False, True])
def test_a_lease_returns_what_is_documented(check):
    held = Node(id="0000000001", state="hold", type=["small"], external_id="s1", allocated_to="r1")
    held.state_time, held.hold_expiration = 1000.0, 60
    status = LeaseStatus(
        done=True,
        wanted=2,
        ready=1,
        sets=[SetStatus("r1", "fulfilled", {"code": "no-room", "text": "text"}), SetStatus(None, "")],
        nodes=[held],
        planned=[Begin("none yet")],
        notices=["renewed"],
    )
    turn = LeaseTurn(spec=LeaseSpec("web", ("small",)), config="nodepool.yaml")
    result = outcome_result(turn, LeaseOutcome(status, status), preview=check)
    assert differences(nodepool_request.RETURN, result, check=check) == []


def test_a_difference_is_noticed():
    block = """
    here: {description: d, returned: success, type: str}
    gone: {description: d, returned: success, type: str}
    deep: {description: d, returned: success, type: list, elements: dict, contains: {a: {description: d, type: int}}}
    only: {description: d, returned: in check mode, type: bool}
    """
    result = {"here": 1, "deep": [{"a": None, "b": 2}], "changed": True}
    assert sorted(differences(block, result, check=False)) == [
        "deep.a is null, which is not documented",
        "deep.b is returned and not documented",
        "gone is documented and not returned",
        "here is a int, documented as str",
    ]
    assert "only is documented and not returned" in differences(block, result, check=True)
