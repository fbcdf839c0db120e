# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One pass of a cycle: ask, observe, plan, act, for the providers that the cycle acts for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from ....clients.ssh import Scanner, ScanResult
from ....launching.actions import (
    DeleteNode,
    DropRequest,
    FreeNode,
    Plan,
)
from ....launching.placement import Placing
from ....launching.snapshot import Snapshot
from ....launching.upkeep import surplus
from ....model.errors import StoreError
from ....model.lines import Line
from ....model.node import NodeState
from ....model.request import RequestState
from ...frame.tree_identity import check_tree
from ..context.context import Context
from ..context.events import follow_events, follow_requests
from ..context.ledger import Ledger, size_of
from ..context.usable_builds import give_up_bad_builds
from ..context.usage_book import UsageBook
from ..launches.beginning import Wanted
from ..launches.gates import Gates
from ..launches.launches import Launches
from ..launches.spare_ssh import KEY, SpareSsh
from ..leaks.first_meeting import FirstMeeting
from ..leaks.sweep import LeakSweep
from ..ownership.shared_turn import RETRY, shares, unmet_here, without_shared
from ..ownership.takeover import Takeover
from ..provider.actor import ProviderActor
from ..provider.given_back import Acknowledged
from ..removals.deletions import Deletions
from ..removals.removals import Removals
from ..requests.accepted_requests import AcceptedRequests
from ..requests.pending_waits import PendingWaits
from ..requests.waits import Waits
from .adoption import Adoption
from .observe import InHand, OpenRequests, demand_of, due_upkeep, observe
from .readings import read_clouds

END_WAIT = 5.0
"""Largest time in seconds that a cycle waits at its end for answers to creates, so that the next cycle need not search
for the servers."""


class LauncherPass:
    """The acting part of a cycle: takes over providers, works for them and releases them.

    :param serves: False to only delete nodes: no request is served, and no launch is begun or adopted.
    :param stays: the cycle does not end as soon as nothing is left to do.
    """

    def __init__(
        self,
        context: Context,
        takeover: Takeover,
        *,
        serves: bool = True,
        spare_ssh_after: float = 0.0,
        stays: bool = False,
    ) -> None:
        self._context = context
        self._serves = serves
        self._takeover = takeover
        self._scanner = Scanner(lambda result: context.inbox.post(lambda: self._scanned(result)))
        self._spare_ssh = SpareSsh(context, spare_ssh_after, self._scanner.submit)
        takeover.inherited.ssh = self._spare_ssh
        self._nodes, self._requests, self._ledger = context.store.nodes.view(), context.store.requests.view(), Ledger()
        self._removals = Removals(context)
        self._deletions = Deletions(context, self._removals, patient=stays)
        self._usage_book = UsageBook(context)
        self._first_meeting = FirstMeeting(context)
        self._sweeps = LeakSweep(context, self._removals)
        self._gates = Gates.of(context)
        self._launches = Launches(context, self._removals, self._gates, self._scanner)
        self._accepted = AcceptedRequests(context, self._launches)
        self._adoption = Adoption(context, self._nodes, self._requests, self._accepted, self._launches)
        self._waits = Waits(context)
        self._pending_waits = PendingWaits(context, self._accepted.hindrances)
        self._planned = Snapshot()
        self._placing = Placing()
        self._open_requests = OpenRequests()
        self._quiet = False
        self._withheld = False
        self._abandoned = False

    # -- passes --------------------------------------------------------------------------------------------------

    def work(self, now: float) -> float:
        """Run one pass.

        :return: seconds until the next timer is due.
        """
        store = self._context.store
        store.catch_up()
        check_tree(store, self._context.site)
        changed, nodes = self._nodes.refresh(), self._nodes.records
        self._ledger.follow_records(changed, nodes)
        self._context.ages.follow(changed, nodes, now)
        self._context.identities.follow(changed, nodes)
        follow_events(self._context, changed, nodes)
        if self._takeover.follow_drains(nodes.values()):
            self.lose()
        self._takeover.step(self._nodes.records.values(), now)
        self._hand_over(now)
        self._requests.refresh()
        if self._serves:
            self._serve(now)
        else:
            self._only_delete(now)
        return self._due(now)

    def _only_delete(self, now: float) -> None:
        self._keep_up()
        self._removals.step(now)
        self._deletions.step(now)
        self._takeover.inherited.ask_for_lists(now)
        self._takeover.remember(now)
        self._quiet = self._is_quiet(Plan())

    def _serve(self, now: float) -> None:
        self._adoption.step()
        self._keep_up()
        self._gates.freezes.follow()
        self._accepted.try_elsewhere(self._planned)
        reopened = self._accepted.give_others(self._launches.late.find(now), self._planned)
        if self._accepted.take_back(now) or reopened:
            self._requests.refresh()
        snapshot = self._observe(now)
        plan, withheld = self._placing.place(snapshot), False
        if shares(plan, snapshot) and not self._takeover.turn.has:
            snapshot, plan, withheld = self._plan_in_turn(snapshot, plan, now)
        self._planned = snapshot
        planned_with = self._in_flight
        self._waits.forget()
        self._carry_out(plan, snapshot, now)
        self._takeover.turn.end(alone=self._takeover.assignments.alone)
        self._removals.step(now)
        self._deletions.step(now)
        self._launches.step(now)
        give_up_bad_builds(self._context)
        self._context.trials.save(self._context.store, now)
        self._accepted.step(snapshot.all_pools)
        self._pending_waits.step(now)
        self._takeover.inherited.ask_for_lists(now)
        self._first_meeting.step(now)
        self._takeover.remember(now)
        self._sweeps.step(now, tree=self.leads)
        if self.leads:
            self._usage_book.step(now)
        # Work that ended during this pass has freed room that the plan did not know of.
        self._quiet = not planned_with and not withheld and self._is_quiet(plan)
        self._withheld = withheld

    def _plan_in_turn(self, snapshot: Snapshot, plan: Plan, now: float) -> tuple[Snapshot, Plan, bool]:
        """Plan again with what the other launchers have added before, if it is this cycle's turn.

        :return: the snapshot and the plan to carry out, and whether something of it must wait for the turn.
        """
        if not self._takeover.turn.take():
            return snapshot, without_shared(plan, snapshot), True
        self._ledger.follow_records(self._nodes.refresh(), self._nodes.records)
        self._requests.refresh()
        snapshot = self._observe(now)
        return snapshot, self._placing.place(snapshot), False

    def _hand_over(self, now: float) -> None:
        """Release the provider that must move to another host, when no create of it waits for an answer."""
        name = self._context.leaving
        if not self._takeover.assignments.may_leave(now, creating=self._launches.in_progress.creating_at(name)):
            return
        actor = self._context.actors[name]
        self._accepted.drop_provider(name)
        self._launches.drop_provider(actor)
        self._deletions.drop_provider(actor)
        self._removals.drop_provider(actor)
        self._sweeps.drop_provider(name)
        self._context.trials.leave(self._context.store, name)
        self._context.store.catch_up()
        self._takeover.hand_over(now)

    @property
    def settled(self) -> bool:
        """True when nothing is in progress and a limit of the configuration or cloud blocks every waiting request."""
        waiting = self._context.account.waiting_for.values()
        return self._quiet and all(reason.is_limit for reason in waiting)

    @property
    def hurries(self) -> bool:
        """True while a request waits, or a launch waits for its create: freed room must be noticed at once."""
        return bool(self._context.account.waiting_for) or self._launches.in_progress.is_any_queued

    @property
    def leads(self) -> bool:
        """True when this cycle reports for the whole tree; only one of the acting cycles does."""
        return self._takeover.leads

    def _is_quiet(self, plan: Plan) -> bool:
        if self._takeover.is_idle:
            return False
        if plan.admit or plan.decline or plan.spare or plan.delete:
            return False
        if self._sweeps.under_way(self._context.now()):
            return False
        return not self._in_flight and not any(actor.reading for actor in self._context.actors.values())

    @property
    def _in_flight(self) -> int:
        deletions = len(self._deletions.node_ids - self._removals.hopeless_nodes())
        return len(self._launches.in_progress) + self._removals.moving + deletions + len(self._accepted)

    def _due(self, now: float) -> float:
        due = min(self._launches.next_due(now), self._removals.next_due(now), self._gates.freezes.next_due(now))
        due = min(due, self._takeover.inherited.next_due(now), self._pending_waits.next_due(now))
        due = min(due, self._takeover.assignments.next_due(now))
        for actor in self._context.actors.values():
            launches = self._launches.in_progress.watched(actor)
            full = self._waits.for_room
            by_quota = full and actor.given_back.tells
            patient = not (full or launches.hurry)
            if not patient:
                actor.view.missing.hurry()
            watched = replace(
                launches,
                deleting_since=self._removals.asked(actor, patient=patient),
                unclear=launches.unclear + self._deletions.unclear(actor),
                hurry=launches.hurry or (full and (actor.given_back.in_doubt or not by_quota)),
                full=full,
            )
            due = min(due, actor.poll(now, watched))
            if by_quota:
                due = min(due, actor.look_for_room(now, self._launches.in_progress.unanswered(actor)))
        return max(0.01, min(due, RETRY) if self._withheld else due)

    # -- the end -------------------------------------------------------------------------------------------------

    def lose(self) -> None:
        """Forget everything, as the session is lost; the cloud and ZooKeeper are read again."""
        self._context.store.give_up()
        self._drop()
        # An interrupted pass may have taken locks that no part of the cycle knows of yet.
        self._context.store.release_locks()

    def abandon(self) -> None:
        """Write nothing at the end, as another tree has replaced the one that the cycle began with."""
        self._abandoned = True

    def close(self) -> None:
        """End the work: wait briefly for creates under way, then release everything."""
        context = self._context
        self._takeover.assignments.withdraw()
        end = context.now() + (0.0 if self._abandoned else END_WAIT)
        try:
            while context.store.state == "connected" and self._launches.in_progress.creating and context.now() < end:
                context.inbox.take(0.2)
            if self._abandoned:
                context.store.give_up()
            context.store.catch_up()
            if not self._abandoned:
                self._takeover.remember(context.now(), every=0.0)
                context.trials.save(context.store, context.now(), every=0.0)
            context.account.end(
                freezes=self._gates.freezes.result(),
                breakers=self._gates.breakers.result(),
                stuck=[*self._removals.stuck(), *self._sweeps.stuck()],
                health={name: actor.health.document(context.now()) for name, actor in context.actors.items()},
            )
        except StoreError:
            # The session was lost at the end; its locks and registrations are gone with it.
            pass
        finally:
            self._drop()
            self._scanner.close()
            self._takeover.close()

    def describe(self) -> list[Line]:
        """Return lines about the work in progress and the threads of the providers. Any thread may call it."""
        context, launches = self._context, self._launches.in_progress.values()
        phases = Counter(ongoing.launch.phase for ongoing in list(launches))
        lines = [
            *context.describe(),
            Line(f"requests: {len(self._accepted)} accepted, {len(context.account.waiting_for)} wait"),
            Line(f"launches: {', '.join(f'{count} {phase}' for phase, count in sorted(phases.items())) or 'none'}"),
            Line(f"removals: {len(self._removals)} of servers, {len(self._deletions)} of nodes"),
        ]
        for actor in list(context.actors.values()):
            lines += actor.describe()
        return lines

    def _drop(self) -> None:
        self._launches.drop()
        self._deletions.drop()
        self._accepted.drop()
        self._pending_waits.drop()
        self._removals.drop()
        self._sweeps.drop()
        self._takeover.lose()
        self._context.trials.drop()

    # -- work ----------------------------------------------------------------------------------------------------

    def _keep_up(self) -> None:
        context, requests, busy = self._context, self._requests, self._busy()
        nodes = [
            node
            for node in self._nodes.free.values()
            if node.provider in context.actors and node.id not in busy and not node.broken
        ]
        records = requests.records.values()
        lost, unwanted = self._takeover.inherited.lost, self._unwanted()
        due = list(due_upkeep(context, nodes, records, requests.unreadable, lost, unwanted))
        self._deletions.start([action for action in due if isinstance(action, DeleteNode)])
        for action in due:
            if isinstance(action, FreeNode):
                self._deletions.free(action)
            elif isinstance(action, DropRequest):
                line = f"request {action.request_id}: removed because {action.reason.text()}"
                context.account.say(Line(line, request=action.request_id))
                context.store.requests.delete(action.request_id)

    def _unwanted(self) -> set[str]:
        """Return the ready nodes of the tree that neither an open request nor min-ready wants."""
        open_ones = [one for one in self._requests.records.values() if one.state == RequestState.REQUESTED]
        wanted = {label for request in open_ones for label in request.node_types}
        return surplus(self._nodes.free.values(), self._ledger.spare, self._context.config.labels, wanted)

    def _observe(self, now: float) -> Snapshot:
        context, launches = self._context, self._launches.in_progress
        if not context.actors:
            return Snapshot()
        others = self._takeover.others(now)
        in_hand = InHand(
            requests=self._accepted,
            tried=self._accepted.tried,
            launching={name: sum(1 for _unused in launches.of(actor)) for name, actor in context.actors.items()},
            busy_nodes=self._busy(),
            zones=launches.zones(),
            queued=launches.queued(),
            on_their_way=launches.on_their_way(),
            needed=launches.needed,
        )
        follow_requests(context, self._requests.free.values())
        given = [node_id for actor in context.actors.values() for node_id in self._given_back(actor)]
        self._ledger.follow((), self._nodes.records, self._removals.stuck_nodes(), launches.to_float(), given)
        demand = demand_of(context, self._ledger, self._requests.free.values(), in_hand, self._open_requests)
        readings = read_clouds(context, self._gates, self._ledger, demand=bool(demand), patient=demand.is_patient)
        free, inherited = self._nodes.free.values(), self._takeover.inherited
        return observe(context, self._gates, self._ledger, free, demand, readings, others, in_hand, inherited)

    def _given_back(self, actor: ProviderActor) -> Collection[str]:
        """Return the nodes whose room the quota shows as free."""
        pending = [
            actor.given_back.known(node_id, asked_at) or Acknowledged(node.id, asked_at, size_of(node))
            for node_id, asked_at in self._removals.acknowledged(actor)
            if (node := self._nodes.records.get(node_id)) is not None and node.state == NodeState.DELETING
        ]
        actor.given_back.follow(pending, doubted=bool(actor.view.missing))
        return actor.given_back.nodes

    def _carry_out(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        context, all_pools = self._context, snapshot.all_pools
        self._accepted.admit(plan.admit)
        for decline in plan.decline:
            self._accepted.decline(decline, all_pools)
        self._deletions.start(plan.delete)
        begun = self._launches.begin([Wanted(spare.pool_id, spare.label, spare.az) for spare in plan.spare])
        for spare, node_id in zip(plan.spare, begun, strict=True):
            if node_id is not None:
                context.account.say(Line(spare.reason.text(), label=spare.label))
        context.account.unmet_spares, context.account.unmet_reasons = unmet_here(plan, snapshot)
        self._takeover.set_paused(self._waits.publish(plan.wait, now))

    def _scanned(self, result: ScanResult) -> None:
        (self._spare_ssh if result.key.startswith(KEY) else self._launches).scanned(result)

    def _busy(self) -> set[str]:
        return self._accepted.node_ids | self._launches.in_progress.keys() | self._deletions.node_ids
