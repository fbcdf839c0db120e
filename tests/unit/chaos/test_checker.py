# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checker of the chaos runs finds each violation that is planted, and nothing in a history that is well."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.chaos.checker import MOST_REFUSED, RULES, judge
from tests.chaos.history import (
    CREATE,
    DELETE,
    OWN,
    SET,
    Change,
    Configured,
    CreateRefused,
    Event,
    History,
    Remains,
    ServerDeleted,
    Typo,
)

LAUNCHER, ZUUL, OTHER = 1, 2, 3
NODE, REQUEST = "0000000001", "100-0000000001"
OFFER = {"east/main": (10.0, frozenset({"small"}))}


class Story:
    """Writes a history, one second after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = [Configured(0.0, OFFER)]
        self.now = 0.0
        self.locks: dict[str, int] = {}
        self.numbers = 0
        self.remains: dict[str, Any] = {}
        self.skew = 0.0

    def tick(self, seconds: float = 1.0) -> float:
        self.now += seconds
        return self.now

    def put(self, session: int, kind: str, path: str, **document: Any) -> None:
        self.events.append(Change(self.tick(), session, kind, path, json.dumps(document).encode()))

    def delete(self, session: int, path: str) -> None:
        self.events.append(Change(self.tick(), session, DELETE, path))

    def lock(self, session: int, node: str = NODE) -> None:
        self.numbers += 1
        path = f"/nodepool/nodes/{node}/lock/{'f' * 32}__lock__{self.numbers:010}"
        self.locks[path] = session
        self.events.append(Change(self.tick(), session, CREATE, path, b"", session))

    def unlock(self, session: int) -> None:
        for path in [path for path, owner in self.locks.items() if owner == session]:
            del self.locks[path]
            self.delete(session, path)

    def request(self, kind: str, state: str, session: int = LAUNCHER, ident: str = REQUEST, **more: Any) -> None:
        document = {"state": state, "node_types": ["small"], **more}
        self.put(session, kind, f"/nodepool/requests/{ident}", **document)

    def node(self, kind: str, state: str, session: int = LAUNCHER, ident: str = NODE, **more: Any) -> None:
        document = {
            "state": state,
            "state_time": self.now + 1.0,
            "provider": "east",
            "pool": "main",
            "external_id": f"server-{ident}",
            "allocated_to": REQUEST,
            **more,
        }
        self.put(session, kind, f"/nodepool/nodes/{ident}", **document)

    def serve(self) -> None:
        """A request is asked and fulfilled."""
        self.request(CREATE, "requested", ZUUL)
        self.request(SET, "pending")
        self.node(CREATE, "building")
        self.lock(LAUNCHER)
        self.node(SET, "ready")
        self.request(SET, "fulfilled", nodes=[NODE])
        self.unlock(LAUNCHER)

    def use(self) -> None:
        """The requestor takes its node."""
        self.lock(ZUUL)
        self.delete(ZUUL, f"/nodepool/requests/{REQUEST}")
        self.node(SET, "in-use", ZUUL)

    def give_back(self, state: str = "used", **more: Any) -> None:
        self.node(SET, state, ZUUL, **more)
        self.unlock(ZUUL)

    def remove(self, server: bool = True) -> None:
        """The launcher deletes the node."""
        self.lock(LAUNCHER)
        self.node(SET, "deleting")
        if server:
            self.events.append(ServerDeleted(self.tick(), "east", f"server-{NODE}"))
        self.unlock(LAUNCHER)
        self.delete(LAUNCHER, f"/nodepool/nodes/{NODE}")

    def wrong(self) -> list[str]:
        return judge(History(self.events, Remains(**self.remains), self.skew))


def whole() -> Story:
    """The life of a node."""
    story = Story()
    story.serve()
    story.use()
    story.give_back()
    story.remove()
    return story


def test_a_whole_life_is_well():
    assert whole().wrong() == []


def test_an_unlocked_node_in_use_is_garbage():
    story = Story()
    story.serve()
    story.use()
    story.unlock(ZUUL)
    story.remove()
    assert story.wrong() == []


def test_a_hold_that_is_over_is_deleted():
    story = Story()
    story.serve()
    story.use()
    story.give_back("hold", hold_expiration=60)
    story.tick(61)
    story.remove()
    assert story.wrong() == []


def test_a_hold_ends_by_the_clock_of_the_launcher():
    story = deleted_while_held()
    story.skew = 600.0
    assert story.wrong() == []


def test_a_request_that_was_not_wanted_any_more_leaves_its_node_to_another():
    story = Story()
    story.serve()
    story.delete(ZUUL, f"/nodepool/requests/{REQUEST}")
    story.lock(LAUNCHER)
    story.request(CREATE, "requested", ZUUL, "100-0000000002")
    story.node(SET, "ready", allocated_to="100-0000000002")
    story.request(SET, "fulfilled", ident="100-0000000002", nodes=[NODE])
    story.unlock(LAUNCHER)
    story.delete(ZUUL, "/nodepool/requests/100-0000000002")
    story.remains = {"servers": frozenset({("east", f"server-{NODE}")})}
    assert story.wrong() == []


# -- what is planted -------------------------------------------------------------------------------------------------


def two_requests() -> Story:
    story = Story()
    story.serve()
    story.request(CREATE, "requested", ZUUL, "100-0000000002")
    story.request(SET, "fulfilled", ident="100-0000000002", nodes=[NODE])
    return story


def used_again() -> Story:
    story = Story()
    story.serve()
    story.use()
    story.unlock(ZUUL)
    story.lock(LAUNCHER)
    story.request(CREATE, "requested", ZUUL, "100-0000000002")
    story.node(SET, "ready", allocated_to="100-0000000002")
    story.request(SET, "fulfilled", ident="100-0000000002", nodes=[NODE])
    return story


def taken_back() -> Story:
    story = Story()
    story.serve()
    story.remove()
    return story


def served_twice() -> Story:
    story = Story()
    story.serve()
    story.request(SET, "requested")
    return story


def too_few_nodes() -> Story:
    story = Story()
    story.request(CREATE, "requested", ZUUL)
    story.request(SET, "fulfilled", nodes=[])
    return story


def deleted_in_use() -> Story:
    story = Story()
    story.serve()
    story.use()
    story.remove()
    return story


def server_deleted_in_use() -> Story:
    story = Story()
    story.serve()
    story.use()
    story.events.append(ServerDeleted(story.tick(), "east", f"server-{NODE}"))
    return story


def deleted_while_held() -> Story:
    story = Story()
    story.serve()
    story.use()
    story.give_back("hold", hold_expiration=600)
    story.remove()
    return story


def held_without_end() -> Story:
    story = Story()
    story.serve()
    story.use()
    story.give_back("hold")
    story.tick(1e6)
    story.remove()
    return story


def written_under_a_lock() -> Story:
    story = Story()
    story.serve()
    story.lock(ZUUL)
    story.node(SET, "ready", OTHER)
    return story


def server_without_record() -> Story:
    story = whole()
    story.remains = {"servers": frozenset({("east", "server-x")})}
    return story


def record_without_server() -> Story:
    story = Story()
    story.serve()
    return story


def node_that_hangs() -> Story:
    story = Story()
    story.node(CREATE, "building")
    story.remains = {"servers": frozenset({("east", f"server-{NODE}")})}
    return story


def address_of_nothing() -> Story:
    story = whole()
    story.remains = {"addresses": {("east", "fip-1"): ""}}
    return story


def launch_left() -> Story:
    story = whole()
    story.put(LAUNCHER, CREATE, f"/nodepool/stackci/launches/{NODE}", phase="building")
    return story


def foreign_gone() -> Story:
    story = whole()
    story.remains = {"foreign": frozenset({"east port p1"})}
    return story


def no_reason() -> Story:
    story = Story()
    story.request(CREATE, "requested", ZUUL)
    return story


def old_reason() -> Story:
    story = no_reason()
    story.put(LAUNCHER, CREATE, f"/nodepool/stackci/waits/{REQUEST}", code="frozen")
    return story


def untrue_reason() -> Story:
    story = no_reason()
    story.put(LAUNCHER, CREATE, f"/nodepool/stackci/waits/{REQUEST}", code="no-room")
    return story


def failed_without_reason() -> Story:
    story = no_reason()
    story.request(SET, "failed")
    return story


def failed_untruly() -> Story:
    story = no_reason()
    reasons = [{"code": "label-unknown", "where": "east/main"}]
    story.put(LAUNCHER, CREATE, f"/nodepool/stackci/waits/{REQUEST}", code="failed", reasons=reasons)
    story.request(SET, "failed")
    return story


def failed_without_launch() -> Story:
    story = no_reason()
    reasons = [{"code": "launch-failed", "where": "east/main"}]
    story.put(LAUNCHER, CREATE, f"/nodepool/stackci/waits/{REQUEST}", code="failed", reasons=reasons)
    story.request(SET, "failed")
    return story


def many_refusals() -> Story:
    story = Story()
    for _turn in range(MOST_REFUSED + 1):
        began = story.tick(3.0)
        story.events.append(CreateRefused(story.tick(0.1), began, "east"))
    return story


def refused_again(apart: float) -> Story:
    """Each create is sent so many seconds after the refusal of the one before has been stored."""
    story = Story()
    story.put(LAUNCHER, CREATE, f"{OWN}/pools/p1", provider_name="east", name="main")
    for _turn in range(MOST_REFUSED + 1):
        story.put(LAUNCHER, SET, f"{OWN}/freezes/p1", instances={})
        story.events.append(CreateRefused(story.now + 0.5, story.now + apart, "east"))
    return story


def refused_although_known() -> Story:
    return refused_again(0.1)


def upload(story: Story, build: int, state: str, kind: str = SET, image: str = "tiny") -> None:
    path = f"/nodepool/images/{image}/builds/{build:032x}/providers/east/images/0000000001"
    story.put(OTHER, kind, path, state=state)


def uploaded(*images: str) -> Story:
    """Three builds of each image, all of them at the provider."""
    story = Story()
    for image in images:
        for build in (1, 2, 3):
            upload(story, build, "ready", CREATE, image)
    return story


def listed_upload_deleted() -> Story:
    story = uploaded("tiny", "extra")
    upload(story, 1, "deleting")
    upload(story, 2, "deleting")
    return story


def none_served_meanwhile(*, served: bool = False, asked: int = 6) -> Story:
    """As long as before the typo, of which all was served, nothing is."""
    story = Story()
    for number in range(6):
        story.request(CREATE, "requested", ZUUL, ident=f"100-{number:010}")
        story.request(SET, "fulfilled", ident=f"100-{number:010}", nodes=[])
    story.events.append(Typo(story.tick(), story.now + 40.0))
    for number in range(asked):
        story.request(CREATE, "requested", ZUUL, ident=f"200-{number:010}")
    if served:
        story.request(SET, "fulfilled", ident="200-0000000000", nodes=[])
    return story


PLANTED: dict[Callable[[], Story], str] = {
    two_requests: "one request",
    used_again: "one request",
    taken_back: "one request",
    served_twice: "one request",
    too_few_nodes: "one request",
    deleted_in_use: "kept",
    server_deleted_in_use: "kept",
    deleted_while_held: "kept",
    held_without_end: "kept",
    written_under_a_lock: "locked",
    server_without_record: "nothing left",
    record_without_server: "nothing left",
    node_that_hangs: "nothing left",
    address_of_nothing: "nothing left",
    launch_left: "nothing left",
    foreign_gone: "foreign",
    no_reason: "ended",
    old_reason: "ended",
    untrue_reason: "ended",
    failed_without_reason: "ended",
    failed_untruly: "ended",
    failed_without_launch: "ended",
    many_refusals: "refusals",
    refused_although_known: "refusals",
    listed_upload_deleted: "images",
    none_served_meanwhile: "served meanwhile",
}


@pytest.mark.parametrize(("plant", "rule"), PLANTED.items())
def test_a_violation_is_found(plant, rule):
    assert [text for text in plant().wrong() if text.startswith(f"{rule}: ")]


def test_every_rule_has_a_violation_that_it_finds():
    assert {rule.name for rule in RULES} == set(PLANTED.values())


def test_the_oldest_of_three_uploads_may_go():
    story = uploaded("tiny")
    upload(story, 1, "deleting")
    assert story.wrong() == []


@pytest.mark.parametrize("story", [none_served_meanwhile(served=True), none_served_meanwhile(asked=2)])
def test_a_typo_is_judged_only_when_nothing_is_served_although_much_is_asked_for(story):
    assert not [text for text in story.wrong() if text.startswith("served meanwhile: ")]


def test_a_configuration_that_was_never_read_because_of_a_typo_makes_no_failure_untrue():
    story = failed_untruly()
    assert [text for text in story.wrong() if text.startswith("ended: ")]
    begun = story.events[1].at
    story.events[0:1] = [
        Configured(begun - 500.0, {"east/main": (0.0, frozenset({"small"}))}),
        Configured(begun - 100.0, OFFER),
        Typo(begun - 100.0, begun + 100.0),
    ]
    assert not [text for text in story.wrong() if text.startswith("ended: ")]


def test_what_a_stranger_plants_breaks_no_rule():
    story = node_that_hangs()
    (path,) = {event.path for event in story.events if isinstance(event, Change)}
    assert story.wrong() and judge(History(story.events, Remains(), planted=frozenset({path}))) == []


def test_waiting_for_room_is_true_where_no_pool_has_any():
    story = untrue_reason()
    story.events.insert(1, Configured(0.0, {"east/main": (0.0, frozenset({"small"}))}))
    assert story.wrong() == []


def test_failing_is_true_where_no_pool_offered_the_label_for_a_while():
    story = failed_untruly()
    story.events.insert(1, Configured(0.0, {"east/main": (math.inf, frozenset({"medium"}))}))
    assert story.wrong() == []


def test_refusals_of_creates_that_were_under_way_together_count_once():
    story = Story()
    for _turn in range(30):
        story.events.append(CreateRefused(10.0, 9.0, "east"))
    assert story.wrong() == []


def test_refusals_of_creates_that_were_sent_before_the_first_was_stored_count_once():
    assert refused_again(-0.1).wrong() == []


def test_refusals_of_creates_that_were_sent_and_answered_before_the_first_was_stored_count_once():
    story = Story()
    story.put(LAUNCHER, CREATE, f"{OWN}/pools/p1", provider_name="east", name="main")
    first = story.now
    for turn in range(MOST_REFUSED + 1):
        story.events.append(CreateRefused(first + 0.01 * turn + 0.005, first + 0.01 * turn, "east"))
    story.put(LAUNCHER, SET, f"{OWN}/freezes/p1", instances={})
    assert story.wrong() == []


def test_refusals_that_are_far_apart_are_well():
    story = Story()
    for _turn in range(30):
        began = story.tick(60.0)
        story.events.append(CreateRefused(story.tick(0.1), began, "east"))
    assert story.wrong() == []
