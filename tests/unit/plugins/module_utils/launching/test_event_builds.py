# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All nodes of one event come from one build, as long as it may be used."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.build_choice import (
    OVERDUE,
    TRIALS,
    Candidate,
    choose,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.event_builds import (
    EventBuilds,
    Made,
    Pin,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.placement import place
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    LabelOffer,
    OpenRequest,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch_counts import READY, Attempt
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

NOW = 10_000.0


def request(number: int, event: str | None, labels: int = 1) -> NodeRequest:
    return NodeRequest(id=f"200-{number:010d}", event_id=event, node_types=["small"] * labels)


def made(event: str, number: int, build: str, image: str = "tiny") -> Made:
    return Made(event, f"200-{number:010d}", image, build)


def test_the_first_node_decides_until_it_is_gone() -> None:
    index = EventBuilds()
    index.note("0000000002", made("e", 2, "new"))
    index.note("0000000001", made("e", 1, "old"))
    index.note("0000000003", made("e", 1, "other", image="large"))
    assert index.pin(request(3, "e"), "tiny") == Pin("old")
    assert index.pin(request(2, "e"), "tiny") == Pin("new", same_request=True)
    assert index.pin(request(2, "e"), "tiny", besides="0000000002") == Pin("old")
    assert index.pin(request(9, "f"), "tiny") == index.pin(request(9, None), "tiny") == Pin()
    assert index.builds("e") == {"tiny": "old", "large": "other"}
    index.note("0000000001", None)
    assert index.builds("e") == {"tiny": "new", "large": "other"}


def test_nodes_that_are_being_begun_count_at_once() -> None:
    index = EventBuilds()
    index.begin(made("e", 1, "old"))
    assert index.pin(request(2, "e"), "tiny") == Pin("old")
    index.have_begun()
    assert index.pin(request(2, "e"), "tiny") == Pin()


def test_nodes_of_other_open_requests_are_counted() -> None:
    index = EventBuilds()
    index.open["e"] = 5
    assert index.pin(request(1, "e", labels=2), "tiny").siblings == 3


nodes = st.dictionaries(
    st.integers(0, 30),
    st.tuples(st.sampled_from("ef"), st.integers(0, 3), st.sampled_from(["old", "new"])),
    max_size=12,
)


@given(nodes, st.sets(st.integers(0, 30)))
def test_what_is_gone_leaves_nothing_behind(known: dict[int, tuple[str, int, str]], gone: set[int]) -> None:
    index, again = EventBuilds(), EventBuilds()
    for number, (event, whose, build) in known.items():
        index.note(f"{number:010d}", made(event, whose, build))
        if number not in gone:
            again.note(f"{number:010d}", made(event, whose, build))
    for number in gone:
        index.note(f"{number:010d}", None)
    assert index.__dict__ == again.__dict__


GOOD = [Attempt(NOW - 60, NOW - 40, READY)] * 3
OLD = Candidate("old", 200, GOOD)
builds = st.builds(
    Candidate,
    st.just("new"),
    st.integers(0, 3),
    st.just(()),
    st.just(0.0),
    st.booleans(),
    st.integers(0, 6),
    st.booleans(),
    st.floats(0, NOW),
)


@given(builds, st.integers(1, 9), st.integers(0, 9), st.booleans())
def test_the_older_build_of_an_event_stays_while_it_is_there(
    newest: Candidate, size: int, siblings: int, same: bool
) -> None:
    pin = Pin("old", same, siblings)
    assert choose([newest, OLD], [], size, NOW, pin) == "old"
    # It is gone, or must not be used any more.
    assert choose([newest], [], size, NOW, pin) == "new"


@given(builds, st.integers(1, 9))
def test_nodes_of_one_request_stay_together_while_a_build_is_tried(newest: Candidate, size: int) -> None:
    found = choose([replace(newest, late=False), OLD], [], size, NOW, Pin("new", same_request=True))
    assert found == "new"


@given(st.integers(1, 50), st.integers(0, 50), st.integers(0, 3))
def test_an_event_tries_a_build_as_a_whole_or_not_at_all(size: int, siblings: int, under_way: int) -> None:
    newest = Candidate("new", under_way=under_way, there=NOW - 10)
    found = choose([newest, OLD], [], size, NOW, Pin("", siblings=siblings))
    if siblings and found == "new":
        assert under_way + size + siblings <= TRIALS
    # A build that only large events could try is tried in the end.
    waited = replace(newest, there=NOW - OVERDUE - 1, under_way=0)
    assert choose([waited, OLD], [], size, NOW, Pin("", siblings=siblings)) == "new"


def test_the_builds_of_other_requests_of_an_event() -> None:
    known = EventBuilds()
    mine = NodeRequest(node_types=["small"], event_id="change")
    mine.id = "200-1"
    known.note("0000000001", Made("change", "200-1", "tiny", "new"))
    assert known.of_others(mine, "tiny") == set()
    known.note("0000000002", Made("change", "200-2", "tiny", "old"))
    known.begin(Made("change", "200-3", "tiny", "older"))
    known.begin(Made("other", "200-4", "tiny", "new"))
    assert known.of_others(mine, "tiny") == {"old", "older"} and known.of_others(mine, "huge") == set()


# -- ready nodes ------------------------------------------------------------------------------------------------------


def served(builds: list[str], labels: int, pin: str = "") -> list[str | None]:
    """The builds of the ready nodes that a request takes; None for a node that is launched."""
    offer = LabelOffer(Resources({"instances": 1}))
    ready = [
        ReadyNode(f"{number:010d}", "pool", ("small",), None, Resources(), number, build=("tiny", build))
        for number, build in enumerate(builds)
    ]
    wanted = OpenRequest(
        "200-1",
        ("200", 0, "1"),
        ("small",) * labels,
        builds=frozenset({("one", "tiny", pin)}) if pin else frozenset(),
    )
    pool = PoolState("pool", "one", "main", offers={"small": offer})
    plan = place(Snapshot({"one": ProviderState("one", bounds=Limits())}, (pool,), requests=(wanted,), ready=ready))
    (admit,) = plan.admit
    known = {node.id: node.build[1] for node in ready if node.build}
    return [known.get(slot.node_id or "") for slot in admit.slots]


def test_a_request_takes_ready_nodes_of_one_build_only() -> None:
    assert served(["old", "new", "old"], 2) == ["old", "old"]
    assert served(["old", "new"], 2) == ["old", None]
    assert served(["old", "new"], 1, pin="new") == ["new"]
    assert served(["old"], 1, pin="new") == [None]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=6), st.integers(1, 5), st.sampled_from(["", "a", "b"]))
def test_no_request_ever_mixes_builds(builds: list[str], labels: int, pin: str) -> None:
    taken = {build for build in served(builds, labels, pin) if build is not None}
    assert len(taken | ({pin} if pin else set())) <= 1
