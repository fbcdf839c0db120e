# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of a site on virtual time is what its clouds' own logs say, whatever dies meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from kazoo.protocol.serialization import Create2, Delete, SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import Multi, changes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context import usage_book
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import PARTS, Usage, day_of, merged
from tests.support.effort import first
from tests.support.virtual_cloud import Fate, VirtualCloud
from tests.support.world import Habit, World, one_provider, provider_document, site
from tests.support.world import label as label_of


def days(world: World) -> dict[str, Usage]:
    """What the days have counted."""
    own = world.store.own
    return {name: Usage.from_document(own.get(f"usage-days/{name}") or {}) for name in own.children("usage-days")}


def counted(world: World) -> Usage:
    return merged(days(world).values())


def pending(world: World) -> list[str]:
    return world.store.own.children("usage-entries")


def by_the_clouds(clouds: Iterable[VirtualCloud]) -> float:
    """Seconds that servers have existed, by the clouds' own logs."""
    return sum((machine.removed or 0.0) - machine.created for cloud in clouds for machine in cloud.past)


def settled(world: World) -> bool:
    return not world.nodes() and not pending(world)


def test_a_life_is_counted_when_its_node_is_gone() -> None:
    with World(one_provider()) as world:
        world.start()
        data = {"job_name": "tox", "build_set_uuid": "x"}
        request = world.request("small", habit=Habit(work=lambda chance: 600.0), tenant_name="t", requestor_data=data)
        assert world.run(1200, until=lambda: request in world.fulfilled and settled(world))
        usage = counted(world)
        key = ("t", "", "tox", "small", "east", "main")
        assert set(usage.rows) == {key}
        assert 600_000 <= usage.total("used") <= 602_000
        assert usage.total("nodes", "servers") == 2 and usage.total("cold") == 1
        assert usage.total("cold_wait") == pytest.approx(
            1000 * (world.fulfilled[request] - world.asked[request]), abs=100
        )
        assert usage.total(*PARTS) == pytest.approx(1000 * by_the_clouds(world.clouds.values()), rel=0.01)


def test_a_spare_node_is_idle_for_nobody_and_then_used() -> None:
    with World(one_provider(min_ready={"small": 1})) as world:
        cycle = world.start()
        assert world.run(120, until=lambda: bool(world.nodes("ready")))
        world.run(1000)
        request = world.request("small", habit=Habit(work=lambda chance: 300.0), tenant_name="t")
        assert world.run(600, until=lambda: counted(world).total("nodes") == 1)
        usage = counted(world)
        assert 1_000_000 <= usage.rows["", "", "", "small", "east", "main"][PARTS.index("idle")] <= 1_010_000
        assert 300_000 <= usage.rows["t", "", "", "small", "east", "main"][PARTS.index("used")] <= 302_000
        assert (usage.total("warm"), usage.total("cold")) == (1, 0)
        assert usage.total("warm_wait") < 2000
        assert request in world.fulfilled and cycle.passes


@pytest.mark.parametrize("seed", first(1, (1, 0, 2)))
def test_the_sum_is_that_of_the_clouds_although_cycles_are_killed(seed: int) -> None:
    pools = [
        provider_document(
            name, {"name": "main", "max-servers": 6, "labels": [label_of("small")]}, **{"boot-timeout": 60}
        )
        for name in ("east", "west")
    ]
    with World(site(*pools, min_ready={"small": 1}), seed=seed, lag=0.01) as world:
        for cloud in world.clouds.values():
            cloud.fate = lambda machine: (
                Fate("ERROR", "No valid host was found", 90.0) if int(machine.id[-1]) % 5 == 4 else Fate()
            )
        habit = Habit(work=lambda chance: chance.uniform(200, 900))

        def ask() -> None:
            world.request("small", habit=habit, tenant_name=world.random.choice(["t1", "t2"]))

        for number in range(40):
            world.agenda.after(number * 25.0, ask)
        for _unused in range(12):
            cycle = world.start()
            world.run(world.random.uniform(60, 200))
            cycle.kill()
        world.configure(site(*pools, min_ready={"small": 0}))
        world.start()
        assert world.run(6000, until=lambda: len(world.fulfilled) == 40 and not world.nodes("in-use", "used"))
        for node in world.nodes("ready"):
            node.set_state("used", world.agenda.now)
            world.store.nodes.write(node)
        assert world.run(1200, until=lambda: settled(world))
        clouds = list(world.clouds.values())
        assert not any(cloud.machines for cloud in clouds)
        usage = counted(world)
        assert usage.total("thrown_away") > 0 and usage.total("idle") > 0
        assert usage.total("servers") == sum(len(cloud.past) for cloud in clouds)
        assert usage.total(*PARTS) == pytest.approx(1000 * by_the_clouds(clouds), rel=0.01)
        per_provider = usage.by("provider")
        for name, cloud in world.clouds.items():
            assert Usage({(name,): per_provider.rows[name,]}).total(*PARTS) == pytest.approx(
                1000 * by_the_clouds([cloud]), rel=0.01
            )


def test_many_lives_are_counted_in_one_request() -> None:
    with World(one_provider()) as world:
        cycle = world.start()
        requests = [world.request("small") for _unused in range(30)]
        assert world.run(120, until=lambda: set(requests) <= set(world.fulfilled))
        nodes = [node for request in requests for node in world.take(request)]
        heard: list[Any] = []

        def hear(request: Any) -> None:
            if isinstance(request, (Multi, Create2, SetData, Delete)):
                heard.append([change.path for change, _none in changes(request)])

        cycle.store.session.before = hear
        world.give_back(nodes)
        assert world.run(300, until=lambda: settled(world))
        about_days = [touched for touched in heard if any("usage-days/" in path for path in touched)]
        assert len(about_days) <= 2, "one, or two when a look came between"
        alone = [touched for touched in heard if all("/usage-" in path for path in touched)]
        folders = {f"{paths.OWN}/usage-days", f"{paths.OWN}/usage-entries"}
        assert {path for touched in alone if touched not in about_days for path in touched} <= folders


def test_an_entry_that_was_closed_twice_is_counted_once() -> None:
    """Another client has created something below the node: the records are deleted one by one, and the cycle dies."""
    with World(one_provider()) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        (node,) = world.take(request)

        def spoil(sent: Any) -> None:
            if isinstance(sent, Multi) and any("/tombstones/" in change.path for change, _none in changes(sent)):
                cycle.store.session.before = die
                world.keeper.store_raw(f"/nodepool/nodes/{node}/lock/of-another", b"")

        def die(sent: Any) -> None:
            if any(f"launches/{node}" in change.path for change, _none in changes(sent)):
                cycle.kill()

        cycle.store.session.before = spoil
        world.give_back([node])
        world.run(60, until=lambda: cycle.ended)
        assert cycle.ended and node in pending(world)
        world.start()
        assert world.run(300, until=lambda: settled(world))
        usage = counted(world)
        assert usage.total("nodes") == 1
        assert usage.total(*PARTS) == pytest.approx(1000 * by_the_clouds(world.clouds.values()), rel=0.05)


def test_a_node_that_another_program_deletes_while_it_is_being_deleted_is_closed_after_a_while() -> None:
    with World(one_provider()) as world:
        world.start()
        request = world.request("small")
        assert world.run(120, until=lambda: request in world.fulfilled)
        (node,) = world.take(request)
        cloud = world.clouds["east"]
        cloud.undying = lambda machine: True
        world.give_back([node])
        assert world.run(60, until=lambda: node in pending(world))
        world.cycles[-1].kill()
        world.store.nodes.delete(node)
        cloud.undying = lambda machine: False
        world.start()
        assert world.run(2 * usage_book.ABANDONED, until=lambda: not pending(world))
        assert counted(world).total("nodes") == 1


def test_a_node_whose_record_is_deleted_by_hand_is_counted_when_the_sweep_finds_it() -> None:
    with World(one_provider()) as world:
        world.start()
        request = world.request("small", tenant_name="t")
        assert world.run(120, until=lambda: request in world.fulfilled)
        (node,) = world.take(request)
        world.run(600)
        world.store.nodes.delete(node)
        assert world.run(7200, until=lambda: counted(world).total("nodes") == 1)
        assert counted(world).total("used") >= 600_000


def test_an_entry_that_cannot_be_used_is_deleted_when_it_is_old() -> None:
    with World(one_provider()) as world:
        world.store.own.put("usage-entries/0000000099", {"node_id": "0000000099", "made": "yesterday"})
        world.start()
        world.run(60)
        assert pending(world) == ["0000000099"]
        assert world.run(2 * usage_book.ABANDONED, until=lambda: not pending(world))
        assert counted(world).rows == {}


def test_old_days_are_forgotten() -> None:
    with World(one_provider()) as world:
        old, young = day_of(world.agenda.now - 70 * 86400), day_of(world.agenda.now - 50 * 86400)
        for name in (old, young):
            world.store.own.put(f"usage-days/{name}", Usage().document())
        world.start()
        assert world.run(60, until=lambda: list(days(world)) == [young])
