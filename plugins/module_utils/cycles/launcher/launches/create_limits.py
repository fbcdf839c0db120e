# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the launch in hand may send its create now, and whether it is stuck where it is."""

from __future__ import annotations

from ....launching.retiring import retirement
from ....model import reasons
from ....model.launch import Phase
from ....model.reasons import Reason
from ..context.context import Context
from ..context.ledger import size_of
from ..throttling.gates import Gates
from .launch_in_progress import LaunchesInProgress, LaunchInProgress


class CreateLimits:
    """What gates, health and configuration say about one launch."""

    def __init__(self, context: Context, gates: Gates, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._gates = gates
        self._in_progress = in_progress

    def creates_allowed(self, running: LaunchInProgress) -> float:
        """How many creates of its pool may be without an answer at once."""
        allowed = self._gates.freezes.allowed(pool_id_of(self._context, running), running.actor)
        return min(allowed, running.actor.provider.max_concurrency)

    def held_up(self, running: LaunchInProgress) -> Reason | None:
        """Why its create may not be sent now."""
        if running.actor.blocked is not None:
            return running.actor.blocked
        gone = left_out(running)
        if gone is not None:
            return gone
        if running.lacks is not None:
            return running.lacks
        if running.launch.attempt == 1:
            # One that has failed itself goes on to its end, so that its request is not kept waiting for ever.
            where = "/".join(running.key)
            name = running.launch.provider
            trouble = self._gates.breakers.hindrance(name, where, running.label.image_name, running.flavor)
            if trouble is not None:
                return trouble
        need = size_of(running.node)
        freezes, pool_id = self._gates.freezes, pool_id_of(self._context, running)
        frozen = freezes.in_force(pool_id)
        if not frozen:
            return None
        room = freezes.room(
            pool_id, running.actor, running.actor.usage.in_cloud + self._in_progress.unanswered(running.actor)
        )
        return next((reason for resource, reason in frozen.items() if need[resource] > room[resource]), None)

    def is_stuck(self, running: LaunchInProgress, now: float) -> bool:
        """True when it does not get on because its pool is frozen or its provider is not well."""
        if running.launch.phase == Phase.QUEUED:
            return self.held_up(running) is not None
        timeouts = running.actor.timeouts
        bound = timeouts.stuck if running.launch.server_id is None else timeouts.stuck_with_server
        return running.actor.health.troubled_for(now) >= bound


def pool_id_of(context: Context, running: LaunchInProgress) -> str:
    """The id of a launch's pool; one that left the configuration meanwhile is still named in the record."""
    return context.pool_ids.get(running.key) or running.node.launcher or ""


def left_out(running: LaunchInProgress) -> Reason | None:
    """Why the configuration has no place for the launch any more, or the cloud no image."""
    if running.lacks is not None and running.lacks.code in reasons.WITHOUT_IMAGE:
        return running.lacks
    return retirement(running.actor.provider, running.launch.pool, [running.launch.label])
