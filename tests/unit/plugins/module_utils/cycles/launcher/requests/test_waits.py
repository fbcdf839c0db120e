# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stored reason of a request that several launchers look at."""

from __future__ import annotations

import pytest

from tests.support.world import World, label, provider_document, site


def two_providers():
    """Only east offers the label small, and has room for one node of it."""
    east = {"name": "main", "labels": [label("small")], "max-servers": 1}
    west = {"name": "main", "labels": [label("large", "large")]}
    return site(provider_document("east", east), provider_document("west", west))


def test_a_launcher_that_acts_for_no_pool_of_a_request_leaves_the_reason_of_one_that_does():
    with World(two_providers()) as world:
        world.start(providers=("east",))
        other = world.start(providers=("west",))
        world.request("small")
        assert world.run(120, until=lambda: len(world.fulfilled) == 1)
        waiting = world.request("small")
        world.run(10)
        told = set()
        for _unused in range(100):
            world.run(5)
            told.add((world.store.own.get(f"waits/{waiting}") or {}).get("code"))
        assert told == {"no-room"}
        assert not other.ended


def test_a_launcher_that_acts_for_no_pool_of_a_request_says_so_when_no_other_does():
    with World(two_providers()) as world:
        first = world.start(providers=("east",), duration=60)
        world.start(providers=("west",))
        world.request("small")
        assert world.run(50, until=lambda: len(world.fulfilled) == 1)
        waiting = world.request("small")
        assert world.run(300, until=lambda: first.ended)
        assert world.run(600, until=lambda: world.store.own.get(f"waits/{waiting}")["code"] == "not-acting")


@pytest.mark.parametrize("lag", [0.0, 0.2, 2.0])
def test_a_failed_request_has_the_reasons_of_all_launchers_however_far_behind_their_views_are(lag):
    with World(two_providers(), lag=lag) as world:
        world.clouds["east"].images = ()
        world.start(providers=("east",))
        world.start(providers=("west",))
        world.run(60)
        request = world.request("small")
        assert world.run(120, until=lambda: world.state(request) == "failed")
        world.run(5)
        told = world.store.own.get(f"waits/{request}")["reasons"]
        assert {reason["where"] for reason in told} == {"east/main", "west/main"}


@pytest.mark.parametrize("folder", ["declines", "waits"])
def test_what_is_stored_about_a_request_that_a_launcher_does_not_know_yet_stays(folder: str):
    late = [0.0]
    with World(two_providers(), lag=lambda _kind: late[0]) as world:
        cycle = world.start(providers=("east",))
        world.run(10)
        late[0] = 20.0
        request = world.request("small")
        late[0] = 0.0
        path, passes = f"{folder}/{request}", cycle.passes
        world.store.own.put(path, {"code": "declined", "reasons": [{"code": "too-large", "text": "too large"}]})
        assert world.run(15, until=lambda: cycle.passes > passes)
        world.run(1)
        assert cycle.store.requests.get(request) is None, "not known yet"
        assert world.store.own.get(path)
        assert world.run(120, until=lambda: request in world.fulfilled)
        world.store.requests.delete(request)
        assert world.run(60, until=lambda: not world.store.own.get(path))


def test_what_a_pool_says_is_not_its_first_word_for_long():
    """Beside a cloud in trouble, the explanation of a request told of another one that it had not answered yet."""
    pools = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", pools), provider_document("west", pools))
    with World(document, quota={"east": {"instances": 0}}) as world:
        world.fault("west", "GET /servers/detail")
        world.fault("east", "GET /os-availability-zone", fails=False, seconds=8, left=1)
        waiting = world.request("small")
        world.start()

        def told() -> dict[str, str]:
            pools = (world.store.own.get(f"waits/{waiting}") or {}).get("pools", [])
            return {pool["pool"]: pool["code"] for pool in pools}

        assert world.run(30, until=lambda: told().get("east/main") == "facts-unread")
        assert world.run(10, until=lambda: told()["east/main"] == "unconfirmed")
        assert world.run(40, until=lambda: told()["east/main"] == "too-large-for-cloud")
        assert told()["west/main"] == "provider-trouble"
