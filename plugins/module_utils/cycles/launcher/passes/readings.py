# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the offers of the clouds: asks for facts that are unknown or too old, and returns the known ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ....clients.openstack.kinds import NEUTRON
from ....launching.catalog import unused_zones
from ....launching.snapshot import LabelOffer
from ....model.config.types import Pool, PoolLabel
from ....model.resources import Resources
from ..context.context import Context
from ..context.launch_templates import ask_about, keep_usual, label_template, usual_template
from ..context.ledger import Ledger
from ..launches.breakers import print_of_label
from ..launches.gates import Gates
from ..provider.actor import LIMITS_AGE, LIMITS_AGE_WHEN_FULL, PROBE_AGE, ProviderActor

LIMITS_AGE_WHEN_PATIENT = 3600.0
"""Largest age in seconds of limits that have shown room for many nodes, while only gates want nodes."""


@dataclass(frozen=True)
class PoolReading:
    """The known facts about a pool. *zones*: the zones that may be used; None while they are not known."""

    offers: Mapping[str, LabelOffer]
    zones: Sequence[str] | None


def read_clouds(
    context: Context, gates: Gates, ledger: Ledger, *, demand: bool, patient: bool = False
) -> dict[tuple[str, str], PoolReading]:
    """Ask the clouds, and update their usage. Answers come later and wake the cycle.

    :param ledger: the resources that all nodes use.
    :param demand: True if nodes are wanted; otherwise only facts that were never read are asked for.
    :param patient: only gates want them: then facts of any age are used, and limits that have shown much room lately.
    :return: the readings by (provider, pool).
    """
    readings: dict[tuple[str, str], PoolReading] = {}
    now, max_age = context.now(), None if demand and not patient else math.inf
    for name, actor in context.actors.items():
        # Without demand, the limits are read once, so that the first request need not wait for them.
        tried = demand or actor.limits.error is not None or actor.view.listing.failures > 0
        age = _limits_age(actor, gates.freezes.any_at(name)) if tried else math.inf
        if patient and age == LIMITS_AGE:
            age = LIMITS_AGE_WHEN_PATIENT
        actor.capacity.want(now, age)
        if demand and actor.health.away(NEUTRON) is not None:
            actor.known.networks.want(now, PROBE_AGE)
        given_back = actor.given_back.size
        actor.usage.follow(actor.view.servers, ledger.in_cloud[name], ledger.node_ids, ledger.server_ids, given_back)
        pools = actor.provider.pools.values()
        mine = {pool.name: _read_pool(context, gates, actor, pool, now, max_age) for pool in pools}
        actor.usage.expect(_largest_need(actor, mine.values()))
        readings |= {(name, pool): reading for pool, reading in mine.items()}
    return readings


def _limits_age(actor: ProviderActor, frozen: bool) -> float:
    if actor.limits.error is not None:
        return max(PROBE_AGE, actor.limits.retry_at - (actor.capacity.asked_at or 0.0))
    since = actor.health.core_away_since
    if since is not None:
        # Where the limits are told all the same, another call fails, which has to be tried itself.
        works = not actor.capacity.failures and (actor.capacity.asked_at or 0.0) > since
        return LIMITS_AGE_WHEN_FULL if works else PROBE_AGE
    return LIMITS_AGE_WHEN_FULL if actor.usage.near_limit or frozen else LIMITS_AGE


def _largest_need(actor: ProviderActor, readings: Iterable[PoolReading]) -> Resources:
    needs = [offer.resources for reading in readings for offer in reading.offers.values()]

    def largest() -> Resources:
        most: dict[str, float] = {}
        for need in needs:
            for name, amount in need.items():
                most[name] = max(most.get(name, 0), amount)
        return Resources(most)

    return actor.known.kept.once("largest need", (actor.provider, *needs), largest)


def _read_pool(
    context: Context, gates: Gates, actor: ProviderActor, pool: Pool, now: float, max_age: float | None
) -> PoolReading:
    given = [zone for zone in pool.availability_zones if zone not in unused_zones(pool, actor.known.every_zone.value)]
    zones = given or actor.known.zones.want(now, max_age)
    if zones is None and actor.known.zones.trouble is not None and not actor.known.denials.zones:
        zones = []  # nova chooses the zone
    wary = gates.breakers.any_at(actor.provider.name)
    usual = actor.is_usual(now)
    offers = {
        name: _offer(context, gates, actor, pool, label, now, max_age, wary, usual)
        for name, label in pool.labels.items()
    }
    return PoolReading(offers, zones)


def _offer(
    context: Context,
    gates: Gates,
    actor: ProviderActor,
    pool: Pool,
    label: PoolLabel,
    now: float,
    max_age: float | None,
    wary: bool,
    usual: bool,
) -> LabelOffer:
    """Return the offer of a label.

    :param wary: False if no breaker of the provider is known, so that none need be looked for.
    :param usual: True if nothing about the provider is odd now.
    """
    template = usual_template(context, actor, pool, label, now, max_age) if usual else None
    if template is None:
        lacks = ask_about(context, actor, pool, label, now, max_age)
        template = label_template(context, actor, pool, label, lacks, now)
        if usual:
            keep_usual(actor, pool, label, template)
    if not wary or not template.complete or template.flavor is None:
        return template.offer
    where = f"{actor.provider.name}/{pool.name}"
    name, place = actor.provider.name, f"{pool.name}/{label.name}"

    def print_now() -> str:
        flavor_id = template.flavor.id if template.flavor is not None else None
        return print_of_label(label, pool, actor, template.settings, template.cloud_image_id, flavor_id)

    wrong = gates.breakers.wrong_label(name, where, pool.name, label.name, print_now)
    if wrong is not None:
        return replace(template.offer, never=wrong)
    reason = gates.breakers.hindrance(name, where, label.image_name, template.flavor.name, place, print_now)
    if reason is None:
        return template.offer
    tenant = str(reason.figures["tenant"])
    if not tenant:
        return replace(template.offer, not_now=reason)
    return replace(template.offer, not_for={tenant: reason} if label.dynamic_instance_properties else {})
