# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides whether a launch may send its create now, and whether it is stuck."""

from __future__ import annotations

from ....launching.known_answers import HOSTS
from ....launching.moving import PATIENT, is_dead
from ....launching.narrow import one_of_each
from ....launching.retiring import retirement
from ....model import owner, reasons
from ....model.launch import Phase
from ....model.reasons import Reason
from ....model.resources import FLOATING_IPS, total
from ..context.context import Context
from ..context.ledger import size_of
from .gates import Gates
from .launch_in_progress import LaunchesInProgress, LaunchInProgress, pool_id_of
from .signs import print_of_launch

LONG_BOOT = 120.0
"""Seconds for which a server may be in BUILD at a cloud of which nothing is known, until that is a reason to tell."""
MOST_DEFERRED = 8
"""Launches with one image and flavor that wait for another try after it failed; further ones give up their room."""
RETRIED = frozenset({Phase.QUEUED, Phase.UNCLEAR, Phase.ADDRESSING, Phase.CLEARING})
"""The phases in which a launch waits for its next attempt, or for what became of the latest one."""


class CreateLimits:
    """The limits that gates, health and configuration set for a launch."""

    def __init__(self, context: Context, gates: Gates, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._gates = gates
        self._in_progress = in_progress

    def creates_allowed(self, ongoing: LaunchInProgress) -> float:
        """Return how many creates of its pool may wait for an answer at the same time."""
        building = sum(
            one.key == ongoing.key and one.launch.phase == Phase.BOOTING for one in self._in_progress.values()
        )
        allowed = self._gates.freezes.allowed(pool_id_of(self._context, ongoing), ongoing.actor, building)
        return min(allowed, ongoing.actor.provider.max_concurrency)

    def held_up(self, ongoing: LaunchInProgress) -> Reason | None:
        """Return why its create may not be sent now; None if it may."""
        if ongoing.actor.blocked is not None:
            return ongoing.actor.blocked
        gone = left_out(ongoing)
        if gone is not None:
            return gone
        if ongoing.lacks is not None:
            return ongoing.lacks
        if ongoing.launch.attempt == 1 or ongoing.launch.owner == owner.UNKNOWN:
            # A launch that has failed for its image goes on to its end, so that its request does not wait for ever.
            where, launch = "/".join(ongoing.key), ongoing.launch
            trouble = self._gates.breakers.hindrance(
                launch.provider,
                where,
                ongoing.label.image_name,
                ongoing.flavor,
                f"{launch.pool}/{launch.label}",
                lambda: print_of_launch(ongoing),
            )
            if trouble is not None and trouble.figures["tenant"] in ("", ongoing.tenant):
                return trouble
        ahead = self._in_progress.goes_ahead(ongoing)
        if ahead is not None:
            return _retrying(ahead)
        need = size_of(ongoing.node)
        freezes, pool_id = self._gates.freezes, pool_id_of(self._context, ongoing)
        narrow = self.narrow(ongoing)
        if narrow is not None:
            return narrow
        frozen = freezes.in_force(pool_id)
        if not frozen:
            return None
        room = freezes.room(
            pool_id, ongoing.actor, ongoing.actor.usage.in_cloud + self._in_progress.unanswered(ongoing.actor)
        )
        return next((reason for resource, reason in frozen.items() if need[resource] > room[resource]), None)

    def begin_trial(self, ongoing: LaunchInProgress) -> None:
        """Note that its create is sent: while a breaker is tried, others with its image and flavor wait."""
        launch, frozen = ongoing.launch, self._gates.freezes.narrow(pool_id_of(self._context, ongoing))
        ongoing.on_trial = not frozen.keys().isdisjoint(ongoing.narrow)
        if launch.attempt > 1 and launch.owner != owner.UNKNOWN:
            return
        place, image = f"{launch.pool}/{launch.label}", ongoing.label.image_name
        self._gates.breakers.begin_trial(
            launch.provider, image, ongoing.flavor, place, ongoing.tenant, lambda: print_of_launch(ongoing)
        )

    def is_deferred(self, ongoing: LaunchInProgress) -> bool:
        """Return True, and note until when, if a launch that has failed for its image must wait for another try."""
        launch = ongoing.launch
        if not ongoing.failed_for_image:
            return False
        beside = any(one.is_on_its_way for one in self._in_progress.like(ongoing))
        until = self._gates.breakers.defers(launch.provider, ongoing.label.image_name, ongoing.flavor, beside=beside)
        launch.not_before = max(launch.not_before, until)
        return until > 0

    def narrow(self, ongoing: LaunchInProgress) -> Reason | None:
        """Return why a narrow resource that it needs is frozen, or is being tried by another launch."""
        freezes, pool_id = self._gates.freezes, pool_id_of(self._context, ongoing)
        frozen = freezes.narrow(pool_id)
        wanted = [name for name in ongoing.narrow if name in frozen] if frozen else []
        if not wanted:
            return None
        allowed = freezes.trials(pool_id, self._in_progress.needed(ongoing.key, ongoing.witness))
        beside, best = self._in_progress.tried_beside(ongoing), one_of_each(wanted, allowed)
        return next((frozen[name] for kin, name in best.items() if allowed.get(name, 0) <= beside[kin]), None)

    def has_room_for_both(self, ongoing: LaunchInProgress) -> bool:
        """Return True if pool and cloud have room for its server that failed in one zone and for one in the next zone.

        There like servers have lately got a host, so its next attempt most likely does.
        """
        usage, size = ongoing.actor.usage, size_of(ongoing.node)
        freezes, pool_id = self._gates.freezes, pool_id_of(self._context, ongoing)
        hosts = ongoing.shape.narrow_name(HOSTS, ongoing.launch.az)
        if usage.bounds is None or usage.near_limit or freezes.in_force(pool_id):
            return False
        if not freezes.were_got(pool_id, hosts):
            return False
        nodes = (node for node in self._context.store.nodes.list() if (node.provider, node.pool) == ongoing.key)
        in_pool = ongoing.pool.limits.less(total(map(size_of, nodes)))
        taken = usage.known + self._in_progress.unanswered(ongoing.actor)
        return in_pool.allows(size) and usage.bounds.less(taken).allows(size)

    def may_float(self, ongoing: LaunchInProgress) -> bool:
        """Return True if a floating IP may be asked for now.

        After a refusal that is not before the freeze ends or one was given back, and then one server asks at a time.
        """
        freezes, pool_id = self._gates.freezes, pool_id_of(self._context, ongoing)
        if not freezes.refuses_lately(pool_id, FLOATING_IPS):
            return True
        if FLOATING_IPS in freezes.in_force(pool_id):
            room = freezes.room(pool_id, ongoing.actor, ongoing.actor.usage.in_cloud)
            if room[FLOATING_IPS] < 1:
                return False
        mates = (one for one in self._in_progress.values() if one is not ongoing and one.key == ongoing.key)
        return not any(one.launch.phase == Phase.ADDRESSING and one.busy for one in mates)

    def hindrance(self, ongoing: LaunchInProgress, now: float) -> Reason | None:
        """Return why the launch makes no progress now; None if it does, or may at any moment.

        What its latest attempt met is forgotten when nothing holds up the next one: it is not true any more.
        """
        launch, where = ongoing.launch, "/".join(ongoing.key)
        reason = self.held_up(ongoing) if launch.phase == Phase.QUEUED else ongoing.actor.blocked
        if reason is not None:
            return reason
        if launch.phase == Phase.ADDRESSING and not self.may_float(ongoing):
            frozen = self._gates.freezes.in_force(pool_id_of(self._context, ongoing)).get(FLOATING_IPS)
            if frozen is not None:
                return frozen
        creates = ongoing.actor.creates
        slow = max(ongoing.actor.timeouts.suspect, PATIENT * creates.answers.present)
        if launch.phase == Phase.CREATING and now - launch.asked_at >= slow:
            return Reason(reasons.UNANSWERED, {"where": where})
        odd = _not_told(ongoing) if launch.phase == Phase.BOOTING else None
        if odd is not None:
            return odd
        if launch.phase == Phase.BOOTING and now - launch.since >= _slow_boot(ongoing):
            return Reason(reasons.SLOW_BOOT, {"where": where, "server": launch.server_id or "?"})
        if launch.phase == Phase.QUEUED and launch.trouble and now >= launch.not_before:
            launch.trouble = ""
            self._context.save(launch)
        if not launch.trouble or launch.phase not in RETRIED:
            return None
        return _retrying(ongoing)

    def is_stuck(self, ongoing: LaunchInProgress, now: float) -> bool:
        """Return True if the launch makes no progress because its pool is frozen or its provider is dead."""
        if ongoing.launch.phase == Phase.QUEUED:
            return self._is_beyond_deferred(ongoing) or self.held_up(ongoing) is not None
        timeouts = ongoing.actor.timeouts
        bound = timeouts.stuck if ongoing.launch.server_id is None else timeouts.stuck_with_server
        return is_dead(ongoing.actor.health.standing(now), bound)

    def _is_beyond_deferred(self, ongoing: LaunchInProgress) -> bool:
        """Return True if it waits for another try after a failure of its image, as MOST_DEFERRED others do already."""
        # Asked for every queued launch in each pass, so the others are looked at only where it can be.
        if not ongoing.failed_for_image:
            return False
        before = (one for one in self._in_progress.like(ongoing) if one.node.id < ongoing.node.id)
        return sum(one.failed_for_image and one.is_queued for one in before) >= MOST_DEFERRED


def _slow_boot(ongoing: LaunchInProgress) -> float:
    """Return the seconds in BUILD from which on a boot is told as the reason of a wait."""
    return max(LONG_BOOT, PATIENT * max(ongoing.actor.experience.boot_times.samples, default=0.0))


def _not_told(ongoing: LaunchInProgress) -> Reason | None:
    """Return the reason while the lists do not show what becomes of its server; None if they do."""
    actor = ongoing.actor
    server = actor.view.servers.get(ongoing.launch.server_id or "")
    found = actor.view.odd.lacks() if server is not None and not server.is_told else []
    return actor.health.reason_of(found[0]) if found else None


def _retrying(ongoing: LaunchInProgress) -> Reason:
    launch = ongoing.launch
    return Reason(reasons.RETRYING, {"where": "/".join(ongoing.key), "text": launch.trouble, "owner": launch.owner})


def left_out(ongoing: LaunchInProgress) -> Reason | None:
    """Return why the launch must not go on: its pool or label left the configuration, or the cloud has no image."""
    if ongoing.lacks is not None and ongoing.lacks.code in reasons.WITHOUT_IMAGE:
        return ongoing.lacks
    return retirement(ongoing.actor.provider, ongoing.launch.pool, [ongoing.launch.label])
