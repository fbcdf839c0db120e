# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The breakers of the providers that this cycle acts for, kept in ZooKeeper by provider."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from ....launching.breaking import SPACE, Breaker, Sign, as_of, read, stored
from ....model import owner, reasons
from ....model.config.types import Pool, PoolLabel
from ....model.lines import Trouble, in_a_row
from ....model.own_tree import BREAKERS
from ....model.reasons import Reason
from ..context.context import Context
from ..provider.actor import ProviderActor


class Breakers:
    """The breakers by provider, image and flavor."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def failed(self, provider: str, image: str, flavor: str, sign: Sign) -> None:
        """Count a launch that failed for its image or flavor, or for a reason that nobody knows."""
        now, key = self._context.now(), _key(image, flavor)
        before, after = self._change(provider, key, now, lambda breaker: (breaker or Breaker()).failed(sign, now))
        before, after = before or Breaker(), after or Breaker()
        if after.is_open(now) and not before.is_open(now):
            line = f"{provider}: launches of {image} with flavor {flavor} failed {in_a_row(after.failures)}:"
            whose = f" for one tenant's requests for {after.place or 'any label'}" if after.tenant else ""
            whose = whose or (f" for {after.place}" if after.place else "")
            line += f" none{whose} for {after.opens_at(now) - now:.0f} s; last: {sign.text}"
            self._context.account.say(Trouble(line, provider=provider, image=image))

    def denied(self, provider: str, image: str, flavor: str) -> None:
        """Note a create for an image that nova does not find: it counts only for the spaces between tries."""
        now = self._context.now()
        self._change(provider, _key(image, flavor), now, lambda breaker: (breaker or Breaker()).met(now))

    def request_failed(self, provider: str, image: str, flavor: str, sign: Sign) -> None:
        """Count a create that was refused for the data of a tenant's request, where only that tenant can be held up."""
        known = self.known(provider).get(_key(image, flavor))
        if sign.tenant and (known is None or not known.failures or known.tenant == sign.tenant):
            self.failed(provider, image, flavor, sign)

    def label_failed(self, provider: str, pool: str, label: str, sign: Sign) -> None:
        """Note that the cloud refused what this pool's label asks for: it is not asked for again for a while."""
        now, key = self._context.now(), _label_key(pool, label)
        self._change(provider, key, now, lambda breaker: (breaker or Breaker()).failed(sign, now, needed=1))

    def succeeded(self, provider: str, image: str, flavor: str, pool: str, label: str, tenant: str) -> None:
        """Close the breakers and reset their counts after a launch that succeeded.

        :param tenant: the tenant whose request gave a part of what was sent; "" for none.
        """
        now, place = self._context.now(), f"{pool}/{label}"

        def step(breaker: Breaker | None) -> Breaker | None:
            return None if breaker is None else breaker.succeeded(place, tenant)

        for key in (_key(image, flavor), _label_key(pool, label)):
            known = self._one(provider, key, now)
            if known is not None and step(known) != known:
                self._change(provider, key, now, step)

    def any_at(self, provider: str) -> bool:
        """Return True if a breaker of the provider is open, or has counted failures."""
        return bool(self._stored(provider))

    def known(self, provider: str) -> dict[str, Breaker]:
        """Return the breakers of a provider by "image/flavor", closed ones with failures included."""
        return self._known(provider, self._context.now())

    def wrong_label(
        self, provider: str, where: str, pool: str, label: str, print_of: Callable[[], str]
    ) -> Reason | None:
        """Return why this pool can never serve the label with its settings of now; None if nothing is known."""
        now = self._context.now()
        breaker = self._one(provider, _label_key(pool, label), now)
        if breaker is None or not breaker.is_open(now):
            return None
        if breaker.is_corrected(f"{pool}/{label}", print_of()):
            return None
        figures = {"where": where, "label": label, "text": breaker.text, "owner": owner.LABEL}
        return Reason(reasons.LABEL_BROKEN, figures)

    def hindrance(
        self, provider: str, where: str, image: str, flavor: str, place: str, print_of: Callable[[], str]
    ) -> Reason | None:
        """Return why nothing may be launched with this image and flavor now; None if the breaker is closed.

        If the figures of the reason name a tenant, only creates that send data of its requests are held up.

        :param place: pool and label that ask.
        :param print_of: returns the fingerprint of the label's settings; a correction ends the breaker for it.
        """
        now = self._context.now()
        breaker = self._one(provider, _key(image, flavor), now)
        if breaker is None or not breaker.is_open(now) or breaker.place not in ("", place):
            return None
        if breaker.is_corrected(place, print_of()):
            return None
        figures = {
            "where": where,
            "image": image,
            "flavor": flavor,
            "count": breaker.failures,
            "seconds": round(breaker.opens_at(now) - now),
            "text": breaker.text,
            "owner": breaker.owner,
            "tenant": breaker.tenant,
        }
        return Reason(reasons.BREAKER, figures)

    def begin_trial(
        self, provider: str, image: str, flavor: str, place: str, tenant: str, print_of: Callable[[], str]
    ) -> None:
        """Note that a launch is sent. If its breaker was open, others wait until it has shown what follows."""
        now, key = self._context.now(), _key(image, flavor)
        breaker = self._one(provider, key, now)
        if breaker is None or not breaker.is_half_open(now) or not breaker.concerns(place, tenant):
            return
        if not breaker.is_corrected(place, print_of()):
            self._change(provider, key, now, lambda known: known.tried(now) if known is not None else None)

    def defers(self, provider: str, image: str, flavor: str, *, beside: bool) -> float:
        """Return until when a launch that has failed for its image must wait; 0 if it may be tried now.

        :param beside: another launch with the same image and flavor is being tried.
        """
        now = self._context.now()
        breaker = self._one(provider, _key(image, flavor), now)
        if breaker is None:
            return 0.0
        at = breaker.retry_at(now)
        return at if at > now else now + SPACE if beside and breaker.is_spaced(now) else 0.0

    def result(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the open breakers by provider and "image/flavor", for the result."""
        now = self._context.now()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for provider in self._context.actors:
            for key, breaker in self._known(provider, now).items():
                if breaker.is_open(now):
                    found.setdefault(provider, {})[key] = breaker.document()
        return found

    def _known(self, provider: str, now: float) -> dict[str, Breaker]:
        return as_of(self._stored(provider), now)

    def _one(self, provider: str, key: str, now: float) -> Breaker | None:
        breaker = self._stored(provider).get(key)
        return None if breaker is None else breaker.as_of(now)

    def _stored(self, provider: str) -> Mapping[str, Breaker]:
        return self._context.store.own.unchanging(f"{BREAKERS}/{provider}", read) or {}

    def _change(
        self, provider: str, key: str, now: float, step: Callable[[Breaker | None], Breaker | None]
    ) -> tuple[Breaker | None, Breaker | None]:
        """Change one breaker with *step* (None: closed) and store it; return the breaker before and after.

        An operator may close the breaker at the same time: then *step* is called again with None.
        """
        seen: list[tuple[Breaker | None, Breaker | None]] = []

        def make(document: Mapping[str, Any] | None) -> dict[str, Any]:
            known = stored(document, now)
            before = known.pop(key, None)
            after = step(before)
            seen.append((before, after))
            if after is not None:
                known[key] = after
            return {name: breaker.document() for name, breaker in known.items()}

        self._context.store.own.change(f"{BREAKERS}/{provider}", make)
        return seen[-1]


def _key(image: str, flavor: str) -> str:
    return f"{image}/{flavor}"


def _label_key(pool: str, label: str) -> str:
    return f"label {label}/pool {pool}"


def print_of(*settings: object) -> str:
    """Return a fingerprint of settings, the same in every process; it tells nothing about them."""
    return hashlib.sha256(repr(settings).encode("utf-8", "replace")).hexdigest()[:16]


def print_of_label(
    label: PoolLabel, pool: Pool, actor: ProviderActor, image: object, image_id: str | None, flavor_id: str | None
) -> str:
    """Return the fingerprint of all that decides whether a launch of the label succeeds.

    It is what a create takes from the configuration and from the cloud, how long its server is waited for, and by which
    address it is reached.
    """
    provider, client = actor.provider, actor.client
    made_of = (label, pool, provider, client.private, client.force_ipv4, client.roles, image, image_id, flavor_id)
    pool_settings = (pool.networks, pool.security_groups, pool.availability_zones, pool.auto_floating_ip)
    # What is private is not part of how a label is printed.
    private = (label.userdata, label.instance_properties, label.dynamic_instance_properties)
    waits = (provider.launch_timeout, provider.boot_timeout)
    reach = (client.private, client.force_ipv4, client.roles)

    def make() -> str:
        return print_of(label, private, pool_settings, waits, reach, image, image_id, flavor_id)

    # While a breaker is open each pass asks for it.
    return actor.known.kept.once(("print", pool.name, label.name), made_of, make)
