# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launches of one provider need of its cloud, and which of that is not had."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from ....model.config.types import Pool, Provider
from .capacity_reading import CapacityReading
from .facts import Fact
from .knowledge import Knowledge
from .lacks import Lack, OddRows
from .server_list import Listing
from .usage import Capacity

ANY_ZONE = "launches continue, and nova chooses the zone"
LATELY = 60.0
"""Seconds before the latest look at the flavors within which a fact was wanted if some label needs it."""


class Needs:
    """The needs of one provider.

    :param provider: returns its present settings.
    :param listing: the polled server list.
    :param capacity: the limits with a whole list, read by *limits*.
    :param odd: what the lists do not show although they are had.
    """

    def __init__(
        self,
        provider: Callable[[], Provider],
        known: Knowledge,
        listing: Fact[Listing],
        capacity: Fact[Capacity],
        limits: CapacityReading,
        odd: OddRows,
    ) -> None:
        self._provider = provider
        self._known = known
        self._lists: list[Fact[Any]] = [listing, capacity]
        self._limits = limits
        self._odd = odd
        self._lacking: list[Lack] | None = None
        """The result of :meth:`lacks`, until an answer or the next pass; each launch asks for it."""

    def look_again(self) -> None:
        """Note that a fact was answered, or that a new pass begins."""
        self._lacking = None

    def lacks(self) -> list[Lack]:
        """Return the facts that are needed and were not had in a few tries, those that stop all first."""
        if self._lacking is None:
            self._lacking = self._find()
        return self._lacking

    def services(self) -> set[str]:
        """Return the services besides nova and keystone that every launch needs."""
        labels = [(pool, label) for pool in self._provider().pools.values() for label in pool.labels.values()]
        needs = [self._known.needed_services(pool, label) for pool, label in labels]
        return set.intersection(*needs) if needs else set()

    def _find(self) -> list[Lack]:
        known, pools = self._known, self._provider().pools.values()
        found = [
            *(list(lacks_of(self._lists, stops=True)) or self._odd.lacks()),
            *lacks_of([known.flavors], stops=known.flavors.value is None),
            *lacks_of(self._names()),
            *known.hidden(self._provider()),
            *lacks_of([known.zones], used="" if known.denials.zones else ANY_ZONE),
            *self._limits_lacking(pools),
        ]
        if not found:
            return found
        return list({(lack.kind, str(lack.error)): lack for lack in reversed(found)}.values())[::-1]

    def _limits_lacking(self, pools: Collection[Pool]) -> list[Lack]:
        if self._limits.complete or not any(pool.max_servers > 0 and not pool.ignore_provider_quota for pool in pools):
            return []
        some_go_on = any(pool.limits.bound_servers or pool.ignore_provider_quota for pool in pools)
        return self._limits.lacks(stops=not some_go_on)

    def _names(self) -> list[Fact[Any]]:
        """Return the facts with a failed reading that labels need, of those that the latest looks asked for."""
        known = self._known
        facts: list[Fact[Any]] = [fact for fact in known.images.values() if fact.failures]
        facts += [known.networks] if known.networks.failures and known.networks_needed(self._provider()) else []
        facts += [known.server_groups] if known.server_groups.failures and known.groups_needed(self._provider()) else []
        latest = self._known.flavors.wanted_at
        return [fact for fact in facts if fact.wanted_at >= latest - LATELY]


def lacks_of(facts: Iterable[Fact[Any]], *, stops: bool = False, used: str = "") -> Iterator[Lack]:
    """Yield what is not had of these facts."""
    for fact in facts:
        error = fact.trouble
        if error is not None:
            yield Lack(error.call or fact.what, error, fact.failing_since, stops, used)
