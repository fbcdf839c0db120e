# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds that are not to be used: nothing is launched from them, and their ready nodes go."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import (
    APPROVED,
    HAND,
    HELD,
    REJECTED,
    REVOKED,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import build_of_path
from tests.support.build_case import build_id, images, ready, upload, uploaded
from tests.support.world import World


def decide(world: World, number: int, state: str, *, wait: float = 0.0) -> None:
    now = world.agenda.now
    world.store.verdicts.change(
        "built", build_id(number), lambda had: had.given(state, "it is bad", HAND, now, now + wait)
    )


@pytest.mark.parametrize(
    ("state", "image"),
    [("", "east-2"), (APPROVED, "east-2"), (HELD, "east-1"), (REJECTED, "east-1"), (REVOKED, "east-1")],
)
def test_the_next_older_build_is_used_instead(state: str, image: str) -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        upload(world, 2)
        if state:
            decide(world, 2, state)
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert images(world) == [image]


def test_an_older_build_that_was_uploaded_later_does_not_replace_a_newer_one() -> None:
    with World(uploaded()) as world:
        upload(world, 1, at=100.0)
        upload(world, 2)
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert images(world) == ["east-2"]
        store = world.store.images
        assert [one.build_id for one in store.ready_uploads("built", "east")] == [build_id(2), build_id(1)]
        assert store.newest_ready("built", "east", unused={build_id(2)}).build_id == build_id(1)


def test_a_request_waits_when_no_other_build_is_there_and_says_why() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        decide(world, 1, REVOKED)
        cycle = world.start()
        request = world.request("small")
        assert not world.run(300, until=lambda: request in world.fulfilled)
        assert world.state(request) == "requested" and images(world) == []
        reason = cycle.account.waiting[request]
        assert (reason["code"], reason["owner"]) == ("build-unused", "image")
        assert reason["text"] == (
            f"east/main: build {build_id(1)} of image built is revoked by hand: it is bad; there is no other one to use"
        )
        world.store.verdicts.change("built", build_id(1), lambda had: had.undone(world.agenda.now))
        assert world.run(120, until=lambda: request in world.fulfilled)


def test_a_revocation_takes_effect_at_its_time() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        upload(world, 2)
        decide(world, 2, REVOKED, wait=300)
        world.start()
        early = world.request("small")
        assert world.run(120, until=lambda: early in world.fulfilled)
        world.run(300)
        late = world.request("small")
        assert world.run(120, until=lambda: late in world.fulfilled)
        assert "east-1" in images(world)


@pytest.mark.parametrize(("state", "stays"), [(REVOKED, False), (REJECTED, False), (HELD, True), (APPROVED, True)])
def test_ready_nodes_of_a_condemned_build_are_replaced(state: str, stays: bool) -> None:
    with World(uploaded(min_ready={"small": 2})) as world:
        upload(world, 1)
        upload(world, 2)
        world.start()
        assert world.run(120, until=lambda: len(ready(world)) == 2)
        before = set(ready(world))
        decide(world, 2, state)
        world.run(180)
        after = set(ready(world))
        assert len(after) == 2 and (after == before if stays else not after & before)
        builds = {place[1] for node in after if (place := build_of_path(world.store.nodes.read(node).image_id))}
        assert builds == {build_id(2 if stays else 1)}


def test_ready_nodes_of_a_build_that_the_launcher_has_given_up_are_replaced() -> None:
    with World(uploaded(min_ready={"small": 2})) as world:
        upload(world, 1)
        upload(world, 2)
        world.start()
        assert world.run(120, until=lambda: len(ready(world)) == 2)
        before = set(ready(world))
        now = world.agenda.now
        world.store.verdicts.change("built", build_id(2), lambda had: had.without("east", "0 of 3", now))
        world.run(180)
        after = set(ready(world))
        assert len(after) == 2 and not after & before
        made_from = [build_of_path(world.store.nodes.read(node).image_id) for node in after]
        assert made_from == [("built", build_id(1))] * 2


def test_nodes_in_use_stay_when_their_build_is_revoked() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        node = world.take(request)[0]
        decide(world, 1, REVOKED)
        world.run(20)
        assert world.store.nodes.read(node).state == "in-use"
