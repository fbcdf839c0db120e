# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out the launches of a cycle: does the steps that the state machine asks for, and gives it the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress

from ....clients.ssh import Scanner, ScanResult
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....launching import machine
from ....launching.classifier import (
    Verdict,
    of_broken_create,
    of_error,
    of_fault,
    of_slow_build,
)
from ....launching.create_checks import Unfit
from ....launching.elsewhere import is_left_alone, waits_in_vain, wants_another_place
from ....launching.machine import SETTLE_SECONDS, Failure, Step
from ....launching.narrow import split
from ....model import owner
from ....model.cloud import Server, ServerSpec
from ....model.config.gate_settings import is_gate_label
from ....model.counters import SERVER_ACTIVE
from ....model.errors import CloudError
from ....model.launch import (
    Launch,
    Phase,
    doubted_mark,
)
from ....model.lease import Lease, LeaseError
from ....model.lines import Line, Trouble
from ....model.node import Node, NodeState
from ....model.own_tree import LEASES
from ....model.reasons import Reason
from ....model.request import NodeRequest
from ....model.resources import FLOATING_IPS
from ..context import usage_book
from ..context.context import Context
from ..context.events import follow_node
from ..context.ledger import size_of
from ..provider.actor import ProviderActor
from ..removals.removals import Removals
from .addressing import Addressing, told_refusal
from .beginning import Wanted, adopted, begin
from .create_limits import CreateLimits, left_out
from .creates import Creates
from .creating import prepare_create, renew_facts, renew_image, send_create
from .gates import Gates
from .late_trials import LateTrials
from .launch_in_progress import (
    Ended,
    LaunchesInProgress,
    LaunchInProgress,
    text_of,
)
from .outcomes import Outcomes
from .reaching import Reaching

CLOUD, UNKNOWN = Verdict(owner.CLOUD), Verdict(owner.UNKNOWN)
ADDRESS_PATIENCE = 120.0
"""Seconds that a server waits for its floating IP while neutron is in trouble: another one would do the same."""
MOST_STEPS = 4
"""Largest number of steps of one launch in one pass, for example from an ACTIVE server to a ready node."""


class Launches:
    """Carries out the launches of a cycle.

    :ivar in_progress: the launches, by node id.
    :ivar late: finds those whose requests need not wait for them.
    """

    def __init__(self, context: Context, removals: Removals, gates: Gates, scanner: Scanner) -> None:
        self._context = context
        self._removals = removals
        self.in_progress = LaunchesInProgress()
        context.trials.under_way = self.in_progress.by_build
        context.trials.late = self.in_progress.late_builds
        context.trials.waiting = self.in_progress.waiting
        self.late = LateTrials(context, self.in_progress)
        self._create_limits = CreateLimits(context, gates, self.in_progress)
        self._outcomes = Outcomes(context, gates, self.in_progress)
        self._addressing = Addressing(context)
        self._reaching = Reaching(context, scanner, self._addressing, self._outcomes, self.in_progress)
        self._creates = Creates(context, gates, removals, self.in_progress, self._outcomes)
        self._orphans: set[str] = set()
        """Nodes whose request is gone."""

    # -- beginning -----------------------------------------------------------------------------------------------

    def begin(self, wanted: Sequence[Wanted]) -> list[str | None]:
        """Write the records of new nodes and begin their launches.

        :return: their ids in the order of *wanted*; None for a node that cannot be launched after all.
        """
        account, now = self._context.account, self._context.now()
        begun = begin(self._context, wanted)
        for ongoing in begun:
            if ongoing is not None:
                self.in_progress[ongoing.node.id] = ongoing
                follow_node(self._context, ongoing.node, None)
                account.launched.append(ongoing.node.id)
                account.step(ongoing.node.id, "recorded", now)
                account.say(ongoing.beginning_line())
        self._context.trials.have_begun()
        self._context.events.have_begun()
        return [ongoing.node.id if ongoing is not None else None for ongoing in begun]

    def adopt(self, node: Node, held: Held, request: NodeRequest | None, ended: Ended | None = None) -> bool:
        """Continue a launch that another cycle began; return False if its pool or label has left the configuration.

        :param ended: called when the launch is ready or failed, see :class:`LaunchInProgress`.
        """
        ongoing = adopted(self._context, node, held, request, ended)
        if ongoing is None:
            return False
        self.in_progress[node.id] = ongoing
        if request is None:
            self._orphans.add(node.id)
        self._context.account.adopted.append(node.id)
        return True

    def withdraw(self, node_id: str) -> None:
        """Give up a launch: abort the node, or delete its record if it cannot have a server in the cloud."""
        ongoing = self.in_progress.pop(node_id)
        account = self._context.account
        self._reaching.cancel(node_id)
        if ongoing.is_queued:
            usage_book.forget_launch(self._context, node_id, ongoing.node)
            self._context.store.nodes.delete(node_id)
            account.timings.pop(node_id, None)
            if node_id in account.launched:
                account.launched.remove(node_id)
        else:
            self._outcomes.given_up(ongoing)
            ongoing.node.allocated_to = None
            ongoing.node.set_state(NodeState.ABORTED, self._context.now())
            self._context.store.nodes.write(ongoing.node)
        ongoing.held.release()

    def is_left_out(self, node_id: str) -> bool:
        """Return True for a queued launch whose create must not be sent: its pool, label or image is gone."""
        ongoing = self.in_progress.get(node_id)
        return ongoing is not None and ongoing.launch.phase == Phase.QUEUED and left_out(ongoing) is not None

    def is_stuck(self, node_id: str, now: float) -> bool:
        """Return True for a launch that makes no progress as its pool is frozen or its provider is in trouble."""
        ongoing = self.in_progress.get(node_id)
        return ongoing is not None and self._create_limits.is_stuck(ongoing, now)

    def hindrance(self, node_id: str, now: float) -> Reason | None:
        """Return why a launch makes no progress now; None if it does, or is over."""
        ongoing = self.in_progress.get(node_id)
        return None if ongoing is None else self._create_limits.hindrance(ongoing, now)

    def wants_another_place(self, node_id: str) -> bool:
        """Return True for a launch that has failed so often that another pool should try it."""
        ongoing = self.in_progress.get(node_id)
        if ongoing is None or wants_another_place(ongoing.launch):
            return ongoing is not None
        if is_left_alone(ongoing.launch):
            return True
        return waits_in_vain(ongoing.launch) and self._create_limits.narrow(ongoing) is not None

    def orphan(self, node_id: str) -> None:
        """Continue a launch whose request is gone: it becomes an ordinary ready node, unless its lease has ended."""
        ongoing = self.in_progress[node_id]
        self._orphans.add(node_id)
        ongoing.ended = None
        ongoing.launch.request_id = None
        ongoing.node.allocated_to = None
        self._context.store.nodes.write(ongoing.node)

    def abandon(self, node_id: str) -> None:
        """Continue a launch whose request gets another node; it is not tried again."""
        self.in_progress[node_id].abandoned = True
        self.orphan(node_id)

    def scanned(self, result: ScanResult) -> None:
        """Handle the scanner's answer."""
        ongoing = self.in_progress.get(result.key)
        if ongoing is not None:
            self._reaching.answered(ongoing, result)

    def next_due(self, now: float) -> float:
        """Return the seconds until the first waiting launch may go on."""
        return min(self.in_progress.next_due(now), self._reaching.next_due(now), self.late.next_due(now))

    # -- the way of a launch -------------------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Advance every launch as far as possible."""
        self._withdraw_unwanted()
        context = self._context
        self._creates.compare_lists(now)
        self._reaching.step(now)
        prepared: list[tuple[LaunchInProgress, ServerSpec]] = []
        sending: Counter[str] = Counter()
        on_their_way = self.in_progress.on_their_way()
        for name, actor in self._context.actors.items():
            actor.creates.in_flight = on_their_way[name]
        creating = Counter(
            ongoing.key for ongoing in self.in_progress.values() if ongoing.launch.phase == Phase.CREATING
        )
        at_once: dict[tuple[str, str], float] = {}
        for ongoing in list(self.in_progress.values()):
            if ongoing.busy:
                continue
            step = machine.next_step(ongoing.launch, now)
            if step is Step.CREATE and renew_image(self._context, ongoing, now) and renew_facts(context, ongoing, now):
                if ongoing.key not in at_once:
                    at_once[ongoing.key] = self._create_limits.creates_allowed(ongoing)
                lane, name = ongoing.actor.creates, ongoing.actor.provider.name
                room = lane.has_room(sending[name], ongoing.actor.provider.max_concurrency)
                few = creating[ongoing.key] < at_once[ongoing.key]
                stays = name != context.leaving
                limits, free = self._create_limits, room and few and stays
                if free and not limits.held_up(ongoing) and not limits.is_deferred(ongoing):
                    creating[ongoing.key] += 1
                    limits.begin_trial(ongoing)
                    spec = prepare_create(self._context, ongoing, now)
                    if isinstance(spec, Unfit):
                        verdict = Verdict(spec.owner, wrong=spec.field)
                        self._outcomes.fail(ongoing, Failure.REFUSED, spec.text, now, verdict)
                    elif spec is not None:
                        sending[name] += 1
                        ongoing.build_begins(sending[name], now)
                        prepared.append((ongoing, spec))
            elif step not in (Step.CREATE, Step.WAIT) and (step is not Step.WATCH or ongoing.has_news):
                self._push(step, ongoing, now)
        # Wait once for all records: no create is sent before its record is stored.
        self._context.store.catch_up()
        for ongoing, spec in prepared:
            send_create(self._context, ongoing, spec, self._creates.answered)
        self._addressing.step()

    def _withdraw_unwanted(self) -> None:
        """Give up the launches without a request whose pool, label, image or lease is gone, or whose guest was late."""
        free = {key for key, item in self.in_progress.items() if item.launch.request_id is None}
        self._orphans &= free
        released = _released_nodes(self._context.store) if self._orphans else set()
        for node_id in free:
            ongoing = self.in_progress[node_id]
            over = ongoing.abandoned and ongoing.is_queued
            if over or self.is_left_out(node_id) or node_id in self._orphans & released:
                self.withdraw(node_id)

    def _push(self, step: Step, ongoing: LaunchInProgress, now: float) -> None:
        """Do the step and the steps that follow from it: no event would wake the cycle for those."""
        for _unused in range(MOST_STEPS):
            before = ongoing.launch.phase
            self._do(step, ongoing, now)
            if ongoing.busy or ongoing.node.id not in self.in_progress or ongoing.launch.phase == before:
                return
            step = machine.next_step(ongoing.launch, now)
            if step in (Step.WAIT, Step.CREATE):
                return

    def drop_provider(self, actor: ProviderActor) -> None:
        """Forget the launches at a provider that moves to another host, which adopts them."""
        for ongoing in list(self.in_progress.of(actor)):
            self._reaching.cancel(ongoing.node.id)
            ongoing.held.release()
            del self.in_progress[ongoing.node.id]
        self._addressing.drop_provider(actor.provider.name)
        self._creates.drop_provider(actor.provider.name)

    def drop(self) -> None:
        """Forget all launches, as the session is lost or the cycle ends; they are adopted later."""
        for ongoing in self.in_progress.values():
            self._reaching.cancel(ongoing.node.id)
            ongoing.held.release()
        self.in_progress.clear()
        self._creates.drop()
        self._addressing.drop()

    # -- steps ---------------------------------------------------------------------------------------------------

    def _do(self, step: Step, ongoing: LaunchInProgress, now: float) -> None:
        if step is Step.WATCH:
            self._feed(ongoing, now)
        elif step is Step.ADDRESS:
            if not self._create_limits.may_float(ongoing):
                return
            ongoing.busy = True
            server = ongoing.actor.view.servers.get(ongoing.launch.server_id or "")
            if server is None:
                ongoing.busy = False
                self._outcomes.fail(ongoing, Failure.FAULT, text_of(None, Failure.FAULT), now, UNKNOWN)
                return
            self._addressing.want(
                ongoing.launch, ongoing.actor, server, lambda error: self._addressed(ongoing, error, now)
            )
        elif step is Step.SCAN:
            self._reaching.begin(ongoing, self._context.store.batch())
        elif step is Step.CLEAR and ongoing.leaves_zone and self._create_limits.has_room_for_both(ongoing):
            key, ongoing.launch.not_before = ongoing.launch.server_id or "", now
            self._removals.start(key, ongoing.actor, key, None, self._context.inbox.nudge, ongoing.node.id)
            self._begin_again(ongoing, machine.left_behind, now)
        elif step is Step.CLEAR:
            ongoing.busy = True
            key = ongoing.launch.server_id or ongoing.node.id
            self._removals.start(
                key,
                ongoing.actor,
                ongoing.launch.server_id,
                ongoing.launch.floating_ip_id,
                lambda: self._cleared(ongoing),
                ongoing.node.id,
                doubted_mark(ongoing.launch),
                lambda: self._left_behind(ongoing),
            )
        elif step is Step.FINISH:
            self._outcomes.finish(ongoing, now)
        elif step is Step.GIVE_UP:
            self._outcomes.give_up(ongoing, now)

    def _feed(self, ongoing: LaunchInProgress, now: float) -> None:
        """Give the latest server list to the state machine, once."""
        actor, launch = ongoing.actor, ongoing.launch
        if not ongoing.has_news:
            return
        is_known, server = _server_of(ongoing, now)
        if not is_known:
            # The server has failed or is missing. The call that asks nova for the reason takes time, too.
            grace = actor.timeouts.call
            self._fail_if_overdue(ongoing, "nova does not report the state of the server", now, grace)
            return
        needs_address = False
        if server is not None and server.status == "ACTIVE" and ongoing.pool.auto_floating_ip:
            networks = actor.known.networks.want(now)
            if networks is None:
                self._fail_if_overdue(ongoing, "the networks could not be read to find its address", now)
                return
            needs_address = launch.floating_doubt or self._addressing.needed(actor, server, networks)
        ongoing.list_seen = actor.view.listed_from
        if server is not None:
            if launch.phase == Phase.BOOTING and ongoing.awaits_address(server, now):
                return
            launch.volume_ids = list(server.volume_ids)
            if server.host_id and not ongoing.has_host and server.status == "BUILD":
                self._outcomes.placed(ongoing, active=False)
        if launch.phase == Phase.UNCLEAR:
            # The cloud may have become slow only then.
            launch.look_until = max(launch.look_until, launch.since + actor.creates.settle)
        before, first = launch.phase, launch.active_at is None
        longest_boot = max(actor.experience.boot_times.samples, default=0.0)
        if launch.mark not in ongoing.pending and machine.is_half_made(launch, server, longest_boot, now):
            text = f"server {launch.server_id} never started to build, and its create was never answered"
            self._outcomes.fail(ongoing, Failure.API, text, now, CLOUD)
            return
        failure = machine.seen(launch, server, actor.view.listed_from, now, ongoing.rules, needs_address)
        if failure is not None:
            if ongoing.node.external_id is None and server is not None:
                ongoing.node.external_id = server.id
            text = text_of(server, failure)
            verdict = self._verdict(ongoing, failure, server, now)
            if failure is Failure.API:
                failure, text = machine.failure_of(verdict, fault=False), launch.trouble if ongoing.broken else text
            self._outcomes.fail(ongoing, failure, text, now, verdict, size_of(ongoing.node))
        elif launch.phase != before:
            self._advanced(ongoing, server, before, now, first=first)

    def _fail_if_overdue(self, ongoing: LaunchInProgress, text: str, now: float, grace: float = 0.0) -> None:
        if now - ongoing.launch.started > ongoing.rules.launch_timeout + grace:
            self._outcomes.fail(ongoing, Failure.TIMEOUT, text, now, CLOUD)

    def _verdict(self, ongoing: LaunchInProgress, failure: Failure, server: Server | None, now: float) -> Verdict:
        """Return whose fault it is that the launch's server did not become usable."""
        if failure is Failure.API:
            return of_broken_create(self._outcomes.seen_by(ongoing, now)) if ongoing.broken else CLOUD
        if failure is Failure.TIMEOUT:
            return of_slow_build(self._outcomes.seen_by(ongoing, now))
        fault, code = (server.fault, server.fault_code) if server is not None else (None, None)
        return of_fault(fault or "", code, self._outcomes.seen_by(ongoing, now))

    def _advanced(
        self, ongoing: LaunchInProgress, server: Server | None, before: str, now: float, *, first: bool
    ) -> None:
        """Store that the server was found (*before*: its create was unclear) or is ACTIVE.

        :param first: True if no cycle has seen the server ACTIVE before.
        """
        node, launch, batch = ongoing.node, ongoing.launch, self._context.store.batch()
        self._context.save(launch, batch)
        if before == Phase.UNCLEAR:
            ongoing.actor.health.made_without_answer(now)
            node.external_id = launch.server_id
            ongoing.list_seen = 0.0
            self._context.store.nodes.write(node, batch=batch)
            batch.commit()
            self._feed(ongoing, now)
            return
        self._context.account.step(node.id, "active", now)
        if first and launch.asked_at:
            cycle_counts = self._context.account.cycle_counts
            cycle_counts.counters.observe(SERVER_ACTIVE, *ongoing.key, seconds=now - launch.asked_at)
        boots, told = ongoing.actor.experience.boot_times, server.boot_seconds if server is not None else None
        # What is looked for late is seen late: of a gate's servers counts what the cloud tells.
        counts = told is not None or not boots.samples or not is_gate_label(launch.label)
        if launch.created_at is not None and server is not None and counts:
            boots.add_seen(now - launch.created_at, told)
        self._outcomes.placed(ongoing, active=True)
        ongoing.build_is_active(self.in_progress.late(ongoing.actor, now), now)
        if launch.phase == Phase.REACHING:
            self._reaching.begin(ongoing, batch)
        else:
            batch.send_later()

    def _addressed(self, ongoing: LaunchInProgress, error: CloudError | None, asked_at: float) -> None:
        now = self._context.now()
        ongoing.busy = False
        if not self._outcomes.is_ours(ongoing):
            return
        if error is not None:
            verdict = of_error(error, self._outcomes.seen_by(ongoing, now))
            if verdict.owner == owner.CAPACITY or FLOATING_IPS in verdict.resources:
                self._without_address(ongoing, told_refusal(error, verdict.owner), verdict, now, asked_at)
                return
            text = f"floating IP: {error}"
            if verdict.owner == owner.CLOUD and now - ongoing.launch.since < ADDRESS_PATIENCE:
                machine.address_refused(ongoing.launch, text, now, self._context.random, verdict.owner)
                line = f"node {ongoing.node.id}: waiting for its floating IP: {error} [owner: {verdict.owner}]"
                self._context.account.say(Trouble(line, **ongoing.subject))
                self._context.save(ongoing.launch)
                return
            self._outcomes.fail(ongoing, machine.failure_of(verdict, fault=False), text, now, verdict)
            return
        if ongoing.launch.floating_address is None:
            return
        machine.addressed(ongoing.launch, ongoing.launch.floating_ip_id or "", ongoing.launch.floating_address, now)
        self._context.save(ongoing.launch)

    def _without_address(
        self, ongoing: LaunchInProgress, text: str, verdict: Verdict, now: float, asked_at: float
    ) -> None:
        """Make a launch wait with its server because no floating IP is left; freeze the pool for floating IPs."""
        launch = ongoing.launch
        counted, _unused = split(verdict.resources)
        whose = verdict.owner
        self._outcomes.quota_refused(ongoing, counted or [FLOATING_IPS], text, asked_at, whose=whose)
        machine.address_refused(launch, text, now, self._context.random, whose)
        line = f"node {ongoing.node.id}: no floating IP is available, waiting: {text}"
        self._context.account.say(Trouble(line, **ongoing.subject))
        self._context.save(launch)

    def _left_behind(self, ongoing: LaunchInProgress) -> None:
        """Go on to the next attempt although the server of the last one still exists."""
        line = f"node {ongoing.node.id}: continues without waiting for the end of server {ongoing.launch.server_id}"
        self._cleared(ongoing, machine.left_behind)
        self._context.account.say(Line(line, **ongoing.subject))

    def _cleared(self, ongoing: LaunchInProgress, cleared: Callable[[Launch, float], None] = machine.cleared) -> None:
        ongoing.busy = False
        if self._outcomes.is_ours(ongoing):
            self._begin_again(ongoing, cleared, self._context.now())

    def _begin_again(self, ongoing: LaunchInProgress, cleared: Callable[[Launch, float], None], now: float) -> None:
        self._context.add_tombstone(ongoing.node.id, ongoing.launch.provider)
        cleared(ongoing.launch, now)
        self._context.save(ongoing.launch)
        ongoing.node.external_id = None
        self._context.store.nodes.write(ongoing.node)


def _server_of(ongoing: LaunchInProgress, now: float) -> tuple[bool, Server | None]:
    """Return the launch's server by the latest list, or by nova's answer about this server.

    :return: (False while nova is still being asked about it, the server or None if it does not exist or not yet).
    """
    actor, launch = ongoing.actor, ongoing.launch
    server = actor.view.servers.get(launch.server_id) if launch.server_id else actor.view.by_mark().get(launch.mark)
    if launch.phase != Phase.BOOTING:
        return True, server
    if server is None and launch.server_id:
        asked_at = launch.created_at or launch.since
        settled = actor.view.listed_from - asked_at >= SETTLE_SECONDS
        asking = settled and not actor.view.is_gone(launch.server_id, asked_at, now)
        return not asking, None
    if server is not None and server.status == "ERROR" and not server.fault:
        server = actor.view.inquiries.with_fault(server, now)
        return server is not None, server
    return server is None or server.is_told, server


def _released_nodes(store: Store) -> set[str]:
    """Return the nodes that leases which are being released wait for: nobody wants them any more."""
    found: set[str] = set()
    for key in store.own.children(LEASES):
        with suppress(LeaseError):  # only its own run tells of it
            found.update(Lease.from_document(store.own.get(f"{LEASES}/{key}") or {}).leaving)
    return found
