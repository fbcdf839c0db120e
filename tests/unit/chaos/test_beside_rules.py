# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each violation that is planted between our launcher and Nodepool's is found, and put down to who has done it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.beside_rules import judge_beside
from tests.chaos.history import CREATE, DELETE, SET, Change, Configured, Event, History, Lapse, Remains

OURS, THEIRS, ZUUL = 1, 2, 3
REQUEST = "100-0000000001"
OUR_POOL, THEIR_POOL = "stackci-pool", "host-north-main"
OFFER = {"east/main": (10.0, frozenset({"small", "both"}))}


class Story:
    """Both launchers have registered; a second passes from one event to the next."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[Event] = [Configured(0.0, OFFER)]
        self.cloudless: frozenset[str] = frozenset()
        self.put(OURS, CREATE, "/nodepool/stackci/live-launchers/one")
        self.put(THEIRS, CREATE, "/nodepool/components/launcher/stock", version="11.0.0")
        self.pool(OURS, OUR_POOL, "small", "both")
        self.pool(THEIRS, THEIR_POOL, "theirs", "both")
        self.now += 60.0

    def tick(self) -> float:
        self.now += 1.0
        return self.now

    def put(self, session: int, kind: str, path: str, **document: Any) -> None:
        owner = session if path.startswith(("/nodepool/components", "/nodepool/requests-lock")) else 0
        self.events.append(Change(self.tick(), session, kind, path, json.dumps(document).encode(), owner))

    def pool(self, session: int, ident: str, *labels: str) -> None:
        self.put(session, CREATE, f"/nodepool/components/pool/{ident}", id=ident, supported_labels=labels)

    def request(self, session: int, kind: str, state: str, *labels: str, **more: Any) -> None:
        self.put(session, kind, f"/nodepool/requests/{REQUEST}", state=state, node_types=labels, **more)

    def node(self, session: int, kind: str, state: str, provider: str, **more: Any) -> None:
        document = {"state": state, "provider": provider, "external_id": "s1", "allocated_to": REQUEST, **more}
        self.put(session, kind, "/nodepool/nodes/0000000001", **document)

    def lock(self, session: int) -> None:
        self.put(session, CREATE, f"/nodepool/requests-lock/{REQUEST}/a__lock__0000000000")

    def lapse(self) -> None:
        """Nodepool's launcher is stopped from the beginning until now."""
        self.events.append(Lapse(0.0, self.now))

    def judged(self) -> tuple[list[str], list[str]]:
        ordered = sorted(self.events, key=lambda event: event.at)
        providers = {"east": "ours", "north": "theirs", "machines": "theirs"}
        return judge_beside(History(ordered, Remains(), cloudless=self.cloudless, providers=providers))


def asked(*labels: str) -> Story:
    story = Story()
    story.request(ZUUL, CREATE, "requested", *labels)
    return story


def node_of_ours_deleted() -> Story:
    story = asked("small")
    story.node(OURS, CREATE, "building", "east")
    story.node(THEIRS, SET, "deleting", "east")
    story.put(THEIRS, DELETE, "/nodepool/nodes/0000000001")
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    story.lapse()
    return story


def node_of_theirs_deleted() -> Story:
    story = asked("theirs")
    story.node(THEIRS, CREATE, "building", "north")
    story.node(OURS, SET, "deleting", "north")
    story.put(OURS, DELETE, "/nodepool/nodes/0000000001")
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    return story


def request_of_theirs_written() -> Story:
    story = asked("both")
    story.lock(THEIRS)
    story.request(OURS, SET, "pending", "both")
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    return story


def request_of_ours_written() -> Story:
    story = asked("both")
    story.lock(OURS)
    story.request(THEIRS, SET, "requested", "both")
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    return story


def failed_although_we_could() -> Story:
    story = asked("both")
    story.request(THEIRS, SET, "failed", "both", declined_by=[THEIR_POOL])
    story.put(OURS, CREATE, f"/nodepool/stackci/waits/{REQUEST}", code="failed", reasons=[{"code": "no-image"}])
    story.lapse()
    return story


def failed_while_theirs_was_away() -> Story:
    story = asked("theirs")
    story.put(THEIRS, DELETE, f"/nodepool/components/pool/{THEIR_POOL}")
    story.request(OURS, SET, "failed", "theirs", declined_by=[OUR_POOL])
    return story


def declined_without_a_lapse() -> Story:
    story = asked("theirs")
    story.request(THEIRS, SET, "failed", "theirs", declined_by=[THEIR_POOL])
    return story


def fulfilled_wrongly() -> Story:
    story = asked("theirs")
    story.node(THEIRS, CREATE, "building", "north")
    story.node(THEIRS, SET, "deleting", "north")
    story.request(THEIRS, SET, "fulfilled", "theirs", nodes=["0000000001"])
    story.put(THEIRS, DELETE, f"/nodepool/requests/{REQUEST}")
    story.put(THEIRS, DELETE, "/nodepool/nodes/0000000001")
    return story


PLANTED: dict[Callable[[], Story], str] = {
    node_of_ours_deleted: "nodes of the other",
    node_of_theirs_deleted: "nodes of the other",
    request_of_theirs_written: "requests of the other",
    request_of_ours_written: "requests of the other",
    failed_although_we_could: "served",
    failed_while_theirs_was_away: "served",
    declined_without_a_lapse: "served",
    fulfilled_wrongly: "one request",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_each_violation_is_found(plant):
    wrong, theirs = plant().judged()
    assert wrong and {text.partition(":")[0] for text in wrong} == {PLANTED[plant]}
    assert theirs == []


@pytest.mark.parametrize(
    "plant", [request_of_ours_written, declined_without_a_lapse, fulfilled_wrongly], ids=lambda plant: plant.__name__
)
def test_what_nodepool_does_to_its_own_in_a_lapse_is_counted_apart(plant):
    story = plant()
    story.lapse()
    wrong, theirs = story.judged()
    assert wrong == [] and theirs


def test_a_lapse_that_was_over_excuses_nothing():
    story = declined_without_a_lapse()
    story.events.append(Lapse(0.0, 30.0))
    wrong, theirs = story.judged()
    assert len(wrong) == 1 and theirs == []


@pytest.mark.parametrize("told", [True, False])
def test_when_nodepool_is_the_last_to_decline_our_stored_declines_tell_why(told):
    story = asked("small")
    if told:
        reasons = [{"code": "too-large-for-pool", "where": "east/main"}]
        story.put(OURS, CREATE, f"/nodepool/stackci/declines/{REQUEST}", reasons=reasons)
    story.request(THEIRS, SET, "failed", "small", declined_by=[OUR_POOL, THEIR_POOL])
    wrong, theirs = story.judged()
    assert {text.partition(":")[0] for text in wrong} == (set() if told else {"ended"}) and theirs == []


def test_a_request_that_nobody_has_the_labels_for_fails():
    story = asked("small", "theirs")
    story.request(THEIRS, SET, "failed", "small", "theirs", declined_by=[OUR_POOL, THEIR_POOL])
    assert story.judged() == ([], [])


def test_nodepool_may_free_a_node_of_ours():
    story = asked("both")
    story.node(OURS, CREATE, "ready", "east")
    story.node(THEIRS, SET, "ready", "east", allocated_to=None)
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    story.put(OURS, DELETE, "/nodepool/nodes/0000000001")
    assert story.judged() == ([], [])


@pytest.mark.parametrize(("state", "judged"), [("init", []), ("building", ["nodes of the other"])])
def test_nodepool_may_end_a_node_of_a_lost_request_for_which_no_server_was_asked(state, judged):
    story = asked("both")
    story.node(OURS, CREATE, state, "east")
    story.node(THEIRS, SET, "deleting", "east", allocated_to=None)
    story.put(ZUUL, DELETE, f"/nodepool/requests/{REQUEST}")
    story.put(OURS, DELETE, "/nodepool/nodes/0000000001")
    assert [text.partition(":")[0] for text in story.judged()[0]] == judged


def test_nodes_of_a_request_for_min_ready_are_free_again_after_it():
    story = Story()
    story.cloudless = frozenset({"north"})
    story.request(THEIRS, CREATE, "requested", "theirs", requestor="NodePool:min-ready")
    story.node(THEIRS, CREATE, "ready", "north")
    story.request(THEIRS, SET, "fulfilled", "theirs", requestor="NodePool:min-ready", nodes=["0000000001"])
    story.node(THEIRS, SET, "ready", "north", allocated_to=None)
    assert story.judged() == ([], [])


def test_a_node_without_a_cloud_needs_no_server():
    story = Story()
    story.node(THEIRS, CREATE, "ready", "machines", allocated_to=None)
    assert [text.partition(":")[0] for text in story.judged()[0]] == ["nothing left"]
    story.cloudless = frozenset({"machines"})
    assert story.judged() == ([], [])
