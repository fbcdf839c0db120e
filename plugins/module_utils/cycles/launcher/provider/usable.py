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
from .lacks import Lack

MISS_AGE = 60.0
"""Seconds. No request is declined because of an older reading: a missing name may have been created meanwhile."""
SOON = 5.0
"""Seconds for which a launch waits for the first answer about names; then it goes on without it."""


def named_facts(actor: ProviderActor, pool: Pool, label: PoolLabel) -> list[Fact[Any]]:
    """Return the facts in which the names of the label are looked up, except flavor and image; only those it needs."""
    # The networks are needed even when none is named: nova does not choose between several.
    facts: list[Fact[Any]] = [actor.known.networks]
    if pool.availability_zones:
        facts.append(actor.known.every_zone)
    if label.key_name is not None:
        facts.append(actor.known.keypairs)
    if pool.security_groups:
        facts.append(actor.known.security_groups)
    if label.launches.server_group is not None:
        facts.append(actor.known.server_groups)
    return facts


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


def ask_for_names(actor: ProviderActor, pool: Pool, label: PoolLabel, now: float, max_age: float | None) -> None:
    """Ask for the facts in which the label's names are looked up.

    :param max_age: seconds after which a fact is read again; infinite to read only facts that were never read.
    """
    facts = named_facts(actor, pool, label)
    for fact in facts:
        fact.want(now, max_age)
    if max_age != math.inf and not _is_unread(facts, actor, pool, label, now) and _misses(actor, pool, label):
        for fact in _too_old(actor, facts, now):
            fact.want(now, MISS_AGE)


def missing(actor: ProviderActor, pool: Pool, label: PoolLabel, now: float, max_age: float | None) -> list[str] | None:
    """Return the names of the label that the cloud does not have; None while that is not known.

    A failed reading does not stop a launch: then no name counts as missing.

    :param max_age: the value that was given to :func:`ask_for_names`.
    """
    facts = named_facts(actor, pool, label)
    if _is_unread(facts, actor, pool, label, now):
        return None
    found = [*_misses(actor, pool, label), *actor.known.floating_problems(pool, label, now)]
    return None if found and max_age != math.inf and _too_old(actor, facts, now) else found


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


def _is_unread(facts: list[Fact[Any]], actor: ProviderActor, pool: Pool, label: PoolLabel, now: float) -> bool:
    # Without named networks the create looks at them, so that a slow neutron delays no record of a node.
    named = bool(label.networks or pool.networks)
    return any(is_awaited(fact, now) for fact in facts if named or fact is not actor.known.networks)


def is_awaited(fact: Fact[Any], now: float) -> bool:
    """Return True while the first answer about names may still come soon."""
    return fact.answered_at is None and fact.error is None and fact.waited(now) < SOON


def _misses(actor: ProviderActor, pool: Pool, label: PoolLabel) -> list[str]:
    return actor.known.looked_up(pool, label, lambda: misses(pool, label, catalog_of(actor)))


def _too_old(actor: ProviderActor, facts: list[Fact[Any]], now: float) -> list[Fact[Any]]:
    return [fact for fact in (actor.known.flavors, *facts) if fact.age(now) > MISS_AGE]
