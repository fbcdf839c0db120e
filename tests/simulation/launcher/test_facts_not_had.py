# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every fact that a provider needs, and every kind of answer that is no fact: what is told, and what goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Network
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudNotFound,
    CloudRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Trouble
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.summary import launcher_summary
from tests.support.effort import first
from tests.support.virtual_cloud import FLAVORS
from tests.support.world import Habit, World, label, provider_document, site

LIMITS = "GET /limits"
FACTS = {
    "lists": "GET /servers/detail",
    "flavors": "GET /flavors/detail",
    "networks": "GET /networks",
    "limits": LIMITS,
    "images": "GET /images",
    "zones": "GET /os-availability-zone",
}
ANSWERS: dict[str, Callable[..., CloudError]] = {
    "403": lambda **more: CloudRefused("Policy does not allow it", status=403, **more),
    "404": lambda **more: CloudNotFound("The resource could not be found", status=404, **more),
    "400": lambda **more: CloudRefused("Bad request", status=400, **more),
    "html": lambda **more: CloudUnavailable("was answered with a page", status=200, **more),
    "null": lambda **more: CloudUnavailable("the answer has no list", status=200, **more),
}
MINUTE = 60.0


def one_site(**pool: Any) -> dict[str, Any]:
    main = {"name": "main", "labels": [label("small")], "networks": ["public"], **pool}
    return site(provider_document("east", main))


def deny(world: World, fact: str, answer: str) -> Any:
    kind = FACTS[fact]
    return world.fault("east", kind, error=lambda: ANSWERS[answer](provider="east", call=kind))


def calls(world: World, kind: str) -> int:
    return sum(1 for client in world.cycles[0].clients for _when, called in client.calls if called == kind)


def said(world: World) -> list[str]:
    return [line for _when, line in world.cycles[0].lines if isinstance(line, Trouble)]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_is_never_had_is_told_everywhere_and_costs_few_calls(fact: str, answer: str):
    with World(one_site()) as world:
        deny(world, fact, answer)
        cycle = world.start(duration=4 * MINUTE)
        request = world.request("small")
        served = world.run(3 * MINUTE, until=lambda: world.state(request) == "fulfilled")
        assert served == (fact == "zones"), "nova chooses a zone where it does not tell them"
        kind = FACTS[fact]
        world.run(30)
        actor = cycle.context.actors["east"]
        health = actor.health.document(world.agenda.now)
        assert health["state"] == "trouble" and str(ANSWERS[answer]()) in health["text"]
        assert health["owner"] == ("account" if answer == "403" else "cloud")
        assert any(str(ANSWERS[answer]()) in line for line in said(world))
        most = 3 if answer in ("html", "null") else 1
        assert len([line for line in said(world) if str(ANSWERS[answer]()) in line]) <= most, said(world)
        assert ("ignore-provider-quota" in health["text"]) == (fact == "limits")
        record = world.store.own.get("providers/east") or {}
        assert record["health"]["state"] == "trouble" and record["health"]["since"] is not None
        if not served:
            waits = world.store.own.get(f"waits/{request}") or {}
            assert str(ANSWERS[answer]()) in waits["text"] and waits["code"] == "provider-trouble"
            assert ("ignore-provider-quota" in waits["text"]) == (fact == "limits")
            assert world.state(request) == "requested"
        before = calls(world, kind)
        world.run(MINUTE)
        assert calls(world, kind) - before <= 4, "calls that can only fail are made ever more rarely"
        assert world.run(5 * MINUTE, until=lambda: cycle.ended)
        assert any(str(ANSWERS[answer]()) in text for text in launcher_summary(cycle.result)["wrong"])


@pytest.mark.parametrize("answer", first(1, ["403", "html"]))
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_is_not_had_costs_few_other_calls_however_busy_the_cycle_is(fact: str, answer: str):
    """Another provider's work wakes the cycle several times a second."""
    west = provider_document("west", {"name": "main", "labels": [label("other")], "networks": ["public"]})
    document = one_site()
    document["providers"].append(west)
    document["labels"].append({"name": "other"})
    with World(document) as world:
        deny(world, fact, answer)
        cycle = world.start()
        world.request("small")
        world.run(MINUTE)
        east = next(client for client in cycle.clients if client.provider == "east")
        before = len(east.calls)
        for _second in range(60):
            world.request("other", habit=Habit(work=lambda chance: 1.0))
            world.run(1.0)
        kinds = Counter(kind for _when, kind in east.calls[before:])
        assert max(kinds.values(), default=0) <= 8, kinds


@pytest.mark.parametrize("answer", ["403", "html"])
@pytest.mark.parametrize("fact", FACTS)
def test_a_fact_that_is_had_again_ends_the_trouble_soon(fact: str, answer: str):
    with World(one_site()) as world:
        fault = deny(world, fact, answer)
        cycle = world.start()
        request = world.request("small")
        world.run(2 * MINUTE)
        fault.until = world.agenda.now
        assert world.run(1.5 * MINUTE, until=lambda: world.state(request) == "fulfilled")
        world.run(MINUTE)
        actor = cycle.context.actors["east"]
        assert actor.health.document(world.agenda.now) == {"state": "ok"}
        assert not world.store.own.get(f"waits/{request}")
        assert [line for _when, line in cycle.lines if line.endswith("works again")]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("bound", [{"max-servers": 5}, {"max-cores": 20}, {"ignore-provider-quota": True}])
def test_limits_that_are_never_had_do_not_stop_pools_that_have_their_own(bound: dict[str, Any], answer: str):
    with World(one_site(**bound)) as world:
        deny(world, "limits", answer)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(MINUTE, until=lambda: all(world.state(request) == "fulfilled" for request in requests))
        world.run(MINUTE)
        health = cycle.context.actors["east"].health.document(world.agenda.now)
        assert (health["state"] == "ok") == ("ignore-provider-quota" in bound), "it is not told where it is not wanted"
        later = world.request("small")
        assert world.run(MINUTE, until=lambda: world.state(later) == "fulfilled" or "max-servers" in bound)


def test_a_neutron_that_is_away_stops_only_what_needs_it():
    plain = {"name": "plain", "labels": [label("plain")], "auto-floating-ip": False}
    wired = {"name": "wired", "labels": [label("wired")], "networks": ["public"]}
    with World(site(provider_document("east", plain, wired))) as world:
        cycle = world.start()
        first = world.request("wired")
        assert world.run(MINUTE, until=lambda: world.state(first) == "fulfilled")
        faults = [world.fault("east", kind) for kind in ("GET /networks", "GET /quotas/{id}/details", "GET /ports")]
        world.run(90)
        going = world.request("plain")
        assert world.run(MINUTE, until=lambda: world.state(going) == "fulfilled")
        waiting, going = world.request("wired"), world.request("plain")
        assert world.run(MINUTE, until=lambda: world.state(going) == "fulfilled")
        world.run(MINUTE)
        assert world.state(waiting) == "requested"
        health = cycle.context.actors["east"].health.document(world.agenda.now)
        assert set(health["services"]) == {"neutron"}, health
        for fault in faults:
            fault.until = world.agenda.now
        assert world.run(MINUTE, until=lambda: world.state(waiting) == "fulfilled")
        world.run(3 * MINUTE)
        told = [line for _when, line in cycle.lines if line.startswith("provider east: ") and "neutron" in line]
        assert len(told) == 2, told


@pytest.mark.parametrize(
    ("kind", "lacking", "network"),
    [
        ("GET /flavors/detail", {"flavors": FLAVORS[1:]}, "public"),
        ("GET /networks", {"nets": (Network("n2", "other", True),)}, "other"),
    ],
)
def test_what_is_not_found_among_what_can_be_read_fails_no_request(kind: str, lacking: dict[str, Any], network: str):
    """A record of the cloud that cannot be read is left out; it may be the one that the label names."""
    text = f"{kind}: 1 of 3 cannot be read and are ignored (vcpus is missing)"
    document = one_site(labels=[label("small"), label("medium", "medium", networks=[network])])
    with World(document) as world:
        cloud = world.clouds["east"]
        whole = {name: getattr(cloud, name) for name in lacking}
        for name, value in lacking.items():
            setattr(cloud, name, value)
        cloud.remarks[kind] = text
        cycle = world.start(duration=15 * MINUTE)
        request, other = world.request("small"), world.request("medium")
        world.run(MINUTE)
        assert world.state(request) == "requested"
        assert other in world.fulfilled
        waits = world.store.own.get(f"waits/{request}") or {}
        assert text in waits["text"] and (waits["code"], waits["owner"]) == ("provider-trouble", "cloud")
        record = world.store.own.get("providers/east") or {}
        assert record["health"]["state"] == "trouble" and text in record["health"]["text"]
        del cloud.remarks[kind]
        for name, value in whole.items():
            setattr(cloud, name, value)
        assert world.run(3 * MINUTE, until=lambda: request in world.fulfilled)
        world.run(MINUTE)
        assert cycle.context.actors["east"].health.document(world.agenda.now)["state"] == "ok"


def test_a_cloud_that_shows_no_flavor_at_all_fails_no_request():
    with World(one_site()) as world:
        cloud = world.clouds["east"]
        whole, cloud.flavors = cloud.flavors, ()
        world.start(duration=15 * MINUTE)
        request = world.request("small")
        world.run(MINUTE)
        assert world.state(request) == "requested"
        assert "nova shows no flavor" in (world.store.own.get(f"waits/{request}") or {})["text"]
        cloud.flavors = whole
        assert world.run(2 * MINUTE, until=lambda: request in world.fulfilled)
