# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several trees with the same configuration in one project, and a tree that is exchanged under a launcher."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import site_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
    Port,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import read_description
from tests.support.check_mode import check_mode
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.world import Cycle, World, label, one_provider, provider_document, site

SPARES = {"small": 2}


def machines(world: World, store: Any) -> set[str]:
    """The servers that a tree has made."""
    tree = site_of(store, create=False)
    return {key for key, item in world.clouds["east"].machines.items() if item.metadata.get(META_SITE) == tree}


def told(cycle: Cycle) -> list[str]:
    return [line for _when, line in cycle.lines if "this provider's name" in line]


def deletes(cycle: Cycle) -> list[str]:
    return [kind for client in cycle.clients for _when, kind in client.calls if kind.startswith("DELETE")]


def ready(store: Any) -> list[str]:
    return [node.id for node in store.nodes.list() if node.state == "ready"]


def test_everything_that_is_made_carries_the_id_of_its_tree():
    with World(one_provider(min_ready=SPARES), clouds={"east": {"direct": False}}) as world:
        world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        cloud, tree = world.clouds["east"], site_of(world.store, create=False)
        assert [item.metadata[META_SITE] for item in cloud.machines.values()] == [tree, tree]
        written = [read_description(item.description) for item, _server in cloud.floating_ips.values()]
        assert [item.site for item in written if item] == [tree, tree]


def test_a_second_tree_touches_nothing_of_the_first():
    """The ids of nodes are the same in both, and so is everything in nodepool.yaml but the chroot."""
    with World(one_provider(min_ready=SPARES)) as world:
        first = world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        theirs = machines(world, world.store)
        trial = MemoryZooKeeper(world.agenda)
        store = trial.store()
        second = world.start(keeper=trial)
        assert world.run(200, until=lambda: len(ready(store)) == 2)
        assert set(ready(store)) & set(ready(world.store))
        world.run(3000)
        assert machines(world, world.store) == theirs
        assert len(machines(world, store)) == 2
        assert deletes(first) == deletes(second) == []
        for cycle in (first, second):
            assert cycle.account.sweeps.counts["east"]["server"]["foreign"] == 2
        assert told(first) == []
        (line,) = told(second)
        assert line.startswith("provider east: 2 servers have this provider's name")
        assert all(ident in line for ident in theirs)


def nova_leaves(world: World, server_id: str) -> set[str]:
    """A port and volumes of a server as nova makes them, with no mark at all; their ids."""
    cloud = world.clouds["east"]
    port = Port(f"port-of-{server_id}", server_id, "net", status="DOWN", device_owner="compute:az1")
    held = Volume(f"held-{server_id}", "", "in-use", server_ids=(server_id,))
    free = Volume(f"free-{server_id}", "", "available")
    cloud.down_ports[port.id] = port
    cloud.volumes |= {held.id: held, free.id: free}
    return {port.id, held.id, free.id}


def test_ports_and_volumes_of_another_trees_servers_stay():
    """They name no tree: of servers that live, and of servers that are gone and have no tombstone here."""
    pool = {"name": "main", "labels": [{**label("small"), "boot-from-volume": True, "volume-size": 1}]}
    with World(site(provider_document("east", pool), min_ready=SPARES)) as world:
        world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        trial = MemoryZooKeeper(world.agenda)
        store = trial.store()
        second = world.start(keeper=trial)
        assert world.run(200, until=lambda: len(ready(store)) == 2)
        world.cycles[0].kill()
        cloud = world.clouds["east"]
        living, gone = sorted(machines(world, world.store))
        left = nova_leaves(world, living) | nova_leaves(world, gone)
        del cloud.machines[gone]
        own = sorted(machines(world, store))[0]
        ours = nova_leaves(world, own)
        (node,) = [node for node in store.nodes.list() if node.external_id == own]
        node.set_state("used", world.agenda.now)
        store.nodes.write(node)
        world.run(2 * 3600)
        there = set(cloud.down_ports) | set(cloud.volumes)
        assert left <= there
        assert ours - there == {f"port-of-{own}", f"held-{own}"}, "what a tombstone of this tree names goes"
        assert second.account.sweeps.counts["east"]["port"]["foreign"] == 1


def test_a_first_look_is_told_once():
    with World(one_provider(min_ready=SPARES)) as world:
        world.clouds["east"].add_foreign(5, **{META_PROVIDER: "east", META_NODE_ID: "0000000001"})
        with check_mode(world) as run:
            result = run()
            (warning,) = result["warnings"]
            assert warning.startswith("provider east: 5 servers have") and warning in result["diff"]["after"]
        cycle = world.start(until="settled")
        assert world.run(300, until=lambda: cycle.ended)
        assert cycle.result["warnings"] == told(cycle) and len(told(cycle)) == 1
        again = world.start(until="settled")
        assert world.run(300, until=lambda: again.ended)
        assert told(again) == []
        with check_mode(world) as run:
            assert run()["warnings"] == []


def test_what_another_tree_uses_counts_although_its_nodes_have_the_same_ids():
    quota = {"east": {"instances": 3}}
    with World(one_provider(min_ready=SPARES), quota=quota) as world:
        world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        trial = MemoryZooKeeper(world.agenda)
        store = trial.store()
        second = world.start(keeper=trial)
        assert world.run(200, until=lambda: len(ready(store)) == 1)
        world.run(900)
        assert len(ready(store)) == 1 and len(ready(world.store)) == 2
        assert second.account.refused == 0 and world.clouds["east"].refused == {}


def test_a_create_without_an_answer_is_found_again_beside_another_tree():
    with World(one_provider(min_ready=SPARES)) as world:
        world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        trial = MemoryZooKeeper(world.agenda)
        store = trial.store()
        world.fault("east", "POST /servers", left=2, works=True, hang=True)
        world.start(keeper=trial)
        assert world.run(600, until=lambda: len(ready(store)) == 2)
        assert len(machines(world, store)) == 2 == len(machines(world, world.store))


@pytest.mark.parametrize("instead", ["", "f" * 32], ids=["emptied", "exchanged"])
def test_a_tree_that_is_gone_ends_the_cycle_and_nothing_is_deleted(instead):
    with World(one_provider(min_ready=SPARES)) as world:
        cycle = world.start()
        assert world.run(200, until=lambda: len(ready(world.store)) == 2)
        before = dict(world.clouds["east"].machines)
        if instead:
            world.store.own.put("site", {"id": instead})
        else:
            world.store._session.delete("/nodepool")
        with pytest.raises(TreeExchanged, match="has changed since the start"):
            world.run(60)
        assert world.clouds["east"].machines == before
        assert deletes(cycle) == []
        # It leaves nothing behind in what is not its tree.
        assert world.store.own.get("providers/east") is None or instead
        # Who comes next founds a tree, and says what it meets.
        world.cycles.remove(cycle)
        after = world.start()
        world.run(1500)
        assert set(before) <= set(world.clouds["east"].machines)
        assert bool(told(after)) == (not instead)
