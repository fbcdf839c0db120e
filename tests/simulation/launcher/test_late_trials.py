# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests do not wait for the guests of a new build that does not boot, unless the whole cloud is slow."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.launches.late_trials import LateTrials
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.build_choice import SERVED
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.event_builds import NO_PIN, EventBuilds
from tests.support.build_case import broken, build_id, figures, made, of, serve, upload, uploaded
from tests.support.effort import first
from tests.support.virtual_client import Fault
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, World


def told_of_others(cycle: Any) -> list[str]:
    return [line for _at, line in cycle.lines if "gets other nodes" in line]


def silent(seconds: float, *names: str) -> Any:
    """Guests of these images answer late."""
    return lambda machine: Fate(silent=seconds if machine.image in names else 0.0)


def test_requests_do_not_wait_for_boot_timeout() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 20)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        found, began = made(world), world.agenda.now
        asked = serve(world, 100)
        timeout = world.config.providers["east"].boot_timeout
        assert max(world.fulfilled[request] for request in asked) < began + timeout
        assert of(found, "east-2") == 3 and len(told_of_others(cycle)) == 3
        # What they left behind shows that the build is at fault, and is not tried again for nobody.
        world.run(120)
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back
        assert len(found) == 103


def test_a_new_build_that_boots_slowly_is_used_as_soon_as_it_has_worked() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 20)
        upload(world, 2)
        world.clouds["east"].fate = silent(40.0, "east-2")
        serve(world, 30)
        assert len(told_of_others(cycle)) == 3
        world.run(60)
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        assert figures(world, 2) == {"ready": 3}
        found = made(world)
        serve(world, 10)
        assert [machine.image for machine in found] == ["east-2"] * len(found) and len(found) >= 7


@pytest.mark.parametrize("fate", [silent(40.0, "east-1", "east-2"), broken("east-1", "east-2")])
def test_no_request_gets_other_nodes_when_the_whole_cloud_is_slow_or_down(fate: Any) -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 20)
        upload(world, 2)
        world.clouds["east"].fate = fate
        for _unused in range(30):
            world.request("small", habit=Habit())
        world.run(300)
        assert told_of_others(cycle) == []


def test_without_room_a_request_waits_for_its_node() -> None:
    """Reopened, it would only be behind those that take the room."""
    with World(uploaded(), quota={"east": {"instances": 10}}) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 10)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        for _unused in range(40):
            world.request("small", habit=Habit(work=lambda chance: 3600.0))
        world.run(55)
        assert told_of_others(cycle) == []


def test_a_set_gets_other_nodes_as_a_whole() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 10)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        asked = [world.request("small", "small", "small") for _unused in range(5)]
        timeout = world.config.providers["east"].boot_timeout
        assert world.run(timeout, until=lambda: all(request in world.fulfilled for request in asked))
        assert len(told_of_others(cycle)) == 1
        for request in asked:
            assert {node.image_id.split("/")[5] for node in world.nodes() if node.allocated_to == request} == {
                build_id(1)
            }


def test_after_a_kill_no_further_launch_is_lost() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        first = world.start()
        serve(world, 20)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        found = made(world)
        asked = [world.request("small", habit=Habit()) for _unused in range(30)]
        assert world.run(60, until=lambda: told_of_others(first) != [])
        first.kill()
        world.start()
        assert world.run(600, until=lambda: all(request in world.fulfilled for request in asked))
        world.run(120)
        assert of(found, "east-2") <= 5


def test_a_site_without_trouble_pays_for_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Builds of events and late guests cost no call of the cloud and no write."""

    def seen() -> tuple[Counter[str], Counter[str]]:
        with World(uploaded()) as world:
            upload(world, 1)
            cycle = world.start()
            written: list[str] = []
            world.store.on_change(written.append)
            serve(world, 20)
            upload(world, 2)
            serve(world, 20)
            serve(world, 20)
            world.run(20)
            places = Counter("/".join(path.split("/")[:4]) for path in written)
            return Counter(kind for client in cycle.clients for _when, kind in client.calls), places

    found = seen()
    monkeypatch.setattr(LateTrials, "find", lambda self, now: {})
    monkeypatch.setattr(EventBuilds, "pin", lambda self, request, image, besides="": NO_PIN)
    assert seen() == found and found[0]["POST /servers"] == 60


def worked(world: World) -> None:
    """Both builds have worked; then nothing is launched for a while."""
    upload(world, 1)
    world.start()
    serve(world, 20)
    upload(world, 2)
    serve(world, 20)
    world.run(120)


@pytest.mark.parametrize("pace", first(2, [30.0, 120.0, 5.0]))
def test_a_build_that_has_worked_and_stops_answering_is_given_up_although_nothing_else_is_launched(pace: float) -> None:
    """Alone its silence looks like that of the network: the build before shows that it is not."""
    with World(uploaded()) as world:
        worked(world)
        world.clouds["east"].fate = broken("east-2")
        asked = []
        for _unused in range(max(12, int(900 / pace))):
            asked.append(world.request("small", habit=Habit()))
            world.run(pace)
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back
        assert world.run(600, until=lambda: all(request in world.fulfilled for request in asked))


def test_an_outage_of_all_builds_gives_none_up_and_ends_with_the_newest() -> None:
    with World(uploaded()) as world:
        worked(world)
        world.clouds["east"].fate = broken("east-1", "east-2")
        asked = [world.request("small", habit=Habit()) for _unused in range(20)]
        world.run(900)
        world.clouds["east"].fate = broken()
        assert world.run(900, until=lambda: all(request in world.fulfilled for request in asked))
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        found = made(world)
        serve(world, 10)
        assert {machine.image for machine in found} == {"east-2"}


def test_a_build_that_has_worked_and_stops_answering_costs_few_servers_and_little_time() -> None:
    """Its guests do not answer as soon as they did: that is compared long before boot-timeout."""
    with World(uploaded()) as world:
        worked(world)
        world.clouds["east"].fate = broken("east-2")
        found, asked = made(world), []
        for _unused in range(30):
            asked.append((world.agenda.now, world.request("small", habit=Habit())))
            world.run(30)
        assert world.run(200, until=lambda: all(request in world.fulfilled for _at, request in asked))
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back
        waits = [world.fulfilled[request] - at for at, request in asked]
        assert max(waits) < 240 and sorted(waits)[len(waits) // 2] < 30
        assert of(found, "east-2") <= 5


@pytest.mark.parametrize("seed", first(2, range(60)))
def test_neither_an_outage_nor_a_slow_cloud_gives_a_build_up(seed: int) -> None:
    """Guests of all builds fall silent or answer late now and then; the newest build has worked, or is new."""
    chance = random.Random(seed)
    with World(uploaded(), seed=seed) as world:
        upload(world, 1)
        world.start()
        serve(world, 15)
        upload(world, 2)
        if seed % 2:
            serve(world, 10)
        asked = []
        for _unused in range(12):
            kind = chance.choice(["well", "slow", "late", "outage"])
            seconds = {"well": 0.0, "slow": chance.uniform(1, 12), "late": chance.uniform(20, 45)}.get(kind, 0.0)

            def fate(machine: Any, kind: str = kind, seconds: float = seconds) -> Fate:
                return Fate(silent=seconds * chance.uniform(0.8, 1.2), reachable=kind != "outage")

            world.clouds["east"].fate = fate
            for _unused in range(chance.randint(1, 6)):
                asked.append(world.request("small", habit=Habit()))
                world.run(chance.choice([0.5, 5.0, 30.0]))
            world.run(chance.uniform(0, 120))
            assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        world.clouds["east"].fate = broken()
        for _unused in range(8):
            asked.append(world.request("small", habit=Habit()))
            world.run(90)
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        found = made(world)
        serve(world, 5)
        assert {machine.image for machine in found} == {"east-2"}, "it is used again"


SLOW_CLOUDS = [(15.0, 20.0), (30.0, 20.0), (15.0, 12.0)]
"""Seconds until a server is ACTIVE, and from then until its guest answers."""
NEUTRON = ("GET /networks", "GET /ports", "GET /floatingips", "POST /floatingips", "GET /quotas/{id}/details")
AWAY = {"API": ("",), "neutron": NEUTRON}


def in_a_slow_cloud(world: World, boot: float, answer: float) -> Any:
    """A build has worked there, and a new one is uploaded; how guests are there."""
    cloud, chance = world.clouds["east"], random.Random(3)
    cloud.timing.boot = (boot, boot / 10)

    def fate(machine: Any) -> Fate:
        return Fate(silent=answer * chance.uniform(0.9, 1.1))

    cloud.fate = fate
    upload(world, 1)
    world.start()
    serve(world, 20)
    world.run(20)
    upload(world, 2)
    return fate


@pytest.mark.parametrize(("boot", "answer"), first(1, SLOW_CLOUDS))
def test_a_broken_build_delays_nobody_beyond_a_minute_in_a_slow_cloud(boot: float, answer: float) -> None:
    with World(uploaded()) as world:
        usual = in_a_slow_cloud(world, boot, answer)
        world.clouds["east"].fate = lambda machine: (
            Fate(reachable=False) if machine.image == "east-2" else usual(machine)
        )
        found, began = made(world), world.agenda.now
        asked = serve(world, 100)
        assert max(world.fulfilled[request] for request in asked) < began + SERVED
        assert of(found, "east-2") == 3 and len(found) == 103
        world.run(120)
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back


@pytest.mark.parametrize(("boot", "answer"), first(1, SLOW_CLOUDS))
def test_a_good_build_serves_its_requests_although_others_are_launched_beside_it(boot: float, answer: float) -> None:
    with World(uploaded()) as world:
        in_a_slow_cloud(world, boot, answer)
        asked = [world.request("small", event_id=f"event-{number}") for number in range(20)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in asked))
        made_from = Counter(node.image_id.split("/")[5] for node in world.nodes() if node.allocated_to in asked)
        assert made_from == {build_id(1): 17, build_id(2): 3}
        world.run(120)
        # What was launched beside them is gone again.
        assert len(world.nodes()) == 20 and len(world.clouds["east"].machines) == 20


@pytest.mark.parametrize("trouble", ["slow boots", "network", "guests", "API", "neutron"])
def test_no_trouble_of_a_slow_cloud_gives_a_build_up(trouble: str) -> None:
    with World(uploaded(), clouds={"east": {"direct": False}}) as world:
        usual = in_a_slow_cloud(world, 15.0, 20.0)
        fates = {"slow boots": Fate(boot=150.0), "network": Fate(reachable=False), "guests": Fate(silent=50.0)}
        cloud, found = world.clouds["east"], made(world)
        if trouble in fates:
            cloud.fate = lambda machine: fates[trouble]
        world.faults["east"][:] = [Fault(kind) for kind in AWAY.get(trouble, ())]
        asked = [world.request("small", habit=Habit()) for _unused in range(20)]
        world.run(150)
        assert len(found) <= 23 + 20 * (trouble in ("slow boots", "network"))
        cloud.fate = usual
        world.faults["east"].clear()
        assert world.run(1800, until=lambda: all(request in world.fulfilled for request in asked))
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        assert not [line for _at, line in world.cycles[0].lines if "again, until a" in line]
