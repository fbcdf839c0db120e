# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launches of a cycle: what the machine asks for is done here, what comes back is fed to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ....clients.openstack.quota import quota_resources
from ....clients.ssh import Scanner
from ....clients.ssh.jobs import ScanResult
from ....clients.zookeeper.locks import Held
from ....launching import machine
from ....launching.machine import SETTLE_SECONDS, Failure, Step
from ....model.cloud import Server, ServerSpec
from ....model.errors import (
    CloudError,
    CloudQuotaRefused,
)
from ....model.launch import (
    Phase,
    doubted_mark,
)
from ....model.lines import Trouble
from ....model.node import Node, NodeState
from ....model.request import NodeRequest
from ....model.resources import FLOATING_IPS
from ..context.context import Context
from ..context.ledger import size_of
from ..removals.removals import Removals
from ..throttling.gates import Gates
from .addressing import Addressing
from .beginning import Wanted, adopted, begin
from .create_limits import CreateLimits, left_out
from .creates import Creates
from .creating import prepare_create, renew_image, send_create
from .launch_in_progress import (
    Ended,
    LaunchesInProgress,
    LaunchInProgress,
    failure_of,
    text_of,
)
from .outcomes import Outcomes
from .reaching import Reaching

MOST_STEPS = 4
"""Steps of one launch that may follow each other in one pass, from a server that is ACTIVE to a node that is ready."""


class Launches:
    """Carries out the launches of a cycle.

    :ivar in_progress: the launches, by node id.
    """

    def __init__(self, context: Context, removals: Removals, gates: Gates, scanner: Scanner) -> None:
        self._context = context
        self._removals = removals
        self.in_progress = LaunchesInProgress()
        self._create_limits = CreateLimits(context, gates, self.in_progress)
        self._outcomes = Outcomes(context, gates, self.in_progress)
        self._addressing = Addressing(context)
        self._reaching = Reaching(context, scanner, self._addressing, self._outcomes)
        self._creates = Creates(context, gates, removals, self.in_progress, self._outcomes)

    # -- beginning -----------------------------------------------------------------------------------------------

    def begin(self, wanted: Sequence[Wanted]) -> list[str | None]:
        """Write the records of new nodes and begin their launches: ids, None for what cannot be launched after all."""
        account, now = self._context.account, self._context.now()
        begun = begin(self._context, wanted)
        for running in begun:
            if running is not None:
                self.in_progress[running.node.id] = running
                account.launched.append(running.node.id)
                account.step(running.node.id, "recorded", now)
                account.say(running.beginning_text())
        return [running.node.id if running is not None else None for running in begun]

    def adopt(self, node: Node, held: Held, request: NodeRequest | None, ended: Ended | None = None) -> bool:
        """Continue a launch that another cycle began; False when its pool or label is gone from the configuration.

        :param ended: called when the launch is ready or failed, see :class:`LaunchInProgress`.
        """
        running = adopted(self._context, node, held, request, ended)
        if running is None:
            return False
        self.in_progress[node.id] = running
        self._context.account.adopted.append(node.id)
        return True

    def withdraw(self, node_id: str) -> None:
        """Give up a launch that does not get on. A record of which nothing came goes as if it had never been."""
        running = self.in_progress.pop(node_id)
        account = self._context.account
        self._reaching.cancel(node_id)
        if running.is_queued:
            self._context.forget(node_id)
            self._context.store.nodes.delete(node_id)
            account.timings.pop(node_id, None)
            if node_id in account.launched:
                account.launched.remove(node_id)
        else:
            running.node.allocated_to = None
            running.node.set_state(NodeState.ABORTED, self._context.now())
            self._context.store.nodes.write(running.node)
        running.held.release()

    def is_left_out(self, node_id: str) -> bool:
        """True for a launch without a server that may have none: pool or label left the configuration, or no image."""
        running = self.in_progress.get(node_id)
        return running is not None and running.launch.phase == Phase.QUEUED and left_out(running) is not None

    def is_stuck(self, node_id: str, now: float) -> bool:
        """True for a launch that does not get on because its pool is frozen or its provider is not well."""
        running = self.in_progress.get(node_id)
        return running is not None and self._create_limits.is_stuck(running, now)

    def orphan(self, node_id: str) -> None:
        """The request of a launch is gone: it goes on and becomes an ordinary ready node."""
        running = self.in_progress[node_id]
        running.ended = None
        running.launch.request_id = None
        running.node.allocated_to = None
        self._context.store.nodes.write(running.node)

    def scanned(self, result: ScanResult) -> None:
        """The scanner's answer."""
        running = self.in_progress.get(result.key)
        if running is not None:
            self._reaching.answered(running, result)

    # -- the way of a launch -------------------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Push every launch on as far as it goes now."""
        for node_id in [key for key, item in self.in_progress.items() if item.launch.request_id is None]:
            if self.is_left_out(node_id):
                self.withdraw(node_id)
        self._creates.compare_lists(now)
        prepared: list[tuple[LaunchInProgress, ServerSpec]] = []
        sending: Counter[str] = Counter()
        on_their_way = self.in_progress.on_their_way()
        for name, actor in self._context.actors.items():
            actor.creates.in_flight = on_their_way[name]
        creating = Counter(
            running.key for running in self.in_progress.values() if running.launch.phase == Phase.CREATING
        )
        at_once: dict[tuple[str, str], float] = {}
        for running in list(self.in_progress.values()):
            if running.busy:
                continue
            step = machine.next_step(running.launch, now)
            if step is Step.CREATE and renew_image(self._context, running, now):
                if running.key not in at_once:
                    at_once[running.key] = self._create_limits.creates_allowed(running)
                lane, name = running.actor.creates, running.actor.provider.name
                room = lane.has_room(sending[name], running.actor.provider.max_concurrency)
                few = creating[running.key] < at_once[running.key]
                if room and few and not self._create_limits.held_up(running):
                    creating[running.key] += 1
                    spec = prepare_create(self._context, running, now)
                    if spec is not None:
                        sending[name] += 1
                        running.build_begins(sending[name], now)
                        prepared.append((running, spec))
            elif step not in (Step.CREATE, Step.WAIT):
                self._push(step, running, now)
        # One wait for all: nothing is created before it is written down.
        self._context.store.catch_up()
        for running, spec in prepared:
            send_create(self._context, running, spec, self._creates.answered)
        self._addressing.step()

    def _push(self, step: Step, running: LaunchInProgress, now: float) -> None:
        """Do the step, and at once what follows from it: nothing else would wake the cycle for that."""
        for _unused in range(MOST_STEPS):
            before = running.launch.phase
            self._do(step, running, now)
            if running.busy or running.node.id not in self.in_progress or running.launch.phase == before:
                return
            step = machine.next_step(running.launch, now)
            if step in (Step.WAIT, Step.CREATE):
                return

    def drop(self) -> None:
        """The session is lost or the cycle ends: forget everything; the next cycle adopts it."""
        for running in self.in_progress.values():
            self._reaching.cancel(running.node.id)
            running.held.release()
        self.in_progress.clear()
        self._creates.drop()
        self._addressing.drop()

    # -- steps ---------------------------------------------------------------------------------------------------

    def _do(self, step: Step, running: LaunchInProgress, now: float) -> None:
        if step is Step.WATCH:
            self._feed(running, now)
        elif step is Step.ADDRESS:
            running.busy = True
            server = running.actor.servers.get(running.launch.server_id or "")
            if server is None:
                running.busy = False
                self._outcomes.fail(running, Failure.FAULT, text_of(None, Failure.FAULT), now)
                return
            self._addressing.want(running.launch, running.actor, server, lambda error: self._addressed(running, error))
        elif step is Step.SCAN:
            self._reaching.begin(running, self._context.store.batch())
        elif step is Step.CLEAR:
            running.busy = True
            key = running.launch.server_id or running.node.id
            self._removals.start(
                key,
                running.actor,
                running.launch.server_id,
                running.launch.floating_ip_id,
                lambda: self._cleared(running),
                running.node.id,
                doubted_mark(running.launch),
            )
        elif step is Step.FINISH:
            self._outcomes.finish(running, now)
        elif step is Step.GIVE_UP:
            self._outcomes.give_up(running, now)

    def _feed(self, running: LaunchInProgress, now: float) -> None:
        """Show the machine the latest listing, once."""
        actor, launch = running.actor, running.launch
        if actor.listed_from <= running.list_seen:
            return
        is_known, server = _server_of(running, now)
        if not is_known:
            # It has failed or is missing, and asking why takes its time, too.
            grace = actor.timeouts.call
            self._fail_if_overdue(running, "nova does not tell what became of the server", now, grace)
            return
        needs_address = False
        if server is not None and server.status == "ACTIVE" and running.pool.auto_floating_ip:
            networks = actor.known.networks.want(now)
            if networks is None:
                self._fail_if_overdue(running, "the networks could not be read to find its address", now)
                return
            needs_address = launch.floating_doubt or self._addressing.needed(actor, server, networks)
        running.list_seen = actor.listed_from
        if server is not None:
            launch.volume_ids = list(server.volume_ids)
        before = launch.phase
        longest_boot = max(actor.boot_times.samples, default=0.0)
        if launch.mark not in running.pending and machine.is_half_made(launch, server, longest_boot, now):
            text = f"nothing comes of server {launch.server_id}, whose create was never answered"
            self._outcomes.fail(running, Failure.API, text, now)
            return
        failure = machine.seen(launch, server, actor.listed_from, now, running.rules, needs_address)
        if failure is not None:
            if running.node.external_id is None and server is not None:
                running.node.external_id = server.id
            text = text_of(server, failure)
            self._outcomes.fail(running, failure, text, now, quota_resources(text), size_of(running.node))
        elif launch.phase != before:
            self._advanced(running, server, before, now)

    def _fail_if_overdue(self, running: LaunchInProgress, text: str, now: float, grace: float = 0.0) -> None:
        if now - running.launch.started > running.actor.provider.launch_timeout + grace:
            self._outcomes.fail(running, Failure.TIMEOUT, text, now)

    def _advanced(self, running: LaunchInProgress, server: Server | None, before: str, now: float) -> None:
        node, launch, batch = running.node, running.launch, self._context.store.batch()
        self._context.save(launch, batch)
        if before == Phase.UNCLEAR:
            node.external_id = launch.server_id
            running.list_seen = 0.0
            self._context.store.nodes.write(node, batch=batch)
            batch.commit()
            self._feed(running, now)
            return
        self._context.account.step(node.id, "active", now)
        if launch.created_at is not None and server is not None:
            running.actor.boot_times.add_seen(now - launch.created_at, server.boot_seconds)
        running.build_is_active(self.in_progress.of(running.actor), now)
        if launch.phase == Phase.REACHING:
            self._reaching.begin(running, batch)
        else:
            batch.send_later()

    def _addressed(self, running: LaunchInProgress, error: CloudError | None) -> None:
        now = self._context.now()
        running.busy = False
        if not self._outcomes.is_ours(running):
            return
        if isinstance(error, CloudQuotaRefused):
            self._without_address(running, error, now)
            return
        if error is not None:
            self._outcomes.fail(running, failure_of(error), f"floating IP: {error}", now)
            return
        if running.launch.floating_address is None:
            return
        machine.addressed(running.launch, running.launch.floating_ip_id or "", running.launch.floating_address, now)
        self._context.save(running.launch)

    def _without_address(self, running: LaunchInProgress, error: CloudQuotaRefused, now: float) -> None:
        """No floating IP is left: the launch waits with its server, no further one is begun."""
        launch = running.launch
        named, sent_at = error.resources or [FLOATING_IPS], launch.active_at or launch.started
        self._outcomes.quota_refused(running, named, str(error), sent_at)
        machine.address_refused(launch, now, self._context.random)
        self._context.account.say(Trouble(f"node {running.node.id}: no floating IP to be had, waiting: {error}"))
        self._context.save(launch)

    def _cleared(self, running: LaunchInProgress) -> None:
        running.busy = False
        if not self._outcomes.is_ours(running):
            return
        self._context.add_tombstone(running.node.id, running.launch.provider)
        machine.cleared(running.launch, self._context.now())
        self._context.save(running.launch)
        running.node.external_id = None
        self._context.store.nodes.write(running.node)


def _server_of(running: LaunchInProgress, now: float) -> tuple[bool, Server | None]:
    """What the latest list, or nova's answer about the one server, tells of it.

    :return: (False while nova is being asked for more, the server; None when there is none or none yet).
    """
    actor, launch = running.actor, running.launch
    server = actor.servers.get(launch.server_id) if launch.server_id else actor.by_mark().get(launch.mark)
    if launch.phase != Phase.BOOTING:
        return True, server
    if server is None and launch.server_id:
        asked_at = launch.created_at or launch.since
        asking = actor.listed_from - asked_at >= SETTLE_SECONDS and not actor.is_gone(launch.server_id, asked_at, now)
        return not asking, None
    if server is not None and server.status == "ERROR" and not server.fault:
        server = actor.inquiries.with_fault(server, now)
        return server is not None, server
    return True, server
