# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeping as a step of the launcher cycle, on virtual time."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest import mock

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import site_of
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks import sweep as sweeps
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks import tree_view
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    FloatingIp,
    Port,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudConflict, CloudUnavailable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import floating_ip_description
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping import find_in_tree
from tests.support.world import Habit, World, label, one_provider, provider_document, site

BRIEF = Habit(work=lambda chance: 30.0)
NOBODY = "0000099999"


def ghost(world: World, node_id: str = NOBODY, provider: str = "east", tree: str | None = None) -> Any:
    """A server of a node that does not exist, of this tree unless another (or "": none) is named."""
    mark = {META_PROVIDER: provider, META_NODE_ID: node_id, META_LAUNCH: f"{node_id}-1-abc"}
    site_id = site_of(world.store, create=True) if tree is None else tree
    metadata = {**mark, META_SITE: site_id} if site_id else mark
    (made,) = world.clouds["east"].add_foreign(1, **metadata)
    return made


def calls(cycle: Any, *kinds: str) -> list[float]:
    return [when for client in cycle.clients for when, kind in client.calls if not kinds or kind in kinds]


def there(world: World, machine: Any) -> bool:
    return machine.id in world.clouds["east"].machines


def busy(world: World, seconds: float) -> None:
    """Nodes come and go all the time: the next is asked for while the last is still there."""
    end = world.agenda.now + seconds
    while world.agenda.now < end:
        world.request("small", habit=BRIEF)
        world.run(30)


def test_a_leaked_server_goes_at_the_second_look_and_nothing_else():
    with World(one_provider()) as world:
        ghosts = [ghost(world) for _unused in range(3)]
        stock = ghost(world, provider="nodepool-east")
        (foreign,) = world.clouds["east"].add_foreign(1)
        cycle = world.start()
        begun = world.agenda.now
        busy(world, 100)
        assert all(there(world, machine) for machine in ghosts)
        busy(world, 1000)
        assert not any(there(world, machine) for machine in ghosts)
        assert there(world, stock) and there(world, foreign)
        counts = cycle.account.sweeps.counts["east"]["server"]
        assert (counts["deleted"], counts["leaked"], counts["foreign"]) == (3, 0, 2)
        assert all(machine.removed - begun >= 600 for machine in ghosts)


def test_a_provider_that_is_removed_during_the_search_keeps_no_other_leak_alive():
    east, west = (provider_document(name, {"name": "main", "labels": [label("small")]}) for name in ("east", "west"))
    with World(site(east, west)) as world:
        leaked = ghost(world)
        world.start()
        world.run(100)
        world.configure(site(east))
        assert world.run(1200, until=lambda: not there(world, leaked))


def test_a_launcher_at_full_speed_loses_nothing():
    """Dozens of nodes come and go beside the sweeps, and none of them is ever taken for a leak."""
    quota = {"east": {"instances": 40}}
    with World(one_provider(), quota=quota, clouds={"east": {"list_lag": 2.0}}, lag=0.05) as world:
        cycle = world.start()
        requests = [world.request("small", habit=BRIEF) for _unused in range(60)]
        assert world.run(3600, until=lambda: len(world.fulfilled) == len(requests))
        world.run(900)
        assert cycle.account.launch_failures == {}
        assert "server" in cycle.account.sweeps.counts["east"]
        assert not any(count["deleted"] for count in cycle.account.sweeps.counts["east"].values())
        assert world.clouds["east"].machines == {}


def test_idle_it_costs_less_than_a_call_a_minute():
    document = site(
        provider_document("east", {"name": "main", "labels": [label("small")]}, **{"clean-floating-ips": True})
    )
    with World(document) as world:
        ghost(world, provider="other")
        cycle = world.start()
        world.run(600)
        before = len(calls(cycle))
        world.run(3600)
        assert 10 <= len(calls(cycle)) - before <= 60


def test_busy_it_asks_for_no_servers_of_its_own():
    """With the same seed the listings are the same as without any sweeping."""
    listings = []
    for sweeping in (True, False):
        step = mock.patch.object(sweeps.LeakSweep, "step", return_value=None)
        with nullcontext() if sweeping else step, World(one_provider()) as world:
            cycle = world.start()
            for _unused in range(10):
                busy(world, 60)
            listings.append(len(calls(cycle, "GET /servers/detail")))
            assert ("east" in cycle.account.sweeps.counts) == sweeping
    assert listings[0] == listings[1]


def test_port_cleaning_can_be_switched_off():
    document = site(
        provider_document("east", {"name": "main", "labels": [label("small")]}, **{"port-cleanup-interval": 0})
    )
    with World(document) as world:
        cycle = world.start()
        world.run(4000)
        assert calls(cycle, "GET /ports") == []
        assert calls(cycle, "GET /floatingips") == []


def test_ports_of_deleted_servers_are_known_by_their_tombstones():
    with World(one_provider()) as world:
        world.start()
        request = world.request("small", habit=BRIEF)
        assert world.run(100, until=lambda: request in world.fulfilled)
        server_id = world.nodes()[0].external_id
        cloud = world.clouds["east"]
        cloud.down_ports["ours"] = Port("ours", server_id, "n", status="DOWN", device_owner="compute:az1")
        cloud.down_ports["foreign"] = Port("foreign", "server-x", "n", status="DOWN", device_owner="compute:az1")
        assert world.run(100, until=lambda: not world.nodes())
        assert not world.run(1100, until=lambda: "ours" not in cloud.down_ports)
        assert world.run(1300, until=lambda: "ours" not in cloud.down_ports)
        assert list(cloud.down_ports) == ["foreign"]


def test_tombstones_vanish_after_some_hours_however_short_the_cycles_are():
    with World(one_provider()) as world:
        world.start(duration=300)
        request = world.request("small", habit=BRIEF)
        assert world.run(200, until=lambda: request in world.fulfilled and not world.nodes())
        assert world.store.own.children("tombstones/east") != []
        assert world.store.own.children("launches") == []
        world.run(7 * 3600)
        assert world.store.own.children("tombstones/east") != [], "there was no cycle"
        world.start(duration=300)
        world.run(300)
        assert world.store.own.children("tombstones/east") == []


def test_floating_ips_only_where_the_configuration_says_so():
    pool = {"name": "main", "labels": [label("small")]}
    for wanted in (True, False):
        document = site(provider_document("east", pool, **{"clean-floating-ips": wanted}))
        with World(document) as world:
            cloud, tree = world.clouds["east"], site_of(world.store, create=True)
            for name, text in (("ours", floating_ip_description(f"{NOBODY}-1-a", "east", tree)), ("bastion", "")):
                cloud.floating_ips[name] = (FloatingIp(name, "203.0.113.9", "DOWN", None, text), None)
            world.start()
            world.run(3000)
            assert ("ours" in cloud.floating_ips) == (not wanted)
            assert "bastion" in cloud.floating_ips


def test_a_floating_ip_that_outlived_its_node_is_found():
    """Its deletion was answered and had no effect; the node is gone, and the address would stay for ever."""
    pool = {"name": "main", "labels": [label("small")]}
    document = site(provider_document("east", pool, **{"clean-floating-ips": True}))
    with World(document, clouds={"east": {"direct": False}}) as world:
        cloud = world.clouds["east"]
        world.start()
        request = world.request("small", habit=BRIEF)
        assert world.run(300, until=lambda: request in world.fulfilled)
        made = dict(cloud.floating_ips)
        assert len(made) == 1
        assert world.run(300, until=lambda: not world.nodes())
        for name, (floating, server) in made.items():
            # neutron lets go of the address with the port.
            cloud.floating_ips[name] = (FloatingIp(name, floating.address, "DOWN", None, floating.description), server)
        assert world.run(3600, until=lambda: not cloud.floating_ips)


def test_two_sightings_survive_the_cycle():
    with World(one_provider()) as world:
        made = ghost(world)
        cycle = world.start()
        assert world.run(
            700,
            until=lambda: (
                bool(world.store.own.get("sightings/east")["seen"]) if world.store.own.get("sightings/east") else False
            ),
        )
        first = world.store.own.get("sightings/east")["seen"]
        cycle.kill()
        world.run(15)
        world.start()
        assert world.run(1200, until=lambda: not there(world, made))
        assert made.removed - next(iter(first.values()))["first"] < 900


def test_settled_cycles_one_after_the_other_sweep_too():
    with World(one_provider()) as world:
        made = ghost(world)
        for _unused in range(12):
            cycle = world.start(until="settled", duration=100)
            assert world.run(100, until=partial(getattr, cycle, "ended"))
            assert cycle.result["ended"] == "settled"
            world.run(200)
        assert not there(world, made)


def test_a_neutron_that_hangs_keeps_no_launch_waiting():
    with World(one_provider()) as world:
        world.fault("east", "GET /ports", hang=True)
        world.start()
        busy(world, 1300)
        world.run(120)
        assert set(world.asked) == set(world.fulfilled)
        late = [world.fulfilled[key] - world.asked[key] for key in world.asked]
        assert max(late) < 60


def test_a_neutron_that_fails_keeps_no_leaked_server_alive():
    with World(one_provider()) as world:
        made = ghost(world)
        world.fault("east", "GET /ports", error=lambda: CloudUnavailable("503: try later", status=503))
        world.start()
        assert world.run(1500, until=lambda: not there(world, made))


def test_while_somebody_else_sweeps_the_cycle_does_not():
    with World(one_provider()) as world:
        made = ghost(world)
        held = world.store.own.lock("sightings/east")
        world.start()
        busy(world, 1500)
        assert there(world, made)
        held.release()
        busy(world, 1500)
        assert not there(world, made)


def test_a_volume_that_cannot_be_deleted_is_reported_and_tried_ever_more_rarely():
    labels = [{**label("small"), "boot-from-volume": True}]
    with World(site(provider_document("east", {"name": "main", "labels": labels}))) as world:
        cycle = world.start()
        request = world.request("small", habit=BRIEF)
        assert world.run(100, until=lambda: request in world.fulfilled)
        server_id = world.nodes()[0].external_id
        world.clouds["east"].volumes["v1"] = Volume("v1", "", "error_deleting", (server_id,))
        world.fault("east", "DELETE /volumes/{id}", error=lambda: CloudConflict("409: in use", status=409))
        world.run(5 * 3600)
        (entry,) = cycle.launcher._launcher_pass._sweeps.stuck()
        assert (entry["kind"], entry["id"], entry["answer"]) == ("volume", "v1", "409: in use")
        assert 3 <= len(calls(cycle, "DELETE /volumes/{id}")) <= 10


def test_the_tree_is_swept_a_little_at_a_time(monkeypatch):
    age = 3600.0
    for place in (find_in_tree, tree_view):
        monkeypatch.setattr(place, "REQUEST_LOCK_AGE", age)
    with World(one_provider()) as world:
        cycle = world.start()
        store = world.store
        for number in range(60):
            store._session.create(f"/nodepool/requests-lock/200-{number:010d}", b"", parents=True)
        store._session.create("/nodepool/requests-lock/200-0000009999", b"", parents=True)
        alive = world.request("huge")
        held = store.requests.lock(alive)
        store._session.create("/nodepool/nodes/0000088888", b"", parents=True)
        store.own.put("waits/200-0000000001", {"code": "no-room"})
        world.run(0.9 * age)
        assert store.nodes.empty() == []
        assert len(store.requests.lock_ids()) == 62
        world.run(1800)
        assert store.requests.lock_ids() == [alive]
        assert cycle.account.sweeps.counts[""]["request-lock"]["deleted"] == 61
        held.release()
