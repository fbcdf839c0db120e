# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launches of a cycle: what the machine asks for is done here, what comes back is fed to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ....clients.openstack.quota import quota_resources
from ....clients.ssh import Scanner
from ....clients.ssh.jobs import ScanResult
from ....clients.zookeeper.batch import Batch
from ....clients.zookeeper.locks import Held
from ....launching import machine, record
from ....launching.machine import Failure, Step
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
from ....model.resources import FLOATING_IPS, Resources, total
from ..context.context import Context
from ..context.launch_in_progress import (
    LaunchInProgress,
    failure_of,
    request_values,
    rules_of,
    text_of,
)
from ..context.ledger import size_of
from ..provider.actor import ProviderActor, Watched
from ..removals.removals import Removals
from ..throttling.gates import Gates
from .addressing import Addressing
from .beginning import Wanted, begin
from .building import (
    asked_for,
    built,
    ended,
    on_its_way,
)
from .create_limits import CreateLimits, left_out
from .creates import Creates
from .creating import prepare_create, send_create
from .images import renew_image
from .messages import beginning, readiness
from .reaching import Reaching
from .server_sight import look

MOST_STEPS = 4
"""From the news that a server is up to the last thing that can be done without an answer of somebody."""


class Launches:
    """All launches of a cycle by node id.

    *finished(running, batch)* is called when one is ready or given up, and sends *batch*, which says so.
    """

    def __init__(
        self,
        context: Context,
        removals: Removals,
        gates: Gates,
        scanner: Scanner,
        finished: Callable[[LaunchInProgress, Batch], None],
    ) -> None:
        self._context = context
        self._gates = gates
        self._create_limits = CreateLimits(context, gates)
        self._removals = removals
        self._finished = finished
        self._addressing = Addressing(context)
        self._reaching = Reaching(context, scanner, self._addressing, self._reached, self._unreached)
        self._running: dict[str, LaunchInProgress] = {}
        self._creates = Creates(context, gates, self._create_limits, removals, self._running, self._fail)

    def __contains__(self, node_id: str) -> bool:
        return node_id in self._running

    def __len__(self) -> int:
        return len(self._running)

    def of(self, actor: ProviderActor) -> Iterator[LaunchInProgress]:
        """The launches at one provider."""
        return (running for running in self._running.values() if running.actor is actor)

    @property
    def creating(self) -> bool:
        """True while a create is without an answer."""
        return any(running.launch.phase == Phase.CREATING for running in self._running.values())

    def zones(self) -> dict[tuple[str, str], list[str]]:
        """(provider, pool) → zones of launches whose server is not up yet."""
        zones: dict[tuple[str, str], list[str]] = {}
        for running in self._running.values():
            if running.launch.az is not None and running.node.az is None:
                zones.setdefault((running.launch.provider, running.launch.pool), []).append(running.launch.az)
        return zones

    def on_their_way(self) -> Counter[str]:
        """Provider → servers asked for and not yet ACTIVE."""
        return Counter(running.actor.provider.name for running in self._running.values() if on_its_way(running))

    def queued(self) -> Counter[tuple[str, str]]:
        """(provider, pool) → launches whose create is not sent yet."""
        return Counter(running.key for running in self._running.values() if running.launch.phase == Phase.QUEUED)

    def to_float(self) -> set[str]:
        """Launches that will most likely ask for a floating IP."""
        return {
            node_id
            for node_id, running in self._running.items()
            if running.actor.known.floats(running.pool, running.label)
        }

    # -- beginning -----------------------------------------------------------------------------------------------

    def begin(self, wanted: Sequence[Wanted]) -> list[str | None]:
        """Write the records of new nodes and begin their launches: ids, None for what cannot be launched after all."""
        account, now = self._context.account, self._context.now()
        begun = begin(self._context, wanted)
        for running in begun:
            if running is not None:
                self._running[running.node.id] = running
                account.launched.append(running.node.id)
                account.step(running.node.id, "recorded", now)
                account.say(beginning(running))
        return [running.node.id if running is not None else None for running in begun]

    def adopt(self, node: Node, held: Held, request: NodeRequest | None) -> bool:
        """Go on with a launch that another cycle began; False when its pool or label is gone from the configuration."""
        launch = self._context.launch(node.id, fresh=True)
        actor = self._context.actors.get(node.provider or "")
        pool = actor.provider.pools.get(node.pool or "") if actor else None
        label = pool.labels.get(launch.label) if pool and launch else None
        if launch is None or actor is None or pool is None or label is None:
            return False
        now = self._context.now()
        if launch.phase == Phase.ADDRESSING:
            self._addressing.doubt(launch)
        machine.adopt(launch, now, actor.creates.answers.settle)
        launch.request_id = request.id if request else None
        if node.state == NodeState.INIT:
            node.set_state(NodeState.BUILDING, now)
        self._context.store.nodes.write(node)
        image, values = self._context.config.image_settings(actor.provider, label), request_values(request)
        self._running[node.id] = LaunchInProgress(launch, node, held, actor, pool, label, image, values)
        self._context.account.adopted.append(node.id)
        return True

    def withdraw(self, node_id: str) -> None:
        """Give up a launch that does not get on. A record of which nothing came goes as if it had never been."""
        running = self._running.pop(node_id)
        launch, account = running.launch, self._context.account
        self._reaching.cancel(node_id)
        if launch.phase == Phase.QUEUED and not launch.superseded:
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

    def is_queued(self, node_id: str) -> bool:
        """True for a launch of which nothing can be in the cloud."""
        launch = self._running[node_id].launch
        return launch.phase == Phase.QUEUED and not launch.superseded

    def is_left_out(self, node_id: str) -> bool:
        """True for a launch without a server that may have none: pool or label left the configuration, or no image."""
        running = self._running.get(node_id)
        return running is not None and running.launch.phase == Phase.QUEUED and left_out(running) is not None

    def is_stuck(self, node_id: str, now: float) -> bool:
        """True for a launch that does not get on because its pool is frozen or its provider is not well."""
        running = self._running.get(node_id)
        return running is not None and self._create_limits.is_stuck(running, self._asked, now)

    def orphan(self, node_id: str) -> None:
        """The request of a launch is gone: it goes on and becomes an ordinary ready node."""
        running = self._running[node_id]
        running.launch.request_id = None
        running.node.allocated_to = None
        self._context.store.nodes.write(running.node)

    def scanned(self, result: ScanResult) -> None:
        """The scanner's answer."""
        running = self._running.get(result.key)
        if running is not None and running.launch.phase == Phase.REACHING:
            self._reaching.answered(running, result)

    # -- the way of a launch -------------------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Push every launch on as far as it goes now."""
        for node_id in [key for key, item in self._running.items() if item.launch.request_id is None]:
            if self.is_left_out(node_id):
                self.withdraw(node_id)
        self._creates.look(now)
        prepared: list[tuple[LaunchInProgress, ServerSpec]] = []
        sending: Counter[str] = Counter()
        on_their_way = self.on_their_way()
        for actor in self._context.actors.values():
            actor.creates.in_flight = on_their_way[actor.provider.name]
        creating = Counter(running.key for running in self._running.values() if running.launch.phase == Phase.CREATING)
        at_once: dict[tuple[str, str], float] = {}
        for running in list(self._running.values()):
            if running.busy:
                continue
            step = machine.next_step(running.launch, now)
            if step is Step.CREATE and renew_image(self._context, running, now):
                if running.key not in at_once:
                    at_once[running.key] = self._create_limits.creates_allowed(running)
                lane, name = running.actor.creates, running.actor.provider.name
                room = lane.has_room(sending[name], running.actor.provider.max_concurrency)
                if (
                    room
                    and creating[running.key] < at_once[running.key]
                    and not self._create_limits.held_up(running, self._asked)
                ):
                    creating[running.key] += 1
                    spec = prepare_create(self._context, running, now)
                    if spec is not None:
                        sending[name] += 1
                        asked_for(running, sending[name], now)
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
            if running.busy or running.node.id not in self._running or running.launch.phase == before:
                return
            step = machine.next_step(running.launch, now)
            if step in (Step.WAIT, Step.CREATE):
                return

    def _asked(self, actor: ProviderActor) -> Resources:
        """What the provider's creates that are without an answer will use."""
        return total(
            size_of(running.node)
            for running in self.of(actor)
            if running.launch.phase in (Phase.CREATING, Phase.UNCLEAR)
        )

    def watched(self, actor: ProviderActor) -> Watched:
        """What these launches wait for in the provider's server list."""
        watched = Watched()
        for running in self.of(actor):
            if running.launch.phase == Phase.BOOTING:
                watched.booting_since.append(running.launch.created_at or running.launch.since)
            elif running.launch.phase == Phase.UNCLEAR:
                watched.unclear += 1
            elif running.launch.phase == Phase.CLEARING:
                watched.retrying = True
        return watched

    def next_due(self, now: float) -> float:
        """Seconds until a launch that waits may go on by itself."""
        waits = [
            running.launch.not_before - now
            for running in self._running.values()
            if running.launch.phase in (Phase.QUEUED, Phase.ADDRESSING)
            and not running.busy
            and running.launch.not_before > now
        ]
        return max(0.05, min(waits, default=float("inf")))

    def drop(self) -> None:
        """The session is lost or the cycle ends: forget everything; the next cycle adopts it."""
        for running in self._running.values():
            self._reaching.cancel(running.node.id)
            running.held.release()
        self._running.clear()
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
                self._fail(running, Failure.FAULT, text_of(None, Failure.FAULT), now)
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
            self._finish(running, now)
        elif step is Step.GIVE_UP:
            self._give_up(running, now)

    def _feed(self, running: LaunchInProgress, now: float) -> None:
        """Show the machine the latest listing, once."""
        actor, launch = running.actor, running.launch
        if actor.listed_from <= running.fed:
            return
        server_sight = look(running, now)
        if server_sight is None:
            # It has failed or is missing, and asking why takes its time, too.
            grace = actor.timeouts.call
            self._fail_if_overdue(running, "nova does not tell what became of the server", now, grace)
            return
        server, needs_address = server_sight.server, False
        if server is not None and server.status == "ACTIVE" and running.pool.auto_floating_ip:
            networks = actor.known.networks.want(now)
            if networks is None:
                self._fail_if_overdue(running, "the networks could not be read to find its address", now)
                return
            doubted = self._addressing.doubted(launch)
            needs_address = doubted or self._addressing.needed(actor, server, networks)
        running.fed = actor.listed_from
        if server is not None:
            launch.volume_ids = list(server.volume_ids)
        before = launch.phase
        longest_boot = max(actor.boot_times.samples, default=0.0)
        if launch.mark not in running.pending and machine.is_half_made(launch, server, longest_boot, now):
            text = f"nothing comes of server {launch.server_id}, whose create was never answered"
            self._fail(running, Failure.API, text, now)
            return
        failure = machine.seen(launch, server, actor.listed_from, now, rules_of(running), needs_address)
        if failure is not None:
            if running.node.external_id is None and server is not None:
                running.node.external_id = server.id
            text = text_of(server, failure)
            self._fail(running, failure, text, now, quota_resources(text), size_of(running.node))
        elif launch.phase != before:
            self._advanced(running, server, before, now)

    def _fail_if_overdue(self, running: LaunchInProgress, text: str, now: float, grace: float = 0.0) -> None:
        if now - running.launch.started > running.actor.provider.launch_timeout + grace:
            self._fail(running, Failure.TIMEOUT, text, now)

    def _advanced(self, running: LaunchInProgress, server: Server | None, before: str, now: float) -> None:
        node, launch, batch = running.node, running.launch, self._context.store.batch()
        self._context.save(launch, batch)
        if before == Phase.UNCLEAR:
            node.external_id = launch.server_id
            running.fed = 0.0
            self._context.store.nodes.write(node, batch=batch)
            batch.commit()
            self._feed(running, now)
            return
        self._context.account.step(node.id, "active", now)
        if launch.created_at is not None and server is not None:
            running.actor.boot_times.add_seen(now - launch.created_at, server.boot_seconds)
        built(running, self.of(running.actor), now)
        if launch.phase == Phase.REACHING:
            self._reaching.begin(running, batch)
        else:
            batch.send_later()

    def _addressed(self, running: LaunchInProgress, error: CloudError | None) -> None:
        now = self._context.now()
        running.busy = False
        if not self._still_ours(running):
            return
        if isinstance(error, CloudQuotaRefused):
            self._without_address(running, error, now)
            return
        if error is not None:
            self._fail(running, failure_of(error), f"floating IP: {error}", now)
            return
        if running.launch.floating_address is None:
            return
        machine.addressed(running.launch, running.launch.floating_ip_id or "", running.launch.floating_address, now)
        self._context.save(running.launch)

    def _without_address(self, running: LaunchInProgress, error: CloudQuotaRefused, now: float) -> None:
        """No floating IP is left: the launch waits with its server, no further one is begun."""
        launch = running.launch
        self._context.account.refused += 1
        pool_id, sent_at = self._create_limits.pool_id(running), launch.active_at or launch.started
        self._gates.freezes.refuse(pool_id, running.actor, error.resources or [FLOATING_IPS], str(error), sent_at)
        machine.address_refused(launch, now, self._context.random)
        self._context.account.say(Trouble(f"node {running.node.id}: no floating IP to be had, waiting: {error}"))
        self._context.save(launch)

    def _reached(self, running: LaunchInProgress, host_keys: tuple[str, ...]) -> None:
        now = self._context.now()
        if not self._still_ours(running):
            return
        running.host_keys = host_keys
        machine.reached(running.launch, now)
        self._finish(running, now)

    def _unreached(self, running: LaunchInProgress, text: str) -> None:
        if self._still_ours(running):
            self._fail(running, Failure.UNREACHABLE, text, self._context.now())

    def _cleared(self, running: LaunchInProgress) -> None:
        running.busy = False
        if not self._still_ours(running):
            return
        self._context.add_tombstone(running.node.id, running.launch.provider)
        machine.cleared(running.launch, self._context.now())
        self._context.save(running.launch)
        running.node.external_id = None
        self._context.store.nodes.write(running.node)

    def _fail(
        self,
        running: LaunchInProgress,
        failure: Failure,
        text: str,
        now: float,
        named: Iterable[str] = (),
        failing: Resources | None = None,
    ) -> None:
        """The attempt failed. *named*, *failing*: for a quota, the resources named and what the failed server uses."""
        if failure is Failure.QUOTA:
            self._context.account.refused += 1
            pool_id, sent_at = self._create_limits.pool_id(running), running.launch.started
            self._gates.freezes.refuse(pool_id, running.actor, named, text, sent_at, failing)
        elif failure is Failure.REFUSED:
            running.actor.known.forget_names()
        ended(running, failure, now)
        self._context.account.say(Trouble(f"node {running.node.id}: {failure.value}: {text}"))
        self._context.account.attempt(running.node, failure.value, now - (running.launch.started or now))
        machine.failed(running.launch, failure, text, now, rules_of(running), self._context.random)
        if failure not in machine.DOES_NOT_COUNT:
            self._gates.breakers.failed(running.launch.provider, running.label.image_name, running.flavor, text)
            if running.alone:
                running.launch.az = running.next_zone()
        self._context.save(running.launch)
        if running.launch.phase == Phase.FAILED:
            self._give_up(running, now)

    def _finish(self, running: LaunchInProgress, now: float) -> None:
        self._gates.breakers.succeeded(running.launch.provider, running.label.image_name, running.flavor)
        record.ready(running.node, running.host_keys, now)
        batch = self._context.store.batch()
        self._context.save(running.launch, batch)
        self._context.store.nodes.write(running.node, batch=batch)
        self._leave(running, batch)
        self._context.account.ready.append(running.node.id)
        self._context.account.say(readiness(running, now))
        self._context.account.attempt(running.node, "ready", now - (running.launch.started or now))
        self._context.account.step(running.node.id, "ready", now)

    def _give_up(self, running: LaunchInProgress, now: float) -> None:
        running.node.set_state(NodeState.FAILED, now)
        batch = self._context.store.batch()
        self._context.store.nodes.write(running.node, batch=batch)
        self._context.account.launch_failures[running.node.id] = list(running.launch.failures)
        self._leave(running, batch)

    def _leave(self, running: LaunchInProgress, batch: Batch) -> None:
        del self._running[running.node.id]
        self._finished(running, batch)

    # -- odds and ends -------------------------------------------------------------------------------------------

    def _still_ours(self, running: LaunchInProgress) -> bool:
        """False for an answer that comes after the launch was dropped: whoever has it now acts on it."""
        return self._running.get(running.node.id) is running and running.held.valid
