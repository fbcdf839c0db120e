# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sweep by hand, on virtual time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import site_of
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.account import Account
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks import by_hand
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import SweepOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    META_SITE,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudConflict,
    CloudUnavailable,
    TreeExchanged,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import SITE
from tests.support.virtual_time import VirtualInbox, VirtualWorkers
from tests.support.world import World, one_provider

GONE = "0000099999"


class WorldSweepOptions(SweepOptions):
    """Options of a sweep in a world."""

    world: World

    def client(self, provider: Provider) -> Any:
        """A client of the provider's virtual cloud."""
        return self.world.client(provider)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(by_hand, "WorkerSet", VirtualWorkers)
    with World(one_provider()) as made:
        site_of(made.store, create=True)
        yield made


def ghost(world: World, provider: str = "east") -> Any:
    """A server of a node that does not exist."""
    mark = {META_PROVIDER: provider, META_NODE_ID: GONE, META_LAUNCH: f"{GONE}-1-abc"}
    (made,) = world.clouds["east"].add_foreign(1, **mark, **{META_SITE: site_of(world.store, create=False)})
    return made


def sweep(world: World, *, check: bool = False, **changes: Any) -> dict[str, Any]:
    """Two looks a minute apart at things of any age, unless the changes say otherwise."""
    options = WorldSweepOptions(config="nodepool.yaml", **{"min_age": 0.0, "wait": 60.0, **changes})
    object.__setattr__(options, "world", world)
    store = world.keeper.store()
    inbox, site = VirtualInbox(world.agenda), site_of(store, create=False)
    context = Context(store, world.config, inbox, Account(), site)
    try:
        return by_hand.SweepByHand(options, context, check=check, sleeper=world.agenda.sleep).run()
    finally:
        store.close()


def verdicts(result: dict[str, Any]) -> dict[str, str]:
    return {row["id"]: row["verdict"] for row in result["things"]}


def there(world: World, machine: Any) -> bool:
    return machine.id in world.clouds["east"].machines


def test_what_leaked_goes_at_the_second_look_and_what_is_foreign_stays(world):
    leaked, foreign = ghost(world), ghost(world, provider="nodepool-east")
    assert verdicts(sweep(world, wait=0.0)) == {leaked.id: "waiting", foreign.id: "foreign"}
    result = sweep(world)
    assert verdicts(result) == {leaked.id: "deleted", foreign.id: "foreign"}
    assert (result["changed"], result["left_out"]) == (True, {})
    counts = result["counts"]["east"]["server"]
    assert (counts["found"], counts["deleted"], counts["foreign"]) == (1, 1, 1)
    world.run(60)
    assert not there(world, leaked) and there(world, foreign)


def test_check_mode_tells_what_is_due_and_writes_nothing(world):
    leaked = ghost(world)
    sweep(world, wait=0.0)
    world.run(100)
    before = world.store.own.get("sightings/east")
    result = sweep(world, check=True)
    assert (verdicts(result), result["changed"]) == ({leaked.id: "due"}, True)
    assert result["diff"]["after"].startswith(f"east: server {leaked.id}: due, made for node {GONE}")
    assert world.store.own.get("sightings/east") == before
    assert there(world, leaked)


def test_only_the_chosen_kinds_are_judged(world):
    leaked = ghost(world)
    assert verdicts(sweep(world, kinds=("floating-ip",))) == {}
    assert there(world, leaked)


def test_a_kind_that_cannot_be_read_keeps_no_other_from_being_swept(world):
    leaked = ghost(world)
    world.fault("east", "GET /ports", error=lambda: CloudUnavailable("503: try later", status=503))
    result = sweep(world)
    assert verdicts(result) == {leaked.id: "deleted"}
    assert "503: try later" in result["left_out"]["east"]


def test_without_the_servers_nothing_is_said_and_nothing_forgotten(world):
    leaked = ghost(world)
    sweep(world, wait=0.0)
    before = world.store.own.get("sightings/east")
    world.fault("east", "GET /servers/detail", error=lambda: CloudUnavailable("503: try later", status=503))
    result = sweep(world)
    assert (result["things"], world.store.own.get("sightings/east")) == ([], before)
    assert "503: try later" in result["left_out"]["east"]
    assert there(world, leaked)


def test_a_provider_that_another_sweep_has_is_left_out(world):
    leaked = ghost(world)
    held = world.store.own.lock("sightings/east")
    result = sweep(world)
    assert (result["things"], result["changed"]) == ([], False)
    assert result["left_out"] == {"east": "provider east is being swept by another process: try again later"}
    held.release()
    assert verdicts(sweep(world)) == {leaked.id: "deleted"}


def test_a_refused_deletion_is_told_and_tried_again_at_a_distance(world):
    leaked = ghost(world)
    fault = world.fault("east", "DELETE /servers/{id}", error=lambda: CloudConflict("409: busy", status=409))
    (row,) = sweep(world)["things"]
    assert (row["verdict"], row["answer"]) == ("failed", "409: busy")
    (row,) = sweep(world, wait=0.0)["things"]
    assert (row["verdict"], row["tries"], row["answer"]) == ("paused", 1, "409: busy")
    world.faults["east"].remove(fault)
    world.run(70)
    assert verdicts(sweep(world, wait=0.0)) == {leaked.id: "deleted"}


def test_the_tree_is_swept_under_its_lock(world):
    world.store._session.create("/nodepool/nodes/0000088888", b"", parents=True)
    held = world.store.own.lock("tree-sightings")
    assert sweep(world, kinds=("empty-node",))["left_out"] == {
        "": "the tree is being swept by another process: try again later"
    }
    held.release()
    assert verdicts(sweep(world, kinds=("empty-node",))) == {"0000088888": "deleted"}
    assert world.store.nodes.empty() == []
    assert world.store.own.get("tree-sightings")["seen"] == {}


@pytest.mark.parametrize("kind", ["server", "empty-node"])
def test_a_tree_that_is_exchanged_ends_the_sweep(world, kind):
    leaked = ghost(world)
    world.store._session.create("/nodepool/nodes/0000088888", b"", parents=True)
    world.agenda.after(30, lambda: world.store.own.put(SITE, {"id": "f" * 32}))
    with pytest.raises(TreeExchanged, match="nothing was deleted"):
        sweep(world, kinds=(kind,))
    assert there(world, leaked) and world.store.nodes.empty() == ["0000088888"]
    # Its locks are given back.
    assert world.store.own.lock("sightings/east") is not None and world.store.own.lock("tree-sightings") is not None
