# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of providers and their pools: who acts for them, their health, their usage and limits, and freezes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import EMPTY, Found, TreeReading
from ...launching import breaking, freezing
from ...launching.call_shares import CallShares
from ...model import own_tree
from ...model.config.types import NodepoolConfig, Provider
from ...model.documents import (
    anything,
    mapping,
    seconds,
    text,
    whole,
    words,
)
from ...model.node import NodeState
from ...model.resources import INSTANCES, ORDER, describe
from ...model.stored import is_number
from .fields import (
    Fields,
    age,
    age_text,
    items,
    known_state,
)
from .names import known_names, pool_documents

PROVIDERS = paths.own(own_tree.PROVIDERS)
FREEZES = paths.own(own_tree.FREEZES)
BREAKERS = paths.own(own_tree.BREAKERS)
DRAIN = paths.own(own_tree.DRAIN)
STUCK = paths.own(own_tree.STUCK)
LAUNCHERS = paths.own(own_tree.LIVE_LAUNCHERS)
ROOTS = (paths.NODES, PROVIDERS, FREEZES, BREAKERS, DRAIN, STUCK, LAUNCHERS)
MOST = 1e12
"""Highest plausible amount of a resource; a larger amount in a record is not counted."""


@dataclass
class _Load:
    """The states and the resources of the nodes of a provider or pool."""

    states: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)

    def add(self, state: str, sizes: Iterable[tuple[str, Any]], count: int) -> None:
        """Add *count* nodes with the same state and sizes."""
        self.states[state] += count
        for name, amount in sizes:
            self.used[name] += count * amount


def kind_of_node(found: Found) -> tuple[str | None, str, str, tuple[tuple[str, Any], ...]]:
    """Return provider, pool, state and sizes of a node; many nodes have the same ones and are counted together."""
    node = found.document
    sizes = {INSTANCES: 1, **(mapping(node.get("resources")) or {})}
    return (
        text(node.get("provider")),
        text(node.get("pool")) or "",
        known_state(node.get("state"), NodeState.ALL),
        tuple((name, amount) for name, amount in sizes.items() if is_number(amount) and 0 <= amount <= MOST),
    )


def provider_rows(config: NodepoolConfig, reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return the rows of all providers of the configuration and of the tree, sorted by name."""
    loads: dict[tuple[str, ...], _Load] = defaultdict(_Load)
    kinds = Counter(reading.facts(paths.NODES, kind_of_node))
    for (provider, pool, state, sizes), count in kinds.items():
        if provider:
            loads[(provider,)].add(state, sizes, count)
            loads[provider, pool].add(state, sizes, count)
    stored = {found.name for found in reading.below(PROVIDERS)}
    names = known_names("provider", config, reading) | stored | {key[0] for key in loads}
    return [_provider_row(name, config, reading, loads, now) for name in sorted(names)]


def _provider_row(
    name: str,
    config: NodepoolConfig,
    reading: TreeReading,
    loads: Mapping[tuple[str, ...], _Load],
    now: float,
) -> dict[str, Any]:
    settings, found = config.providers.get(name), reading.one(f"{PROVIDERS}/{name}")
    fields = Fields(found.document, None if found.problem == EMPTY else found.problem) if found else Fields({})
    reading_of, health = fields.read("reading", mapping), fields.read("health", mapping)
    load, calls = loads.get((name,)) or _Load(), CallShares()
    calls.learn(fields.read("calls", mapping))
    made, failed = calls.counts(now)
    pools = [_pool_row(pool, name, settings, reading, loads, now) for pool in _pools(name, settings, reading, loads)]
    hosts = sorted({pool["hostname"] for pool in pools if pool["hostname"]})
    locked = bool(found and found.locked)
    return {
        "name": name,
        "configured": settings is not None,
        "cloud": settings.cloud if settings else fields.read("cloud"),
        "region": settings.region_name if settings else fields.read("region"),
        "acting": locked,
        "by_commands": fields.read("brief", anything) is True and not locked and not hosts,
        "acted_for_by": hosts,
        "standing_by": _standing_by(name, text(fields.read("host")), reading) if locked else [],
        "stood_by_age": age(seconds(fields.read("stood_by")), now),
        "draining": reading.one(f"{DRAIN}/{name}") is not None,
        "health": _health(health, now),
        "reading_age": (read_at := age(seconds((reading_of or {}).get("at")), now)),
        "reading_age_text": age_text(read_at),
        "boot_seconds": _median(fields),
        "calls": made,
        "failed_calls": failed,
        "nodes": dict(sorted(load.states.items())),
        "resources": _resources(load.used, mapping((reading_of or {}).get("limits")), reading_of),
        "breakers": list(_breakers(reading.one(f"{BREAKERS}/{name}"), now)),
        "pools": pools,
        "stuck": [row for row in _stuck(reading, now) if row["provider"] == name],
        "problems": fields.problems,
    }


def _standing_by(name: str, holder: str | None, reading: TreeReading) -> list[str]:
    """Return the host names of live launchers that can act for the provider, without the one that does."""
    registered = [found.document for found in reading.below(LAUNCHERS)]
    others = [one for one in registered if name in words(one.get("wants")) and one.get("host") != holder]
    return sorted({host for one in others if (host := text(one.get("hostname")))})


def _health(document: Mapping[str, Any] | None, now: float) -> dict[str, Any] | None:
    if document is None:
        return None
    since = age(seconds(document.get("since")), now)
    return {
        "state": text(document.get("state")) or "",
        "text": text(document.get("text")),
        "age": since,
        "owner": text(document.get("owner")),
    }


def _median(fields: Fields) -> float | None:
    samples = fields.read("boot_seconds", items)
    known = [float(item) for item in samples or () if is_number(item)]
    return round(median(known), 1) if known else None


def _resources(
    used: Mapping[str, float], limits: Mapping[str, Any] | None, reading: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Return the usage, the usage of others, the limit and the rest of each resource that is used or limited."""
    bounds = {name: value for name, value in (limits or {}).items() if is_number(value)}
    others = {name: value for name, value in (mapping((reading or {}).get("others")) or {}).items() if is_number(value)}
    rows = []
    for name in sorted({*used, *bounds}, key=lambda item: (ORDER.index(item) if item in ORDER else len(ORDER), item)):
        limit, ours, theirs = bounds.get(name), used.get(name, 0), others.get(name, 0)
        left = None if limit is None else max(0, limit - ours - theirs)
        rows.append({"resource": name, "used": ours, "others": theirs, "limit": limit, "left": left})
    return rows


def used_of(rows: Iterable[Mapping[str, Any]], where: str, resource: str) -> str:
    """Return how full a pool or its cloud is, whichever has less left, in words; "" when no limit is known.

    :param rows: those of :func:`provider_rows`.
    :param where: ``provider/pool``.
    """
    provider, _slash, name = where.partition("/")
    row = next((item for item in rows if item["name"] == provider), None)
    pool = next((item for item in row["pools"] if item["name"] == name), None) if row is not None else None
    if row is None or pool is None:
        return ""
    known = [
        (item["left"], place, item)
        for place, items_of in ((f" of {provider}", row["resources"]), ("", pool["resources"]))
        for item in items_of
        if item["resource"] == resource and item["limit"] is not None
    ]
    if not known:
        return ""
    _left, place, item = min(known, key=lambda one: one[:2])
    others = f", {item['others']:.12g} of them by others" if item["others"] else ""
    return f"{item['used'] + item['others']:.12g} of {describe(resource, item['limit'])}{place} used{others}"


# -- pools -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Pool:
    name: str
    id: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict)
    registered: bool = False


def _pools(
    provider: str, settings: Provider | None, reading: TreeReading, loads: Mapping[tuple[str, ...], _Load]
) -> list[_Pool]:
    """Return the pools of a provider by name: the registered one, else the stored one, else the configured one."""
    names = {*(settings.pools if settings else ()), *(key[1] for key in loads if len(key) > 1 and key[0] == provider)}
    found = {name: _Pool(name) for name in names if name}
    for item, registered in pool_documents(reading):
        name = text(item.document.get("name"))
        if name and item.document.get("provider_name") == provider:
            pool_id = text(item.document.get("id")) if registered else item.name
            found[name] = _Pool(name, pool_id, item.document, registered)
    return [found[name] for name in sorted(found)]


def _pool_row(
    pool: _Pool,
    provider: str,
    settings: Provider | None,
    reading: TreeReading,
    loads: Mapping[tuple[str, ...], _Load],
    now: float,
) -> dict[str, Any]:
    configured = settings.pools.get(pool.name) if settings else None
    load = loads.get((provider, pool.name)) or _Load()
    document = pool.document
    return {
        "name": pool.name,
        "id": pool.id,
        "configured": configured is not None,
        "registered": pool.registered,
        "hostname": text(document.get("hostname")) if pool.registered else None,
        "version": text(document.get("version")) if pool.registered else None,
        "paused": document.get("paused") is True,
        "priority": configured.priority if configured else whole(document.get("priority")),
        "labels": sorted(configured.labels) if configured else words(document.get("supported_labels")),
        "nodes": dict(sorted(load.states.items())),
        "resources": _resources(load.used, dict(configured.limits.items()) if configured else None),
        "freezes": list(_freezes(reading.one(f"{FREEZES}/{pool.id}") if pool.id else None, now)),
    }


def _freezes(found: Found | None, now: float) -> Iterator[dict[str, Any]]:
    """Yield the freezes in force."""
    for resource, freeze in freezing.in_force(found.document if found else None, now).items():
        yield {
            "resource": resource,
            "ends_in": round(freeze.until - now, 1),
            "refusals": len(freeze.refusals),
            "text": freeze.text or None,
        }


def _breakers(found: Found | None, now: float) -> Iterator[dict[str, Any]]:
    """Yield the open breakers."""
    for key, breaker in breaking.in_force(found.document if found else None, now).items():
        image, _slash, flavor = key.partition("/")
        yield {
            "image": image,
            "flavor": flavor,
            "ends_in": round(breaker.opens_at(now) - now, 1),
            "failures": breaker.failures,
            "text": breaker.text or None,
        }


def name_of(stuck: Mapping[str, Any]) -> str:
    """Return what is to be deleted, of a row of ``stuck``."""
    ids = {"server": stuck["server"], "floating IP": stuck["floating_ip"]}
    return next((f"{kind} {ident}" for kind, ident in ids.items() if ident), "something without an id")


def _stuck(reading: TreeReading, now: float) -> Iterator[dict[str, Any]]:
    """Yield the deletions that make no progress."""
    for found in reading.below(STUCK):
        document = found.document
        yield {
            "provider": text(document.get("provider")),
            "server": text(document.get("server")),
            "floating_ip": text(document.get("floating_ip")),
            "node": text(document.get("node")),
            "age": age(seconds(document.get("since")), now),
            "tries": whole(document.get("tries")) or 0,
            "answer": text(document.get("answer")),
        }
