# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host acts for which provider: a rule that every launcher computes alike from the same registrations. No I/O.

A provider stays where it is as long as that host lives and has at most one provider more than another host that could
act for it. A provider without a host goes to the host with the least load; among several, weighted rendezvous hashing
decides (J. Schindelhauer and G. Schomaker, "Weighted Distributed Hash Tables", 2005).
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

_TINY = 1e-9


@dataclass(frozen=True)
class LauncherHost:
    """A host with one or more live launcher cycles.

    :ivar weight: its share of the providers, relative to other hosts; more than 0.
    :ivar wants: the providers that it can act for.
    :ivar prefers: the providers that it should act for; None for no preference. It acts for others of *wants* only
        while no other host does.
    :ivar stays: False if its cycle ends as soon as its work is done: then it only takes what no other host takes.
    :ivar ready: True when it could take over without delay.
    """

    host: str
    weight: float = 1.0
    wants: frozenset[str] = frozenset()
    prefers: frozenset[str] | None = None
    stays: bool = True
    ready: bool = True

    def tier(self, provider: str) -> tuple[bool, int]:
        """Return the order in which hosts are considered for a provider; the smallest comes first."""
        liking = 1 if self.prefers is None else 0 if provider in self.prefers else 2
        return (not self.stays, liking)


def assign(hosts: Iterable[LauncherHost], holders: Mapping[str, str]) -> dict[str, str]:
    """Return provider → the host that must act for it, for every provider that a host wants.

    :param holders: provider → the host that acts for it, or acted for it last; it may be gone.
    """
    known = {one.host: one for one in hosts}
    candidates = {
        name: _best(known.values(), name) for name in sorted({n for one in known.values() for n in one.wants})
    }
    placed: dict[str, str] = {}
    load: Counter[str] = Counter()
    for name, best in candidates.items():
        holder = known.get(holders.get(name, ""))
        if holder is not None and name in holder.wants and (holder.host in best or not holder.stays):
            placed[name] = holder.host
            load[holder.host] += 1
    # Those with the smallest choice go first: the others can make up for it.
    for name in sorted(candidates.keys() - placed.keys(), key=lambda name: (len(candidates[name]), name)):
        host = min(candidates[name], key=lambda one: _place_order(known[one], name, load[one]))
        placed[name] = host
        load[host] += 1
    for _unused in range(len(placed)):
        step = _next_move(known, candidates, placed, load)
        if step is None:
            break
        name, host = step
        load[placed[name]] -= 1
        load[host] += 1
        placed[name] = host
    return placed


def _best(hosts: Collection[LauncherHost], provider: str) -> list[str]:
    """Return the hosts of the smallest tier that want the provider, sorted."""
    able = [one for one in hosts if provider in one.wants]
    first = min(one.tier(provider) for one in able)
    return sorted(one.host for one in able if one.tier(provider) == first)


def _place_order(host: LauncherHost, provider: str, load: int) -> tuple[float, float, str]:
    return (round((load + 1) / host.weight, 9), -score(host, provider), host.host)


def _next_move(
    known: Mapping[str, LauncherHost],
    candidates: Mapping[str, Collection[str]],
    placed: Mapping[str, str],
    load: Mapping[str, int],
) -> tuple[str, str] | None:
    """Return the provider whose move evens out most, and its new host; None if no move makes the load more even."""
    moves = [
        (round((load[host] + 1) / known[host].weight - load[there] / known[there].weight, 9), name, host)
        for name, there in placed.items()
        if there in candidates[name]
        for host in candidates[name]
        if host != there
    ]
    useful = [(change, -score(known[host], name), name, host) for change, name, host in moves if change < -_TINY]
    return min(useful)[2:] if useful else None


def score(host: LauncherHost, provider: str) -> float:
    """Return the score of a host for a provider: the highest one wins, in proportion to the weights."""
    digest = hashlib.sha256(f"{host.host}\0{provider}".encode()).digest()
    fraction = (int.from_bytes(digest[:8], "big") + 1) / (2**64 + 1)
    return host.weight / -math.log(fraction)
