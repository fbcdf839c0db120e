# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standing by: the facts about a provider's cloud are read before the take-over, so that it takes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ....clients.openstack.cloud_client import CloudClient
from ....model.config.types import ImageSettings, Provider
from ..provider.actor import ProviderActor
from ..provider.facts import Fact

PATIENCE = 10.0
"""Seconds after which a launcher that stands by counts as ready: a cloud may not answer for long."""

ImagesOf = Callable[[Provider], Iterable[ImageSettings]]


@dataclass
class _Waiting:
    actor: ProviderActor
    since: float
    facts: list[Fact[object]] = field(default_factory=list)

    def is_warm(self, now: float) -> bool:
        return now - self.since > PATIENCE or all(
            fact.answered_at is not None or fact.error is not None for fact in self.facts
        )


class Warming:
    """Actors of providers that another cycle acts for. Each reads its facts once.

    The facts get old while the other cycle acts. An actor that takes over reads those again that are too old.
    """

    def __init__(self, images_of: ImagesOf) -> None:
        self._images_of = images_of
        self._waiting: dict[str, _Waiting] = {}
        self._looked = False

    def follow(self, waiting: Mapping[str, Callable[[], ProviderActor]], now: float) -> None:
        """Begin to read the facts of new providers in *waiting*; forget providers that are not in it any more."""
        self._looked = True
        for name in self._waiting.keys() - waiting.keys():
            self._forget(name)
        for name, make in waiting.items():
            if name not in self._waiting:
                actor = make()
                self._waiting[name] = _Waiting(actor, now, _ask(actor, self._images_of(actor.provider), now))
        for entry in self._waiting.values():
            entry.actor.check(now)

    def warm(self, now: float) -> bool:
        """Return True if every provider has all its facts (or errors), or has waited for more than PATIENCE seconds."""
        return self._looked and all(entry.is_warm(now) for entry in self._waiting.values())

    def hand_over(self, name: str, provider: Provider, client: CloudClient) -> ProviderActor | None:
        """Return the actor of a provider that this cycle takes over; None if its settings or client have changed."""
        entry = self._waiting.pop(name, None)
        if entry is None:
            return None
        if entry.actor.provider == provider and entry.actor.client is client:
            return entry.actor
        entry.actor.dismiss()
        return None

    def drop(self) -> None:
        """Forget all actors."""
        for name in list(self._waiting):
            self._forget(name)
        self._looked = False

    def _forget(self, name: str) -> None:
        self._waiting.pop(name).actor.dismiss()


def _names(actor: ProviderActor) -> list[Fact[object]]:
    """Return the facts in which the names of the labels are looked up."""
    pools = actor.provider.pools.values()
    facts = [fact for pool in pools for label in pool.labels.values() for fact in actor.known.look(pool, label).named]
    return [fact for place, fact in enumerate(facts) if fact not in facts[:place] and fact is not actor.known.networks]


def _ask(actor: ProviderActor, images: Iterable[ImageSettings], now: float) -> list[Fact[object]]:
    facts: list[Fact[object]] = [actor.known.flavors, actor.known.zones, actor.known.networks, actor.capacity]  # type: ignore[list-item]
    facts += _names(actor)
    for settings in images:
        if settings.kind != "diskimage" and settings.image_id is None:
            facts.append(actor.known.image(settings.image_name or settings.name))  # type: ignore[arg-type]
    for fact in facts:
        fact.want(now)
    return facts
