# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ends freezes and breakers for an operator: removes their entries from the documents that launchers follow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ...launching import breaking, freezing
from ...model.own_tree import BREAKERS, FREEZES, KNOWN_POOLS

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

FREEZE, BREAKER = "freeze", "breaker"
_NOTHING = dict.fromkeys(("pool", "resource", "image", "flavor"))


@dataclass(frozen=True, kw_only=True)
class ThrottleWish:
    """The freezes or breakers of a provider that an operator ends; an empty list does not narrow the choice.

    :param kind: ``freeze`` (narrowed by *pools* and *resources*) or ``breaker`` (by *images* and *flavors*).
    """

    provider: str
    kind: str
    pools: Collection[str] = ()
    resources: Collection[str] = ()
    images: Collection[str] = ()
    flavors: Collection[str] = ()


def end_throttles(store: Store, wish: ThrottleWish, now: float, *, check: bool) -> list[dict[str, Any]]:
    """End the chosen freezes or breakers that are in force; return a row for each.

    The acting launcher reads these documents again in its next pass. If no launcher runs, the next one reads them when
    it starts.
    """
    rows: list[dict[str, Any]] = []
    for path, place in _documents(store, wish):
        ended: list[dict[str, Any]] = []
        edit = partial(_without, wish, now, {**_NOTHING, **place}, ended)
        if check:
            edit(store.own.get(path))
        else:
            store.own.change(path, edit)
        rows += ended
    return rows


def _without(
    wish: ThrottleWish,
    now: float,
    place: Mapping[str, Any],
    ended: list[dict[str, Any]],
    document: Mapping[str, Any] | None,
) -> dict[str, Any] | None:
    """Return the document without the chosen entries, and put these into *ended*; None if there are none."""
    known = document or {}
    chosen = _chosen(known, wish, now)
    ended[:] = [{**place, **row} for row in chosen.values()]
    return {key: value for key, value in known.items() if key not in chosen} if chosen else None


def _documents(store: Store, wish: ThrottleWish) -> list[tuple[str, dict[str, Any]]]:
    """Return the paths of the documents that may have entries, each with the first fields of its rows."""
    if wish.kind == BREAKER:
        return [(f"{BREAKERS}/{wish.provider}", {})]
    pools = {pool.id: (pool.provider_name, str(pool.name)) for pool in store.components.pools()}
    for pool_id in store.own.children(KNOWN_POOLS):
        known = store.own.get(f"{KNOWN_POOLS}/{pool_id}") or {}
        pools.setdefault(pool_id, (str(known.get("provider_name")), str(known.get("name"))))
    return [
        (f"{FREEZES}/{pool_id}", {"pool": name})
        for pool_id, (provider, name) in sorted(pools.items(), key=lambda item: (item[1][1], item[0]))
        if provider == wish.provider and (not wish.pools or name in wish.pools) and "/" not in pool_id
    ]


def _chosen(document: Mapping[str, Any], wish: ThrottleWish, now: float) -> dict[str, dict[str, Any]]:
    """Return the entries that are in force and chosen, by their keys."""
    return _freezes(document, wish, now) if wish.kind == FREEZE else _breakers(document, wish, now)


def _freezes(document: Mapping[str, Any], wish: ThrottleWish, now: float) -> dict[str, dict[str, Any]]:
    return {
        name: {"resource": name, "ends_in": round(freeze.until - now, 1), "text": freeze.text}
        for name, freeze in freezing.in_force(document, now).items()
        if not wish.resources or name in wish.resources
    }


def _breakers(document: Mapping[str, Any], wish: ThrottleWish, now: float) -> dict[str, dict[str, Any]]:
    chosen = {}
    for key, breaker in breaking.in_force(document, now).items():
        image, _slash, flavor = key.partition("/")
        if (not wish.images or image in wish.images) and (not wish.flavors or flavor in wish.flavors):
            left = round(breaker.opens_at(now) - now, 1)
            chosen[key] = {"image": image, "flavor": flavor, "ends_in": left, "text": breaker.text}
    return chosen
