# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known about a node's use from its records."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch, Phase
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node_use import (
    LONGEST_NAME,
    NEEDED,
    NodeUse,
    job_of,
    lost,
    project_of,
    use_of,
    wanted_at,
)


def node(state: str, at: float, **more: object) -> Node:
    made = Node(state=state, provider="east", pool="main", type=["small"], created_time=90.0, **more)  # type: ignore[arg-type]
    made.id, made.state_time = "0000000001", at
    return made


def launch(phase: str = Phase.READY, **more: object) -> Launch:
    fields: dict[str, object] = {
        "node_id": "0000000001",
        "provider": "east",
        "pool": "main",
        "label": "small",
        "phase": phase,
    }
    fields |= {"since": 150.0, "server_id": "s-1", "created_at": 100.0, "request_id": "100-1"}
    return Launch(**{**fields, **more})  # type: ignore[arg-type]


def test_the_needed_keys_of_a_record_are_enough() -> None:
    read: set[str] = set()

    class Watched(Node):
        def __getattribute__(self, name: str) -> object:
            read.add(name)
            return super().__getattribute__(name)

    for state in sorted(NodeState.ALL):
        for started in (launch(), None):
            watched = Watched(state=state, provider="east", pool="main", type=["small"], allocated_to="100-1")
            use_of(watched, started, in_use_since=1.0, held_since=2.0, ends=3.0)
    assert read & Node.KEYS.keys() | {"state_time"} == {*NEEDED}


def test_a_used_node_that_was_launched_for_its_request() -> None:
    found = use_of(node(NodeState.USED, 400.0, allocated_to="100-1", tenant_name="t"), launch(job="tox"), ends=410.0)
    assert found == NodeUse(
        "0000000001", "small", "east", "main", "t", "", "tox", 100.0, 150.0, 150.0, None, 400.0, servers=1
    )


def test_a_spare_node_is_its_requestors_from_when_it_was_given_to_it() -> None:
    given = launch(request_id=None, taken_at=300.0, wanted_at=299.0)
    found = use_of(node(NodeState.IN_USE, 301.0, allocated_to="100-1"), given, ends=410.0)
    assert (found.ready, found.taken, found.left, found.warm, found.wanted) == (150.0, 300.0, 410.0, True, 299.0)


def test_a_held_node() -> None:
    found = use_of(node(NodeState.HOLD, 400.0, hold_job="tox-held"), launch(job="tox"), ends=900.0)
    assert (found.taken, found.held, found.left, found.job) == (150.0, 400.0, 900.0, "tox-held")
    released = use_of(node(NodeState.USED, 800.0), launch(), held_since=400.0, ends=810.0)
    assert (released.held, released.left) == (400.0, 800.0)


def test_a_node_that_nobody_had_was_not_taken() -> None:
    assert use_of(node(NodeState.READY, 150.0), launch(), ends=900.0).taken is None


@pytest.mark.parametrize(
    ("phase", "server", "thrown", "made", "servers"),
    [
        (Phase.BOOTING, "s-1", 0, 100.0, 1),
        (Phase.QUEUED, None, 2, None, 2),
        (Phase.CLEARING, "s-1", 1, 100.0, 1),
        (Phase.FAILED, "s-1", 3, 100.0, 3),
        (Phase.CREATING, None, 0, None, 0),
    ],
)
def test_a_launch_that_was_given_up(phase, server, thrown, made, servers) -> None:
    given_up = launch(phase, server_id=server, thrown=thrown, thrown_seconds=7.0)
    found = use_of(node(NodeState.FAILED, 200.0), given_up, ends=210.0)
    assert (found.made, found.servers, found.thrown, found.ready, found.taken) == (made, servers, 7.0, None, None)


def test_a_node_of_nodepools_launcher_has_no_launch_record() -> None:
    found = use_of(node(NodeState.USED, 400.0), None, in_use_since=200.0, ends=410.0)
    assert (found.made, found.ready, found.taken, found.left, found.servers) == (90.0, 200.0, 200.0, 400.0, 1)


def test_a_node_whose_record_another_program_has_deleted() -> None:
    found = lost(launch(job="tox"), 500.0)
    assert (found.made, found.ready, found.taken, found.gone, found.job) == (100.0, 150.0, 150.0, 500.0, "tox")
    assert lost(launch(request_id=None), 500.0).taken is None


def test_it_is_stored_and_read_again() -> None:
    found = use_of(node(NodeState.USED, 400.0), launch(), ends=410.0)
    assert NodeUse.from_document(found.document()) == found


@pytest.mark.parametrize(
    ("data", "project"),
    [
        ({"zuul_system": "z", "project_name": "opendev.org/a/b"}, "opendev.org/a/b"),
        ('{"zuul_system": "z", "project_name": "opendev.org/a/b"}', "opendev.org/a/b"),
        ({"project_name": ["x"]}, ""),
        ("x" * 100_000, ""),
        (None, ""),
        (7, ""),
    ],
)
def test_the_project_is_what_zuul_writes(data, project) -> None:
    assert project_of(node(NodeState.IN_USE, 1.0, user_data=data)) == project


def test_foreign_names_are_printable_and_bounded() -> None:
    told = project_of(node(NodeState.IN_USE, 1.0, user_data={"project_name": "a\x1b[31m\n" + "b" * 9000}))
    assert told.isprintable() and len(told.encode()) <= LONGEST_NAME
    assert job_of({"job_name": "tox\n"}) == "tox " and job_of(["job_name"]) == job_of(None) == job_of({}) == ""


def test_a_requestors_clock_is_not_ahead() -> None:
    assert wanted_at(200.0, 100.0) == 100.0 and wanted_at(50, 100.0) == 50
    assert wanted_at("x", 100.0) is wanted_at(None, 100.0) is wanted_at(float("nan"), 1.0) is wanted_at(0, 1.0) is None
