# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How launches end: an attempt fails, a node is ready, a node is given up."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from ....clients.zookeeper.link.batch import Batch
from ....launching import machine, record
from ....launching.classifier import (
    COURSES,
    LABEL_BREAKER,
    Seen,
    Verdict,
)
from ....launching.harvest import CREATED, WASTED
from ....launching.harvest import READY as READY_NODE
from ....launching.known_answers import (
    ALLOWED,
    CREATES,
    HOSTS,
    PLUGGED,
    REACH,
    SUCCESS,
    SUCCESS_THERE,
    ZONE,
)
from ....launching.machine import Failure
from ....launching.narrow import split
from ....model import owner
from ....model.counters import IMAGE_LAUNCHES, LAUNCH_FAULTS, SERVER_REACHABLE, SERVERS_CREATED
from ....model.launch import Phase
from ....model.lines import Trouble
from ....model.node import NodeState
from ....model.resources import FLOATING_IPS, UNCOUNTED, Resources
from ..context.context import Context
from ..context.launcher_metrics import READY, TAKEN_BACK, count_attempt
from ..context.ledger import size_of
from ..context.trials import Ended
from .gates import Gates
from .launch_in_progress import LaunchesInProgress, LaunchInProgress, pool_id_of
from .signs import Signs
from .silence import Silence
from .zone_refusals import ZoneRefusals

ELSEWHERE = frozenset({Failure.CAPACITY, Failure.UNREACHABLE})
"""Failures that do not count and may end in another zone."""
IN_ZONES = frozenset({HOSTS, PLUGGED, SUCCESS_THERE, ZONE})
"""Kinds of narrow resources that another zone may have."""
REFUSALS = frozenset({ALLOWED, CREATES, SUCCESS, SUCCESS_THERE})
"""Kinds of narrow resources that refused creates show, not servers."""
MOST_REFUSALS = 20
"""Refused creates of one flavor with one image that are remembered."""


class Outcomes:
    """Stores how launches end, and removes ended launches from *in_progress*."""

    def __init__(self, context: Context, gates: Gates, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._gates = gates
        self._in_progress = in_progress
        self._signs = Signs(context, gates)
        self._silence = Silence(context, in_progress)
        self._zones = ZoneRefusals()
        self._refused: dict[tuple[str, str], deque[float]] = {}
        """Pool id, and flavor with image → when creates were refused that froze nothing."""

    def seen_by(self, ongoing: LaunchInProgress, now: float) -> Seen:
        """Return what else is seen at the time of a launch's failure."""
        return replace(self._signs.seen_by(ongoing, now), zones_left=self._zones.are_left(ongoing))

    def placed(self, ongoing: LaunchInProgress, *, active: bool) -> None:
        """Note that its server has a host, or is ACTIVE: then it also has its addresses."""
        pool_id, zone = pool_id_of(self._context, ongoing), ongoing.launch.az
        if not active and self._gates.freezes.any_late(pool_id, ongoing.narrow):
            return
        hosts, reach, creates = (ongoing.shape.narrow_name(kind, zone) for kind in (HOSTS, REACH, ZONE))
        left_out = {reach, creates, hosts} if ongoing.has_host else {reach, creates}
        needs = [name for name in ongoing.narrow if name not in left_out] if active else [hosts]
        ongoing.has_host = True
        self._gates.freezes.served(pool_id, needs)

    def is_ours(self, ongoing: LaunchInProgress) -> bool:
        """Return False if the launch was dropped before an answer came: only the cycle that has it now may act."""
        return self._in_progress.get(ongoing.node.id) is ongoing and ongoing.held.valid

    def accepted(self, ongoing: LaunchInProgress, now: float) -> None:
        """Note that nova accepted its create: a zone in which it was refused before does not work."""
        pool_id, shape, freezes = pool_id_of(self._context, ongoing), ongoing.shape, self._gates.freezes
        freezes.served(pool_id, [shape.narrow_name(ZONE, ongoing.launch.az)])
        for item in self._zones.accepted(ongoing, now):
            name = shape.narrow_name(ZONE, item.zone)
            freezes.refuse_narrow(pool_id, ongoing.actor, name, item.text, owner.CLOUD, item.sent_at, (item.at,))
        self._signs.accepted(ongoing, now)
        self.count(ongoing, CREATED, now)

    def quota_refused(
        self,
        ongoing: LaunchInProgress,
        named: Iterable[str],
        text: str,
        sent_at: float,
        failing: Resources | None = None,
        whose: str = owner.CAPACITY,
    ) -> None:
        """Freeze the *named* resources in the pool, as the cloud refused a call for them.

        :param failing: the resources of a server that was accepted first and then failed.
        :param whose: whose fault it is.
        """
        self._context.account.refused += 1
        pool_id = pool_id_of(self._context, ongoing)
        need = size_of(ongoing.node)
        self._gates.freezes.refuse(pool_id, ongoing.actor, named, text, sent_at, failing, need, whose=whose)

    def count(self, ongoing: LaunchInProgress, what: int, now: float) -> None:
        """Count a server that was created, became a node, or was given up; say so when too many are given up."""
        harvest, account = ongoing.actor.experience.harvest, self._context.account
        harvest.add(what, now)
        if what == CREATED:
            account.cycle_counts.counters.add(SERVERS_CREATED, *ongoing.key)
        news = harvest.news(now) if what == WASTED else ""
        if news:
            provider = ongoing.launch.provider
            account.say(Trouble(f"provider {provider}: {news}", provider=provider))

    def given_up(self, ongoing: LaunchInProgress) -> None:
        """Count a launch that is given up after its create was sent, because its request moves or is gone."""
        if ongoing.launch.phase == Phase.CLEARING:
            return  # its failure was counted
        now = self._context.now()
        self.count(ongoing, WASTED, now)
        seconds = now - (ongoing.launch.started or now)
        count_attempt(self._context.account.cycle_counts, ongoing.node, TAKEN_BACK, seconds)

    def fail(
        self,
        ongoing: LaunchInProgress,
        failure: Failure,
        text: str,
        now: float,
        verdict: Verdict,
        failing: Resources | None = None,
    ) -> None:
        """End an attempt that failed: the owner of the failure decides what follows.

        :param failing: the resources of a server that was accepted first and then failed.
        """
        launch = ongoing.launch
        refused = failure is Failure.REFUSED and launch.server_id is None
        if refused and verdict.owner in (owner.UNKNOWN, owner.ACCOUNT):
            self._zones.refused(ongoing, text, now)
            verdict = self._as_before(ongoing, verdict)
        if verdict.resources or COURSES[verdict.owner].freezes:
            self._freeze(ongoing, verdict, text, failing)
        elif failure is Failure.REFUSED:
            self._refused.setdefault(self._kind(ongoing), deque(maxlen=MOST_REFUSALS)).append(now)
        if failure is Failure.REFUSED and not verdict.wrong and verdict.owner != owner.CLOUD:
            ongoing.actor.known.forget_names()
        ongoing.has_host = ongoing.leaves_zone = False
        ongoing.build_failed(failure, now)
        if launch.server_id is not None:
            self.count(ongoing, WASTED, now)
        told = f"node {ongoing.node.id}: {failure.value}: {text} [owner: {verdict.owner}]"
        self._context.account.say(Trouble(told, **ongoing.subject))
        cycle_counts, seconds = self._context.account.cycle_counts, now - (launch.started or now)
        count_attempt(cycle_counts, ongoing.node, failure.value, seconds)
        cycle_counts.counters.add(LAUNCH_FAULTS, *ongoing.key, verdict.owner)
        self._tally(ongoing, verdict.owner, now, f"{failure.value}: {text}")
        rules, chance, once = ongoing.rules, self._context.random, verdict.once
        machine.failed(launch, failure, text, now, rules, chance, verdict.owner, once=once)
        self._count(ongoing, failure, verdict, text)
        zoned = not IN_ZONES.isdisjoint(verdict.resources)
        if ongoing.alone and (machine.counts(failure, verdict.owner) or failure in ELSEWHERE or zoned):
            before, frozen = launch.az, self._gates.freezes.narrow(pool_id_of(self._context, ongoing)).keys()
            launch.az = ongoing.next_zone(frozen)
            at_once = zoned and launch.server_id is not None and launch.floating_ip_id is None
            ongoing.leaves_zone = at_once and launch.az != before and frozen.isdisjoint(ongoing.narrow)
        self._context.save(launch)
        if launch.phase == Phase.FAILED:
            self.give_up(ongoing, now)

    def _as_before(self, ongoing: LaunchInProgress, verdict: Verdict) -> Verdict:
        """Return the verdict on a refusal in no known words: a zone or right that was known to lack still does."""
        known = self._gates.freezes.narrow(pool_id_of(self._context, ongoing))
        lacking = [kind for kind in (ZONE, ALLOWED) if ongoing.shape.narrow_name(kind, ongoing.launch.az) in known]
        return replace(verdict, resources=tuple(dict.fromkeys((*verdict.resources, *lacking))))

    def _freeze(self, ongoing: LaunchInProgress, verdict: Verdict, text: str, failing: Resources | None) -> None:
        counted, narrow = split(verdict.resources)
        if counted and not any(_needs(ongoing, name) for name in counted):
            # By its figures the launch needs nothing of it: a freeze of that resource would not hold up its next try.
            counted, narrow = [], [*narrow, UNCOUNTED]
        if counted:
            self.quota_refused(ongoing, counted, text, ongoing.launch.started, failing)
        launch, pool_id = ongoing.launch, pool_id_of(self._context, ongoing)
        for kind in narrow:
            name = ongoing.shape.narrow_name(kind, launch.az)
            earlier = self._refused.pop(self._kind(ongoing), ()) if kind in REFUSALS else ()
            self._gates.freezes.refuse_narrow(
                pool_id, ongoing.actor, name, text, verdict.owner, launch.asked_at, earlier, late=ongoing.has_host
            )

    def _kind(self, ongoing: LaunchInProgress) -> tuple[str, str]:
        return pool_id_of(self._context, ongoing), ongoing.shape.narrow_name(SUCCESS, None)

    def _count(self, ongoing: LaunchInProgress, failure: Failure, verdict: Verdict, text: str) -> None:
        """Count the failure in the breaker of those whose fault it may be."""
        launch, breakers = ongoing.launch, self._gates.breakers
        by_signs = verdict.owner == owner.CLOUD and failure in (Failure.FAULT, Failure.REFUSED)
        if not (machine.counts(failure, verdict.owner) or by_signs):
            return
        sent = failure is Failure.REFUSED and verdict.owner in (owner.UNKNOWN, owner.REQUEST, owner.CLOUD)
        sign = self._signs.sign_of(ongoing, text, verdict.owner, sent=sent)
        if verdict.owner == owner.REQUEST:
            if sent:
                breakers.request_failed(launch.provider, ongoing.label.image_name, ongoing.flavor, sign)
            return
        if COURSES[verdict.owner].breaker == LABEL_BREAKER:
            breakers.label_failed(launch.provider, launch.pool, launch.label, sign)
        else:
            breakers.failed(launch.provider, ongoing.label.image_name, ongoing.flavor, sign)

    def reached(self, ongoing: LaunchInProgress) -> None:
        """Note that the server of a launch answered."""
        self._silence.answered(ongoing, self._context.now())
        reach = ongoing.shape.narrow_name(REACH, ongoing.launch.az)
        self._gates.freezes.served(pool_id_of(self._context, ongoing), [reach])

    def unreached(self, ongoing: LaunchInProgress, text: str) -> None:
        """End an attempt whose server does not answer; the other servers show whose fault it is."""
        now = self._context.now()
        self.fail(ongoing, Failure.UNREACHABLE, text, now, self._silence.verdict(ongoing, now))

    def finish(self, ongoing: LaunchInProgress, now: float) -> None:
        """End a launch whose node is ready."""
        launch, image = ongoing.launch, ongoing.label.image_name
        self._gates.breakers.succeeded(
            launch.provider, image, ongoing.flavor, launch.pool, launch.label, ongoing.tenant
        )
        self._signs.succeeded(ongoing, now)
        self.count(ongoing, READY_NODE, now)
        record.ready(ongoing.node, ongoing.host_keys, now)
        batch = self._context.store.batch()
        self._context.save(ongoing.launch, batch)
        self._context.store.nodes.write(ongoing.node, batch=batch)
        self._leave(ongoing, batch)
        self._context.account.ready.append(ongoing.node.id)
        self._context.account.say(ongoing.ready_line(now))
        cycle_counts = self._context.account.cycle_counts
        count_attempt(cycle_counts, ongoing.node, READY, now - (launch.started or now))
        if launch.active_at is not None:
            cycle_counts.counters.observe(SERVER_REACHABLE, *ongoing.key, seconds=now - launch.active_at)
        self._context.account.step(ongoing.node.id, "ready", now)
        self._tally(ongoing, READY, now)

    def _tally(self, ongoing: LaunchInProgress, result: str, now: float, words: str = "") -> None:
        """Count the attempt for the build that it was made from."""
        launch = ongoing.launch
        image, build, reached = ongoing.label.image_name, ongoing.build_id, launch.active_at is not None
        began = launch.asked_at or now
        # A cycle that has adopted the launch has seen it ACTIVE too late.
        active = 0.0 if (launch.adopted_at or 0.0) > began else launch.active_at or 0.0
        place = f"{launch.pool} {ongoing.shape.narrow_name(REACH, launch.az)}"
        ended = Ended(launch.provider, image, build, ongoing.flavor, result, began, reached, active, place, words)
        self._context.trials.ended(ended, now)
        cycle_counts = self._context.account.cycle_counts
        cycle_counts.counters.add(IMAGE_LAUNCHES, launch.provider, image, result)
        cycle_counts.sink.incr(f"nodepool.launch.image.{image}.{READY if result == READY else f'error.{result}'}")

    def give_up(self, ongoing: LaunchInProgress, now: float) -> None:
        """End a launch that has failed and has no attempt left."""
        ongoing.node.set_state(NodeState.FAILED, now)
        batch = self._context.store.batch()
        self._context.store.nodes.write(ongoing.node, batch=batch)
        self._context.account.launch_failures[ongoing.node.id] = list(ongoing.launch.failures)
        self._leave(ongoing, batch)

    def _leave(self, ongoing: LaunchInProgress, batch: Batch) -> None:
        del self._in_progress[ongoing.node.id]
        if ongoing.ended is not None:
            ongoing.ended(ongoing, batch)
        else:
            ongoing.held.release(batch)
            batch.commit()


def _needs(ongoing: LaunchInProgress, resource: str) -> bool:
    floats = resource == FLOATING_IPS and ongoing.actor.known.floats(ongoing.pool, ongoing.label)
    return floats or size_of(ongoing.node)[resource] > 0
