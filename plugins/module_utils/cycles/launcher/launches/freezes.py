# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The freezes of the pools that this cycle acts for, and the effect of refusals on the create windows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ....launching.freezing import (
    LONGEST,
    TWO_MINUTES,
    Window,
    accepted,
    as_of,
    careful,
    careful_late,
    is_raised,
    is_remembered,
    read,
    refused,
    room,
    settle,
    stored,
    try_at,
)
from ....launching.narrow import doubted, followed, got, next_turn, place_of_hosts, refused_narrow, trials
from ....model import reasons
from ....model.freeze import Evidence, Freeze, is_narrow
from ....model.lines import Line, Subject, Trouble
from ....model.own_tree import FREEZES
from ....model.owner import CAPACITY
from ....model.reasons import Reason
from ....model.resources import INSTANCES, Resources
from ..context.context import Context
from ..provider.actor import ProviderActor

LATELY = 600.0
"""Seconds for which a server with a host shows that others like it get one in its zone."""
ONE = Resources()
"""What a create needs of which nothing is known: it counts as one of whatever is frozen."""


class Freezes:
    """The freezes by pool id and resource."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._got: dict[str, dict[str, float]] = {}
        """Pool id → hosts for a flavor in a zone → UNIX time at which a server last got one in this cycle."""

    def allowed(self, pool_id: str, actor: ProviderActor, building: int = 0) -> int:
        """Return how many creates may wait for an answer at the same time: few near a known or learned limit.

        :param building: servers of the pool that are accepted and not yet ACTIVE.
        """
        now = self._context.now()
        known = self.of(pool_id, now).items()
        lessons = [
            careful_late(freeze, evidence, now, building) if freeze.late else careful(freeze, evidence, now)
            for name, freeze in known
            if not is_narrow(name)
            for evidence in [self._evidence(actor, name)]
        ]
        window = actor.creates.windows.get(pool_id, Window())
        allowed = window.allowed(actor.usage.near_limit, min(lessons, default=float("inf")), actor.creates.opened)
        return min(allowed, int(actor.creates.answers.at_once))

    def admissible(self, pool_id: str, actor: ProviderActor, queued: int) -> int:
        """Return how many more launches may be accepted: only those whose creates can be sent soon.

        :param queued: accepted launches whose create is not sent yet.
        """
        return max(0, 2 * self.allowed(pool_id, actor) - queued)

    def accepted(self, pool_id: str, actor: ProviderActor, size: Resources, sent_at: float) -> None:
        """Note that nova accepted a create that was sent at *sent_at* for a server of *size*."""
        actor.creates.windows.setdefault(pool_id, Window()).accepted()
        now = self._context.now()
        actor.accepted(size, sent_at, now)
        self._change(
            pool_id,
            now,
            lambda known: {name: accepted(freeze, size[name], sent_at) for name, freeze in known.items()},
        )

    def refuse(
        self,
        pool_id: str,
        actor: ProviderActor,
        named: Iterable[str],
        text: str,
        sent_at: float,
        failing: Resources | None = None,
        need: Resources = ONE,
        *,
        whose: str = CAPACITY,
    ) -> None:
        """Freeze the *named* resources (none named: instances) after a create sent at *sent_at* was refused for them.

        :param failing: the resources of a server that was accepted first and then failed; its removal is not new room.
        :param need: what the create needed.
        :param whose: whose fault it is.
        """
        now, names = self._context.now(), {name: self._context.random() for name in list(named) or [INSTANCES]}
        actor.creates.windows.setdefault(pool_id, Window()).refused()

        def refuse_again(known: dict[str, Freeze]) -> dict[str, Freeze]:
            return {
                **known,
                **{
                    name: replace(
                        self._refused(known.get(name), actor, name, text, now, jitter, sent_at, failing, need[name]),
                        owner=whose,
                    )
                    for name, jitter in names.items()
                },
            }

        before, after = self._change(pool_id, now, refuse_again)
        for name in names:
            self._say_frozen(pool_id, now, before.get(name), after[name])
        actor.capacity.forget()

    # -- narrow resources ----------------------------------------------------------------------------------------

    def refuse_narrow(
        self,
        pool_id: str,
        actor: ProviderActor,
        resource: str,
        text: str,
        whose: str,
        sent_at: float,
        earlier: Iterable[float] = (),
        *,
        late: bool = False,
    ) -> None:
        """Freeze a narrow resource after a launch that needed it failed; nothing else in the pool waits for it.

        :param earlier: when like creates were refused before the resource was known.
        :param late: its server had a host when it failed.
        """
        now, jitter, active = self._context.now(), self._context.random(), _active(actor)

        def refuse_again(known: dict[str, Freeze]) -> dict[str, Freeze]:
            return refused_narrow(known, resource, text, whose, now, jitter, sent_at, active, earlier, late=late)

        before, after = self._change(pool_id, now, refuse_again)
        self._say_frozen(pool_id, now, before.get(resource), after[resource])

    def any_late(self, pool_id: str, needs: Iterable[str]) -> bool:
        """Return True if servers that had a host failed for one of these: only one that is ACTIVE has got it."""
        known = self.of(pool_id, self._context.now())
        return bool(known) and any(name in known and known[name].late for name in needs)

    def served(self, pool_id: str, needs: Iterable[str]) -> None:
        """Note that a launch got narrow resources that it needed: their freezes are over, or soon will be."""
        now, needs = self._context.now(), list(needs)
        self._got.setdefault(pool_id, {}).update({name: now for name in needs if place_of_hosts(name)})
        known = self.of(pool_id, now)
        needed = {name for name in needs if name in known}

        def less(known: dict[str, Freeze]) -> dict[str, Freeze]:
            after = {name: got(item, now) if name in needed else item for name, item in known.items()}
            return {name: item for name, item in after.items() if item is not None}

        if needed:
            self._change(pool_id, now, less)

    def were_got(self, pool_id: str, hosts: str) -> bool:
        """Return True if a server has got such hosts within the last LATELY seconds, in this cycle."""
        return self._context.now() - self._got.get(pool_id, {}).get(hosts, float("-inf")) < LATELY

    def narrow(self, pool_id: str) -> dict[str, Reason]:
        """Return narrow resource → why nothing, or only one launch as a trial, may need it now."""
        now = self._context.now()
        return {
            name: self._frozen(pool_id, freeze, now)
            for name, freeze in self.of(pool_id, now).items()
            if is_narrow(name) and is_remembered(freeze, now)
        }

    def doubted(self, pool_id: str, sizes: Mapping[str, Resources]) -> frozenset[str]:
        """Return the narrow resources that are tried only if there is no other way; see :func:`.narrow.doubted`."""
        now = self._context.now()
        known = self.of(pool_id, now).items()
        frozen = {name: item for name, item in known if is_narrow(name) and is_remembered(item, now)}
        return doubted(frozen, sizes, self._got.get(pool_id, {}), now)

    def failing_since(self, pool_id: str, resources: Collection[str]) -> float | None:
        """Return since when no launch has got one of these narrow resources; None if one did, or none is frozen."""
        now = self._context.now()
        known = [item for name, item in self.of(pool_id, now).items() if name in resources]
        since = [item.since for item in known if is_remembered(item, now)]
        return min((moment for moment in since if 0.0 < moment <= now), default=None)

    def trials(self, pool_id: str, tried: Mapping[str, int]) -> dict[str, int]:
        """Return which narrow resources may be tried now, and by how many; see :func:`.narrow.trials`."""
        now = self._context.now()
        known = self.of(pool_id, now).items()
        return trials({name: item for name, item in known if is_narrow(name) and is_remembered(item, now)}, tried, now)

    def _frozen(self, pool_id: str, freeze: Freeze, now: float) -> Reason:
        figures = {
            "where": self._where(pool_id),
            "resource": freeze.resource,
            "seconds": max(0, round(freeze.until - now)),
            "text": freeze.text,
            "owner": freeze.owner,
        }
        return Reason(reasons.FROZEN, figures)

    # -- inside --------------------------------------------------------------------------------------------------

    def _refused(
        self,
        before: Freeze | None,
        actor: ProviderActor,
        resource: str,
        text: str,
        now: float,
        jitter: float,
        sent_at: float,
        failing: Resources | None,
        size: float,
    ) -> Freeze:
        evidence = self._evidence(actor, resource)
        if failing is not None:
            ours = before.evidence.ours if before is not None and now < before.until else evidence.ours
            evidence = replace(evidence, ours=min(ours, evidence.ours) - failing[resource])
        late = failing is not None
        return refused(before, resource, evidence, text, now, jitter, sent_at, size=size, late=late)

    def _say_frozen(self, pool_id: str, now: float, before: Freeze | None, freeze: Freeze) -> None:
        if before is None or freeze.until != before.until:
            seconds = freeze.until - now
            line = f"{self._where(pool_id)}: frozen for {freeze.resource} for {seconds:.0f} s: {freeze.text}"
            self._context.account.say(Trouble(line, **self._subject(pool_id)))

    def in_force(self, pool_id: str) -> dict[str, Reason]:
        """Return resource → why the pool may use no more of it than it did at the refusal."""
        now = self._context.now()
        return {
            resource: self._frozen(pool_id, freeze, now)
            for resource, freeze in self.of(pool_id, now).items()
            if now < freeze.until and not is_narrow(resource)
        }

    def refuses_lately(self, pool_id: str, resource: str) -> bool:
        """Return True if the cloud refused the resource so lately that the latest freeze may just have ended."""
        now = self._context.now()
        freeze = self.of(pool_id, now).get(resource)
        return freeze is not None and bool(freeze.refusals) and now - freeze.refusals[-1] < LONGEST + TWO_MINUTES

    def any_at(self, provider: str) -> bool:
        """Return True while a pool of the provider is frozen: then it is useful to look often for room."""
        now = self._context.now()
        pools = [pool_id for (name, _unused), pool_id in self._context.pool_ids.items() if name == provider]
        known = (item for pool_id in pools for item in self.of(pool_id, now).items())
        return any(now < freeze.until and not is_narrow(name) for name, freeze in known)

    def room(self, pool_id: str, actor: ProviderActor, taken: Resources) -> Resources:
        """Return the room for each frozen resource, when *taken* is used by our nodes or promised to them.

        The room is 0 before the first list of servers since the launcher acts for the provider: only that list shows
        what others use.
        """
        now = self._context.now()
        known = self.of(pool_id, now).items()
        frozen = {name: freeze for name, freeze in known if now < freeze.until and not is_narrow(name)}
        if not actor.view.listed_from:
            return Resources(dict.fromkeys(frozen, 0))
        return Resources(
            {
                resource: room(freeze, replace(self._evidence(actor, resource), ours=taken[resource]), now)
                for resource, freeze in frozen.items()
            }
        )

    def follow(self) -> None:
        """Add to each freeze the limits read after its refusal, and end it if its limit was raised; called per pass."""
        now = self._context.now()
        for (provider, _unused), pool_id in self._context.pool_ids.items():
            actor = self._context.actors[provider]
            before, after = self._change(pool_id, now, partial(self._looked_at_all, actor, now))
            for name in before:
                if now == after[name].until < before[name].until:
                    what = "servers are gone" if is_narrow(name) else f"the limit for {name} was raised"
                    line = f"{self._where(pool_id)}: {what}, retrying"
                    self._context.account.say(Line(line, **self._subject(pool_id)))

    def _looked_at_all(self, actor: ProviderActor, now: float, known: dict[str, Freeze]) -> dict[str, Freeze]:
        return {name: self._looked_at(freeze, actor, now) for name, freeze in known.items()}

    def _looked_at(self, freeze: Freeze, actor: ProviderActor, now: float) -> Freeze:
        if now >= freeze.until:
            return freeze
        if is_narrow(freeze.resource):
            return followed(freeze, _active(actor), now)
        evidence = self._evidence(actor, freeze.resource)
        if is_raised(freeze, evidence):
            return replace(freeze, until=now)
        read = actor.usage.read_at
        if not freeze.settled and freeze.refusals and read is not None and read > freeze.refusals[-1]:
            return settle(freeze, evidence)
        return freeze

    def next_due(self, now: float) -> float:
        """Return the seconds until the first freeze ends, room that was given back may be tried, or a turn comes."""
        ends = [
            end - now
            for pool_id in self._context.pool_ids.values()
            for freeze in self.of(pool_id, now).values()
            for end in (freeze.until, try_at(freeze, now))
            if end > now and freeze.until > now
        ]
        turns = [
            next_turn((item for name, item in self.of(pool_id, now).items() if is_narrow(name)), now)
            for pool_id in self._context.pool_ids.values()
        ]
        return min([*ends, *turns], default=float("inf"))

    def result(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return the freezes in force, by pool and resource, for the result."""
        now = self._context.now()
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for pool_id in self._context.pool_ids.values():
            for resource, freeze in self.of(pool_id, now).items():
                if now < freeze.until:
                    found.setdefault(self._where(pool_id), {})[resource] = freeze.document()
        return found

    def of(self, pool_id: str, now: float) -> dict[str, Freeze]:
        """Return the stored freezes of a pool, by resource, as they are at *now*."""
        known = self._context.store.own.unchanging(f"{FREEZES}/{pool_id}", read)
        return as_of(known, now) if known else {}

    def _change(
        self, pool_id: str, now: float, step: Callable[[dict[str, Freeze]], dict[str, Freeze]]
    ) -> tuple[dict[str, Freeze], dict[str, Freeze]]:
        """Change the freezes of a pool with *step* and store them; return the freezes before and after.

        An operator may end a freeze at the same time: then *step* is called again without that freeze.
        """
        known = self.of(pool_id, now)
        seen = [(known, step(known))]

        def make(document: Mapping[str, Any] | None) -> dict[str, Any] | None:
            before = stored(document, now)
            changed = step(before)
            seen.append((before, changed))
            return None if changed == before else {name: freeze.document() for name, freeze in changed.items()}

        if seen[0][0] != seen[0][1]:
            self._context.store.own.change(f"{FREEZES}/{pool_id}", make)
        return seen[-1]

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


def _active(actor: ProviderActor) -> int:
    """Return how many servers of the project are ACTIVE by the latest list, those of others included."""
    return sum(1 for server in actor.view.servers.values() if server.status == "ACTIVE")
