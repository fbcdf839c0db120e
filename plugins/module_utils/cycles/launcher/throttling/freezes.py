# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The freezes of the pools that this cycle acts for, and what refusals do to the create windows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ....launching.freezing import (
    LONGEST,
    Window,
    accepted,
    careful,
    is_raised,
    refused,
    room,
    settle,
    try_at,
)
from ....model import reasons
from ....model.freeze import Evidence, Freeze
from ....model.lines import Line, Subject, Trouble
from ....model.reasons import Reason
from ....model.resources import INSTANCES, Resources
from ....model.stored import all_made
from ..context.context import Context
from ..provider.actor import ProviderActor

FREEZES = "freezes"
_READ = all_made(Freeze.from_document)


class Freezes:
    """By pool id and resource."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def allowed(self, pool_id: str, actor: ProviderActor) -> int:
        """How many creates may be without an answer at once: few near a limit, told or found out."""
        now = self._context.now()
        lessons = [careful(freeze, self._evidence(actor, name), now) for name, freeze in self.of(pool_id).items()]
        window = actor.creates.windows.get(pool_id, Window())
        allowed = window.allowed(actor.usage.near_limit, min(lessons, default=float("inf")), actor.creates.opened)
        return min(allowed, int(actor.creates.answers.at_once))

    def admissible(self, pool_id: str, actor: ProviderActor, queued: int) -> int:
        """How many more launches may be taken on: only what can be created soon, the rest of the queue stays free.

        :param queued: launches taken on whose create is not sent yet.
        """
        return max(0, 2 * self.allowed(pool_id, actor) - queued)

    def accepted(self, pool_id: str, actor: ProviderActor, size: Resources, sent_at: float) -> None:
        """nova accepted a create that was sent at *sent_at* for a server of *size*."""
        actor.creates.windows.setdefault(pool_id, Window()).accepted()
        actor.usage.accepted(size)
        known = self.of(pool_id)
        fresh = {name: accepted(freeze, size[name], sent_at) for name, freeze in known.items()}
        if fresh != known:
            self._store(pool_id, fresh)

    def refuse(
        self,
        pool_id: str,
        actor: ProviderActor,
        named: Iterable[str],
        text: str,
        sent_at: float,
        failing: Resources | None = None,
    ) -> None:
        """A create that was sent at *sent_at* was refused for the *named* resources (none named: instances).

        :param failing: what the server uses that was accepted all the same and then failed; its removal is no news.
        """
        context, now = self._context, self._context.now()
        actor.creates.windows.setdefault(pool_id, Window()).refused()
        known = self.of(pool_id)
        for resource in list(named) or [INSTANCES]:
            before = known.get(resource)
            evidence = self._evidence(actor, resource)
            if failing is not None:
                ours = before.evidence.ours if before is not None and now < before.until else evidence.ours
                evidence = replace(evidence, ours=min(ours, evidence.ours) - failing[resource])
            freeze = known[resource] = refused(before, resource, evidence, text, now, context.random(), sent_at)
            if before is None or freeze.until != before.until:
                line = f"{self._where(pool_id)}: frozen for {resource} for {freeze.until - now:.0f} s: {text}"
                context.account.say(Trouble(line, **self._subject(pool_id)))
        self._store(pool_id, known)
        actor.capacity.forget()

    def in_force(self, pool_id: str) -> dict[str, Reason]:
        """Resource → why the pool may use no more of it than it did at the refusal."""
        now = self._context.now()
        return {
            resource: Reason(
                reasons.FROZEN,
                {
                    "where": self._where(pool_id),
                    "resource": resource,
                    "seconds": round(freeze.until - now),
                    "text": freeze.text,
                },
            )
            for resource, freeze in self.of(pool_id).items()
            if now < freeze.until
        }

    def any_at(self, provider: str) -> bool:
        """True while a pool of the provider is frozen: then it is worth looking often whether there is room."""
        now = self._context.now()
        pools = [pool_id for (name, _unused), pool_id in self._context.pool_ids.items() if name == provider]
        return any(now < freeze.until for pool_id in pools for freeze in self.of(pool_id).values())

    def room(self, pool_id: str, actor: ProviderActor, taken: Resources) -> Resources:
        """What may still be used of the resources in force when *taken* is used by our nodes or promised to them."""
        now = self._context.now()
        return Resources(
            {
                resource: room(freeze, replace(self._evidence(actor, resource), ours=taken[resource]), now)
                for resource, freeze in self.of(pool_id).items()
                if now < freeze.until
            }
        )

    def follow(self) -> None:
        """Once per pass: complete what was known at a refusal, end what a raised limit ends."""
        now = self._context.now()
        for (provider, _unused), pool_id in self._context.pool_ids.items():
            known = self.of(pool_id)
            actor = self._context.actors[provider]
            fresh = {name: self._looked_at(freeze, actor, pool_id, now) for name, freeze in known.items()}
            if fresh != known:
                self._store(pool_id, fresh)

    def _looked_at(self, freeze: Freeze, actor: ProviderActor, pool_id: str, now: float) -> Freeze:
        if now >= freeze.until:
            return freeze
        evidence = self._evidence(actor, freeze.resource)
        if is_raised(freeze, evidence):
            line = f"{self._where(pool_id)}: the limit for {freeze.resource} was raised, trying again"
            self._context.account.say(Line(line, **self._subject(pool_id)))
            return replace(freeze, until=now)
        read = actor.capacity.asked_at
        if not freeze.settled and freeze.refusals and read is not None and read > freeze.refusals[-1]:
            return settle(freeze, evidence)
        return freeze

    def next_due(self, now: float) -> float:
        """Seconds until the first freeze ends by itself, or what was given back may be tried again."""
        ends = [
            end - now
            for pool_id in self._context.pool_ids.values()
            for freeze in self.of(pool_id).values()
            for end in (freeze.until, try_at(freeze, now))
            if end > now and freeze.until > now
        ]
        return min(ends, default=float("inf"))

    def document(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The freezes in force, by pool and resource, for the result."""
        now = self._context.now()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for pool_id in self._context.pool_ids.values():
            for resource, freeze in self.of(pool_id).items():
                if now < freeze.until:
                    found.setdefault(self._where(pool_id), {})[resource] = freeze.document()
        return found

    def of(self, pool_id: str) -> dict[str, Freeze]:
        """What is stored for a pool, by resource."""
        now, known = self._context.now(), self._context.store.own.understood(f"{FREEZES}/{pool_id}", _READ)
        return {name: freeze.as_of(now, LONGEST) for name, freeze in (known or {}).items()}

    def _store(self, pool_id: str, freezes: dict[str, Freeze]) -> None:
        document = {name: freeze.document() for name, freeze in freezes.items()}
        self._context.store.own.put(f"{FREEZES}/{pool_id}", document)

    def _evidence(self, actor: ProviderActor, resource: str) -> Evidence:
        bound = actor.usage.bounds[resource] if actor.usage.bounds is not None else float("inf")
        return Evidence(
            bound=None if bound == float("inf") else bound,
            others=actor.usage.others[resource],
            ours=actor.usage.in_cloud[resource],
        )

    def _where(self, pool_id: str) -> str:
        return "/".join(filter(None, self._context.pool_names(pool_id))) or pool_id

    def _subject(self, pool_id: str) -> Subject:
        provider, pool = self._context.pool_names(pool_id)
        return Subject(provider=provider, pool=pool)
