# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes the configuration has left behind, and what is done about them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.actions import DeleteNode
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.retiring import Places, retirement
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.upkeep import Idle, upkeep
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Pool, PoolLabel, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits

LABELS = {"small": PoolLabel("small", cloud_image="debian")}
EAST = Provider(
    "east",
    "cloud",
    pools={
        "main": Pool("main", labels=LABELS),
        "off": Pool("off", labels=LABELS, limits=Limits({"instances": 0})),
    },
)


@pytest.mark.parametrize(
    ("pool", "labels", "reason"),
    [
        ("main", ["small"], None),
        ("main", ["large", "small"], None),
        ("main", ["large", "huge"], Reason(reasons.LABEL_UNKNOWN, {"where": "east/main", "label": "large, huge"})),
        ("main", [], Reason(reasons.LABEL_UNKNOWN, {"where": "east/main", "label": "?"})),
        ("off", ["small"], Reason(reasons.POOL_DISABLED, {"where": "east/off"})),
        ("gone", ["small"], Reason(reasons.POOL_GONE, {"where": "east/gone"})),
        (None, ["small"], Reason(reasons.POOL_GONE, {"where": "east/?"})),
    ],
)
def test_what_has_no_place_any_more(pool, labels, reason):
    assert retirement(EAST, pool, labels) == reason
    assert reason is None or str(reason.figures["where"]) in reason.text()


def node(state: str, **more: Any) -> Node:
    fields = {"provider": "east", "pool": "main", "type": ["large"], **more}
    made = Node(id="0000000001", **fields)
    made.set_state(state, 0.0)
    return made


@pytest.mark.parametrize("fields", [{"provider": "north"}, {"pool": None}, {"type": ["small"]}])
def test_what_is_not_ours_or_has_a_place_is_left_alone(fields):
    assert Places({"east": EAST}).retired(node(NodeState.READY, **fields)) is None


def actions(one: Node, *, owners: tuple[str, ...] = (), launches: tuple[str, ...] = ()) -> list[Any]:
    idle = Idle([one], [], owners, launches, {"east": EAST})
    return list(upkeep(idle, {}, 0, 10.0))


@pytest.mark.parametrize("state", [NodeState.READY, NodeState.BUILDING, NodeState.INIT])
def test_an_idle_node_without_a_place_is_deleted(state):
    (action,) = actions(node(state), launches=("0000000001",))
    assert isinstance(action, DeleteNode)
    assert action.reason.code == reasons.LABEL_UNKNOWN


@pytest.mark.parametrize("state", [NodeState.READY, NodeState.BUILDING])
def test_a_node_of_a_request_waits(state):
    assert actions(node(state, allocated_to="7"), owners=("7",), launches=("0000000001",)) == []


def test_a_held_node_lives_on():
    assert actions(node(NodeState.HOLD)) == []
