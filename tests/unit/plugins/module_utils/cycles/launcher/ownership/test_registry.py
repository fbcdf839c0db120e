# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registrations and known pools."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import site_of
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.registry import (
    KNOWN_FOR,
    Registry,
    pool_id,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.stock_launchers import (
    StockLaunchers,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.component import ComponentKind
from tests.support.config_texts import parse
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.virtual_time import Agenda
from tests.support.world import label, provider_document, site

NOW = 1000.0
NO_STOCK = StockLaunchers(MemoryZooKeeper(Agenda()).store())
BOTH = site(
    *(
        provider_document(name, {"name": "main", "priority": priority, "labels": [label("small"), label("large")]})
        for name, priority in (("east", 50), ("west", 100))
    )
)


def store_of(keeper: MemoryZooKeeper | None = None) -> MemoryStore:
    return (keeper or MemoryZooKeeper(Agenda())).store()


def registry_of(store: MemoryStore, document=BOTH) -> Registry:
    return Registry(store, parse(document), site_of(store, create=True))


def test_ids_are_the_same_in_every_cycle_and_differ_between_sites_and_pools():
    assert pool_id("s", "p", "q") == pool_id("s", "p", "q")
    ids = {pool_id(*names) for names in (("s", "p", "q"), ("t", "p", "q"), ("s", "pq", ""), ("s", "p", "r"))}
    assert len(ids) == 4


def test_the_site_is_made_once_and_check_mode_does_not_make_it():
    keeper = MemoryZooKeeper(Agenda())
    store = keeper.store()
    assert site_of(store, create=False) == ""
    first = site_of(store, create=True)
    assert len(first) == 32 and site_of(keeper.store(), create=True) == first == site_of(store, create=False)


def test_a_registration_is_what_nodepools_daemons_read():
    store = store_of()
    registry = registry_of(store)
    registry.register(parse(BOTH).providers["east"], NOW)
    (pool,) = store.components.pools()
    assert pool.id == registry.ids(parse(BOTH).providers["east"])["east", "main"]
    assert (pool.name, pool.provider_name, pool.priority) == ("main", "east", 50)
    assert (sorted(pool.supported_labels), pool.paused, pool.state, pool.model_api) == (
        ["large", "small"],
        False,
        "running",
        0,
    )


def test_registering_again_makes_no_second_entry_and_pausing_rewrites_it():
    store = store_of()
    registry = registry_of(store)
    for _unused in range(3):
        registry.register(parse(BOTH).providers["east"], NOW)
    (pool,) = store.components.pools()
    registry.set_paused({pool.id})
    assert [item.paused for item in store.components.pools()] == [True]
    registry.set_paused(set())
    assert [item.paused for item in store.components.pools()] == [False]
    registry.withdraw()
    assert store.components.pools() == []


def test_a_known_pool_outlives_its_registration_for_a_day():
    keeper = MemoryZooKeeper(Agenda())
    there = registry_of(keeper.store(), site(*BOTH["providers"][1:]))
    there._hostname = "another-host"
    west = parse(BOTH).providers["west"]
    there.register(west, NOW)
    here = registry_of(keeper.store(), site(*BOTH["providers"][:1]))
    ours = here.ids(parse(BOTH).providers["east"]).values()
    (other,) = here.others(ours, NOW, NO_STOCK)
    assert (other.provider, other.present, other.labels) == ("west", True, frozenset({"small", "large"}))
    there.withdraw()
    (other,) = here.others(ours, NOW + KNOWN_FOR, NO_STOCK)
    assert (other.id, other.present, other.priority) == (there.ids(west)["west", "main"], False, 100)
    assert here.others(ours, NOW + KNOWN_FOR + 1, NO_STOCK) == []
    here.forget_past(NOW + KNOWN_FOR + 1)
    assert here._store.own.children("pools") == []


def test_a_pool_that_was_taken_out_of_this_very_configuration_is_forgotten_at_once():
    keeper = MemoryZooKeeper(Agenda())
    before = registry_of(keeper.store())
    before.register(parse(BOTH).providers["west"], NOW)
    before.withdraw()
    after = registry_of(keeper.store(), site(*BOTH["providers"][:1]))
    assert after.others(after.ids(parse(BOTH).providers["east"]).values(), NOW, NO_STOCK) == []


def test_our_own_pools_are_nobody_elses():
    store = store_of()
    registry = registry_of(store)
    config = parse(BOTH)
    ours = {key for provider in config.providers.values() for key in registry.ids(provider).values()}
    for provider in config.providers.values():
        registry.register(provider, NOW)
    assert registry.others(ours, NOW, NO_STOCK) == []


def test_a_pool_of_nodepools_that_vanishes_after_the_look_is_still_waited_for():
    """Its launcher is killed while a pass runs: a request that only it can serve must not fail in that pass."""
    store = store_of()
    fields = {"id": "vm-PoolWorker.static-main-1", "name": "main", "provider_name": "static", "version": "11.0.0"}
    theirs = store.components.register(ComponentKind.POOL, "vm", {**fields, "supported_labels": ["machine"]})
    stock = StockLaunchers(store)
    stock.look()
    stock.remember(NOW)
    registry = registry_of(store)

    def others() -> list[tuple[str, bool]]:
        return [(pool.id, pool.present) for pool in registry.others([], NOW, stock) if pool.provider == "static"]

    assert others() == [(fields["id"], True)]
    theirs.unregister()
    assert others() == [(fields["id"], False)]
    store.components.register(ComponentKind.POOL, "vm", {**fields, "id": "2", "supported_labels": ["machine"]})
    assert others() == [("2", True)], "it is back before the next look"
