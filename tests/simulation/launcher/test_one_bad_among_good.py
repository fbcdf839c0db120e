# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One bad tenant, label or zone among good ones, for ten minutes: the good ones wait no longer than without it."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Network
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import INSTANCES
from tests.support.owner_case import NO_HOST, TENANT, blocked, guard, refusing
from tests.support.virtual_cloud import FLAVORS, SHARED, Fate, Machine
from tests.support.world import Habit, World, label, provider_document, site

ZONES = ("az1", "az2")
BAD_LABELS: dict[str, dict[str, Any]] = {
    "user data": {"userdata": "x" * 70_000},
    "flavor": {"flavor-name": "tiny"},
    "network": {"networks": ["odd"]},
    "failing boots": {"flavor-name": "tiny"},
    "key": {"key-name": "gone"},
    "group": {"flavor-name": "tiny"},
    "volume too small": {"flavor-name": "tiny"},
    "full zone": {"flavor-name": "tiny"},
    "vanished flavor": {"flavor-name": "tiny"},
    "silent servers": {"flavor-name": "tiny"},
    "endless builds": {"flavor-name": "tiny"},
}
"""What is wrong with a label of which nothing is wrong with the others. nova refuses flavor, network and group."""
TINY_FATES = {
    "failing boots": Fate("ERROR", "odd", 5.0),
    "volume too small": Fate("ERROR", "Size of specified image 8GB is larger than volume size 1GB.", 5.0),
    "silent servers": Fate(reachable=False),
    "endless builds": Fate("BUILD"),
}
"""What becomes of the servers of that label."""
BAD_TENANTS = {
    "long name": "t" * 300,
    "words that no rule knows": "strange",
    "forbidden by a proxy": "blocked",
    "unknown words for all labels": "strange",
    "forbidden for all labels": "blocked",
    "page of a firewall": "script",
    "page of a firewall for all labels": "script",
}


def spoil(world: World, bad: str) -> None:
    """Have the cloud do what shows that something is bad."""
    cloud = world.clouds["east"]
    odd = Network("net-odd", "odd")
    cloud.nets = (SHARED, odd)
    cloud.flavors = (*FLAVORS, Flavor("f0", "tiny", 1, 512))
    refusals = {
        "flavor": lambda spec: refusing("Odd flavor")() if spec.flavor_id == "f0" else None,
        "network": lambda spec: refusing("Odd network")() if odd.id in spec.network_ids else None,
        "group": lambda spec: refusing("Security group web not found.")() if spec.flavor_id == "f0" else None,
        "words that no rule knows": lambda spec: refusing("Odd")() if spec.metadata["tenant"] == "strange" else None,
        "forbidden by a proxy": lambda spec: (
            refusing("Request blocked", 403)() if spec.metadata["tenant"] == "blocked" else None
        ),
    }
    refusals["page of a firewall"] = lambda spec: blocked() if spec.metadata["tenant"] == "script" else None
    refusals["page of a firewall for all labels"] = refusals["page of a firewall"]
    refusals["unknown words for all labels"] = refusals["words that no rule knows"]
    refusals["forbidden for all labels"] = refusals["forbidden by a proxy"]
    if bad in refusals:
        guard(world, refusals[bad])
    if bad in TINY_FATES:
        cloud.fate = lambda machine: TINY_FATES[bad] if machine.flavor.name == "tiny" else Fate()
    if bad == "full zone":
        full = (cloud.zones[0], "tiny")
        cloud.fate = lambda one: Fate("ERROR", NO_HOST, 2.0) if (one.az, one.flavor.name) == full else Fate()
    if bad == "vanished flavor":
        world.agenda.after(100.0, lambda: setattr(cloud, "flavors", FLAVORS))


def crowd(
    bad: str, *, full_from: float | None = None, zones: tuple[str, ...] = ZONES, pause: float = 9.0
) -> list[float]:
    """Nine good tenants or labels ask in turn for ten minutes, a bad one every 6 s; return the waits of the good ones.

    :param full_from: after so many seconds no host of the first zone has room for any label.
    :param zones: the zones of the cloud.
    :param pause: seconds from one good request to the next; a multiple of 3.
    """
    names = [f"label{number}" for number in range(10)]
    flavors = ["small", "medium", "large"]
    plain = {**TENANT, "networks": ["public"]}
    labels = [label(name, flavors[at % 3], **plain) for at, name in enumerate(names[1:])]
    labels.append({**label(names[0], "small", **plain), **BAD_LABELS.get(bad, {})})
    document = site(provider_document("east", {"name": "main", "labels": labels}))
    with World(document, clouds={"east": {"zones": zones}}) as world:
        spoil(world, bad)
        if full_from is not None:
            fill(world, zones[0], full_from)
        world.start()
        good: list[str] = []
        start = world.agenda.now
        turn = 0
        while world.agenda.now < start + 600:
            if turn % (pause // 3) == 0:
                name = names[1 + len(good) % 9]
                good.append(world.request(name, tenant_name=name, habit=Habit(work=lambda chance: 30.0)))
            if bad in BAD_TENANTS and turn % 2 == 0:
                asked = names[1 + turn // 2 % 9] if bad.endswith("all labels") else "label1"
                world.request(asked, tenant_name=BAD_TENANTS[bad])
            elif bad in BAD_LABELS and turn % 2 == 0:
                world.request("label0", tenant_name="t")
            turn += 1
            world.run(3)
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in good))
        return sorted(world.fulfilled[request] - world.asked[request] for request in good)


def fill(world: World, zone: str, after: float) -> None:
    """Have all hosts of a zone be full from then on."""
    begins = world.agenda.now + after

    def fate(one: Machine) -> Fate:
        full = one.az == zone and world.agenda.now >= begins
        return Fate("ERROR", NO_HOST, 2.0) if full else Fate()

    world.clouds["east"].fate = fate


@cache
def crowd_alone(zones: tuple[str, ...] = ZONES, pause: float = 9.0) -> list[float]:
    """Once for all: in virtual time each run of it is the same."""
    return crowd("", zones=zones, pause=pause)


def p99(waits: list[float]) -> float:
    """What one in a hundred waits for longer."""
    return waits[int(0.99 * (len(waits) - 1))]


@pytest.mark.parametrize("bad", [*BAD_TENANTS, *BAD_LABELS])
def test_nine_good_ones_wait_no_longer_beside_a_bad_one(bad):
    alone, beside = crowd_alone(), crowd(bad)
    assert len(alone) == len(beside) > 50
    assert p99(beside) <= 1.1 * p99(alone)


@pytest.mark.parametrize("pause", [9.0, 3.0])
@pytest.mark.parametrize("full_from", [0.0, 300.0], ids=["from the beginning", "after five minutes"])
def test_a_zone_that_is_full_for_all_labels_costs_them_little_while_another_one_has_room(full_from, pause):
    """Compared with a cloud in which both zones have room, and with one that has the other zone alone."""
    beside = crowd("", full_from=full_from, pause=pause)
    for zones in (ZONES, ZONES[1:]):
        alone = crowd_alone(zones, pause)
        assert len(alone) == len(beside) > 50
        assert p99(beside) <= 1.1 * p99(alone), zones


@pytest.mark.parametrize("room", [1, 2])
def test_the_next_zone_is_tried_beside_the_end_of_the_failed_server_only_if_there_is_room_for_both(room):
    """By the maximum of the pool, which no moment exceeds."""
    document = site(provider_document("east", {"name": "main", "labels": [label("small")], "max-servers": room}))
    with World(document, clouds={"east": {"zones": ZONES}}) as world:
        cloud = world.clouds["east"]
        fill(world, ZONES[0], 0.0)
        world.start()
        for _unused in range(10):
            request = world.request("small", habit=Habit(work=lambda chance: 5.0))
            assert world.run(60, until=lambda one=request: one in world.fulfilled)  # type: ignore[misc]
            world.run(30)
        failures = [one for one in cloud.past if one.fate.status == "ERROR"]
        assert len(failures) >= 2 and cloud.peak[INSTANCES] == room
