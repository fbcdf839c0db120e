# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether a pool can serve a label at all: looks up the names of the label in the offer of the cloud."""

from __future__ import annotations

import math
from typing import Any

from ....launching.catalog import Catalog, hidden, misses
from ....model.config.types import Pool, PoolLabel
from ....model.errors import CloudUnavailable
from ....model.reasons import Reason
from .actor import ProviderActor
from .facts import Fact
from .knowledge import LabelLook
from .lacks import Lack

MISS_AGE = 60.0
"""Seconds. No request is declined because of an older reading: a missing name may have been created meanwhile."""
SOON = 5.0
"""Seconds for which a launch waits for the first answer about names; then it goes on without it."""


def catalog_of(actor: ProviderActor) -> Catalog:
    """Return the known offer of the cloud."""
    return Catalog(
        flavors=actor.known.flavors.value,
        networks=actor.known.networks.value,
        zones=actor.known.every_zone.value,
        keypairs=actor.known.keypairs.value,
        security_groups=actor.known.security_groups.value,
        server_groups=actor.known.server_groups.value,
        images={name: fact.value for name, fact in actor.known.images.items() if fact.value is not None},
        image_names=actor.known.image_names.value,
        bounds=actor.usage.bounds,
    )


def ask_for_names(actor: ProviderActor, look: LabelLook, now: float, max_age: float | None) -> None:
    """Ask for the facts in which the names of a label are looked up.

    :param max_age: seconds after which a fact is read again; infinite to read only facts that were never read.
    """
    for fact in look.named:
        fact.want(now, max_age)
    if max_age != math.inf and not _is_unread(look, now) and _misses(actor, look):
        for fact in _too_old(look, now):
            fact.want(now, MISS_AGE)


def missing(actor: ProviderActor, look: LabelLook, now: float, max_age: float | None) -> list[str] | None:
    """Return the names of a label that the cloud does not have; None while that is not known.

    A failed reading does not stop a launch: then no name counts as missing.

    :param max_age: the value that was given to :func:`ask_for_names`.
    """
    if actor.known.flavors.value is None or _is_unread(look, now):
        return None
    found = [*_misses(actor, look), *look.floating_problems(now)]
    return None if found and max_age != math.inf and _too_old(look, now) else found


def unsure(actor: ProviderActor, pool: Pool, label: PoolLabel, now: float) -> Reason | None:
    """Return why it is not known whether the cloud has what is missing, and note it; None if the cloud lacks it.

    It may be an item of a list that cannot be read: that is for nobody but the cloud to mend.
    """
    told = actor.client.remarks()
    found = hidden(pool, label, catalog_of(actor), told) if told else {}
    if found and actor.known.floating_problems(pool, label, now):
        found = {}
    name = actor.provider.name
    errors = [CloudUnavailable(text, provider=name, call=kind, status=200) for kind, text in found.items()]
    actor.known.note_hidden((pool.name, label.name), errors, now)
    return next((actor.health.reason_of(Lack(error.call, error, now)) for error in errors), None)


def _is_unread(look: LabelLook, now: float) -> bool:
    return any(is_awaited(fact, now) for fact in look.awaited)


def is_awaited(fact: Fact[Any], now: float) -> bool:
    """Return True while the first answer about names may still come soon."""
    return fact.answered_at is None and fact.error is None and fact.waited(now) < SOON


def _misses(actor: ProviderActor, look: LabelLook) -> list[str]:
    return look.once("misses", lambda: misses(look.pool, look.label, catalog_of(actor)))


def _too_old(look: LabelLook, now: float) -> list[Fact[Any]]:
    return [fact for fact in (look.known.flavors, *look.named) if fact.age(now) > MISS_AGE]
