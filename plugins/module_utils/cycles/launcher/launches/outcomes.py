# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How launches end: an attempt fails, a node is ready, a node is given up."""

from __future__ import annotations

from collections.abc import Iterable

from ....clients.zookeeper.batch import Batch
from ....launching import machine, record
from ....launching.machine import Failure
from ....model.counters import SERVER_REACHABLE
from ....model.launch import Phase
from ....model.lines import Trouble
from ....model.node import NodeState
from ....model.resources import Resources
from ..context.context import Context
from ..context.metrics import READY, count_attempt
from .create_limits import pool_id_of
from .gates import Gates
from .launch_in_progress import LaunchesInProgress, LaunchInProgress


class Outcomes:
    """Stores how launches end, and removes ended launches from *in_progress*."""

    def __init__(self, context: Context, gates: Gates, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._gates = gates
        self._in_progress = in_progress

    def is_ours(self, ongoing: LaunchInProgress) -> bool:
        """Return False if the launch was dropped before an answer came: only the cycle that has it now may act."""
        return self._in_progress.get(ongoing.node.id) is ongoing and ongoing.held.valid

    def quota_refused(
        self,
        ongoing: LaunchInProgress,
        named: Iterable[str],
        text: str,
        sent_at: float,
        failing: Resources | None = None,
    ) -> None:
        """Freeze the *named* resources in the pool, as the cloud refused a call for them.

        :param failing: the resources of a server that was accepted first and then failed.
        """
        self._context.account.refused += 1
        pool_id = pool_id_of(self._context, ongoing)
        self._gates.freezes.refuse(pool_id, ongoing.actor, named, text, sent_at, failing)

    def fail(
        self,
        ongoing: LaunchInProgress,
        failure: Failure,
        text: str,
        now: float,
        named: Iterable[str] = (),
        failing: Resources | None = None,
    ) -> None:
        """End an attempt that failed.

        *named*, *failing*: for a quota, the resources that the cloud named and those that the failed server uses.
        """
        if failure is Failure.QUOTA:
            self.quota_refused(ongoing, named, text, ongoing.launch.started, failing)
        elif failure is Failure.REFUSED:
            ongoing.actor.known.forget_names()
        ongoing.build_failed(failure, now)
        self._context.account.say(Trouble(f"node {ongoing.node.id}: {failure.value}: {text}", **ongoing.subject))
        cycle_counts, seconds = self._context.account.cycle_counts, now - (ongoing.launch.started or now)
        count_attempt(cycle_counts, ongoing.node, failure.value, seconds)
        machine.failed(ongoing.launch, failure, text, now, ongoing.rules, self._context.random)
        if failure not in machine.DOES_NOT_COUNT:
            self._gates.breakers.failed(ongoing.launch.provider, ongoing.label.image_name, ongoing.flavor, text)
            if ongoing.alone:
                ongoing.launch.az = ongoing.next_zone()
        self._context.save(ongoing.launch)
        if ongoing.launch.phase == Phase.FAILED:
            self.give_up(ongoing, now)

    def finish(self, ongoing: LaunchInProgress, now: float) -> None:
        """End a launch whose node is ready."""
        self._gates.breakers.succeeded(ongoing.launch.provider, ongoing.label.image_name, ongoing.flavor)
        record.ready(ongoing.node, ongoing.host_keys, now)
        batch = self._context.store.batch()
        self._context.save(ongoing.launch, batch)
        self._context.store.nodes.write(ongoing.node, batch=batch)
        self._leave(ongoing, batch)
        self._context.account.ready.append(ongoing.node.id)
        self._context.account.say(ongoing.ready_line(now))
        cycle_counts, launch = self._context.account.cycle_counts, ongoing.launch
        count_attempt(cycle_counts, ongoing.node, READY, now - (launch.started or now))
        if launch.active_at is not None:
            cycle_counts.counters.observe(SERVER_REACHABLE, *ongoing.key, seconds=now - launch.active_at)
        self._context.account.step(ongoing.node.id, "ready", now)

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
