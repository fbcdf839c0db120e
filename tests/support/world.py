# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole site on virtual time: launcher cycles, ZooKeeper, clouds and requestors in one process.

An hour passes in seconds, and each run of the same test is the same run::

    with World(one_provider(max_servers=10), quota={"east": {"instances": 8}}) as world:
        world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "fulfilled")
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Self
from unittest import mock

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import Stamp
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import ScanJob
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.statsd import Sink
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.locks import Held
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.request_records import Requests
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.cycle_options import DEADLINE
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.tree_identity import site_of
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.account import Account
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.context import Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_options import (
    LauncherOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import launcher_pass
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_cycle import (
    LauncherCycle,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider import actor as provider
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider import (
    auxiliary_lane,
    create_lane,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig, Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node, NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest, RequestState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits
from tests.support.config_texts import parse
from tests.support.memory_zookeeper import Lag, MemoryZooKeeper
from tests.support.virtual_client import Fault, VirtualClient
from tests.support.virtual_cloud import VirtualCloud
from tests.support.virtual_time import Agenda, Fiber, Killed, VirtualInbox, VirtualScanner, VirtualWorkers

IDS = 100_000
"""So many servers a cloud may have made."""


def label(name: str, flavor: str = "small", **more: Any) -> dict[str, Any]:
    """A label of a pool, with the image that every virtual cloud has."""
    return {"name": name, "flavor-name": flavor, "cloud-image": "debian", **more}


def provider_document(name: str, *pools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A provider as nodepool.yaml has it."""
    return {
        "name": name,
        "cloud": name,
        "rate": 0.02,
        "cloud-images": [{"name": "debian"}],
        "pools": list(pools),
        **more,
    }


def site(*providers: dict[str, Any], min_ready: Mapping[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """A configuration; its labels are those that the pools offer."""
    names = sorted({item["name"] for one in providers for pool in one["pools"] for item in pool["labels"]})
    labels = [{"name": name, "min-ready": (min_ready or {}).get(name, 0)} for name in names]
    return {"zookeeper-servers": [{"host": "memory"}], "labels": labels, "providers": list(providers), **more}


def one_provider(name: str = "east", *, max_servers: int | None = None, **more: Any) -> dict[str, Any]:
    """One provider with one pool that offers a small, a medium and a large label."""
    labels = [label("small"), label("medium", "medium"), label("large", "large")]
    pool: dict[str, Any] = {"name": "main", "labels": labels}
    if max_servers is not None:
        pool["max-servers"] = max_servers
    return site(provider_document(name, pool), **more)


class WorldOptions(LauncherOptions):
    """Options of a cycle in a world; the configuration and the clients are the world's."""

    world: World

    def client(self, provider: Provider) -> Any:
        """A client of the provider's virtual cloud."""
        return self.world.client(provider)

    def lasting_client(self, provider: Provider) -> Any:
        """The same: a world has no clouds.yaml that could be kept."""
        return self.world.client(provider)

    def reload(self) -> NodepoolConfig:
        """The world's configuration."""
        if self.world.broken:
            raise ConfigError(self.world.broken)
        return self.world.config

    def stamps(self) -> dict[str, Stamp]:
        """Of nodepool.yaml."""
        return {"nodepool.yaml": (self.world.written, 0, 0)}

    def cloud_stamps(self) -> dict[str, Stamp]:
        """Of clouds.yaml."""
        return {"clouds.yaml": (self.world.clouds_written, 0, 0)}


class Cycle:
    """A launcher cycle that runs in a fiber."""

    def __init__(self, world: World, options: WorldOptions, keeper: MemoryZooKeeper) -> None:
        self.world = world
        self.store = keeper.store()
        self.lines: list[tuple[float, str]] = []
        self.inbox = VirtualInbox(world.agenda)
        self.inbox.starved = lambda: world.starved(world.random)
        account = Account(say=lambda line: self.lines.append((world.agenda.now, line)))
        self.context = Context(
            self.store,
            world.config,
            self.inbox,
            account,
            site_of(self.store, create=True),
            random=world.random.random,
            timeouts=options.timeouts,
            nonce=lambda: f"{world.random.getrandbits(48):012x}",
        )
        self.clients: list[VirtualClient] = []
        self.options = options
        self.passes = 0
        self.launcher: LauncherCycle | None = None
        self.fiber = Fiber(world.agenda, self._run)

    @property
    def account(self) -> Account:
        """What it did so far."""
        return self.context.account

    @property
    def ended(self) -> bool:
        """True when it is over."""
        return self.fiber.ended

    @property
    def result(self) -> dict[str, Any]:
        """The module's result; raises what the cycle raised."""
        if self.fiber.error is not None:
            raise self.fiber.error
        assert self.fiber.ended, "the cycle is still at work"
        return dict(self.fiber.value)

    def kill(self) -> None:
        """kill -9: what has been sent takes effect, nothing else does."""
        self.store.session.kill()
        self._cut()
        self.fiber.kill()

    def _cut(self) -> None:
        self.inbox.closed = True
        for client in self.clients:
            client.dead = True

    def _run(self) -> dict[str, Any]:
        try:
            self.launcher = LauncherCycle(self.options, self.context, self._count, sink=self.world.sink)
            result = self.launcher.run()
        except Killed:
            if not self.store.session.killed:
                self.store.session.kill()
            self._cut()
            return {"ended": "killed"}
        self.store.close()
        return result

    def _count(self, store: Any) -> bool:
        self.passes += 1
        return False


@dataclass
class Habit:
    """A requestor: takes the nodes after *reaction* seconds, uses them for *work* seconds and gives them back."""

    reaction: float = 0.05
    work: Callable[[random.Random], float] = lambda chance: 60.0


class World:
    """Everything there is.

    :param document: nodepool.yaml, or its document.
    :param quota: provider → what its project may use; nothing: without bounds.
    :param lag: seconds after which a change in ZooKeeper is known to other sessions, or what tells them by its kind.
    :param clouds: provider → further arguments of its VirtualCloud.
    :param api_timeout: the option of that name.
    """

    def __init__(
        self,
        document: str | dict[str, Any],
        *,
        quota: Mapping[str, Mapping[str, float]] | None = None,
        clouds: Mapping[str, Mapping[str, Any]] | None = None,
        lag: float | Lag = 0.0,
        seed: int = 1,
        api_timeout: float = 30.0,
    ) -> None:
        self.api_timeout = api_timeout
        self.agenda = Agenda()
        self.random = random.Random(seed)
        self.config = parse(document)
        self.broken: list[str] = []
        self.written = 0
        self.clouds_written = 0
        self.entries: dict[str, str] = {}
        self.keeper = MemoryZooKeeper(self.agenda, lag)
        self.clouds = {
            name: VirtualCloud(
                self.agenda,
                Limits((quota or {}).get(name, {})),
                **{"seed": seed, "first": place * IDS, **(clouds or {}).get(name, {})},
            )
            for place, name in enumerate(self.config.providers)
        }
        self.faults: dict[str, list[Fault]] = {name: [] for name in self.config.providers}
        self.store = self.keeper.store()
        self.cycles: list[Cycle] = []
        self.sink: Sink | None = None
        self.starved: Callable[[random.Random], float] = lambda chance: 0.0
        """Draws the seconds for which a woken cycle gets no processor, as on a busy machine."""
        self.passes = 0.0
        """Seconds after which a node would pass its probe."""
        self.fulfilled: dict[str, float] = {}
        self.asked: dict[str, float] = {}
        self.handed_out: dict[str, str] = {}
        self._habits: dict[str, Habit] = {}
        self._held: dict[str, Held] = {}
        self._seen: dict[str, tuple[int | None, NodeRequest | None]] = {}
        self._failures = 0
        """How many fibers had failed when none of them was a cycle's."""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(mock.patch.object(provider, "WorkerSet", VirtualWorkers))
        self._stack.enter_context(mock.patch.object(create_lane, "WorkerSet", VirtualWorkers))
        self._stack.enter_context(mock.patch.object(auxiliary_lane, "WorkerSet", VirtualWorkers))
        self._stack.enter_context(
            mock.patch.object(
                launcher_pass,
                "Scanner",
                lambda on_result: VirtualScanner(self.agenda, self._scan, on_result, lambda job: self.passes),
            )
        )
        self.store.on_change(self._look)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        for cycle in self.cycles:
            if not cycle.ended:
                cycle.kill()
        self._stack.close()

    # -- cycles --------------------------------------------------------------------------------------------------

    def start(
        self,
        duration: float = 1e9,
        until: str = DEADLINE,
        providers: tuple[str, ...] | None = None,
        host: str | None = None,
        weight: float = 1.0,
        prefers: tuple[str, ...] | None = None,
        brief: bool = False,
        keeper: MemoryZooKeeper | None = None,
        spare_ssh_after: float = 0.0,
    ) -> Cycle:
        """Start a cycle; it runs while the world runs.

        :param host: the cycles of the same host count as one launcher.
        :param keeper: another ZooKeeper: a second tree with the same configuration and the same clouds.
        """
        options = WorldOptions(
            config="nodepool.yaml",
            duration=duration,
            until=until,
            providers=providers,
            state_dir=host,
            weight=weight,
            prefers=prefers,
            brief=brief,
            api_timeout=self.api_timeout,
            spare_ssh_after=spare_ssh_after,
        )
        object.__setattr__(options, "world", self)
        cycle = Cycle(self, options, keeper or self.keeper)
        self.cycles.append(cycle)
        return cycle

    def configure(self, document: str | dict[str, Any]) -> None:
        """Write nodepool.yaml anew; providers and clouds that are new in it come into being."""
        self.config = parse(document)
        self.broken = []
        self.written += 1
        for name in {name for one in self.config.providers.values() for name in (one.name, one.cloud)}:
            if name not in self.clouds:
                self.clouds[name] = VirtualCloud(
                    self.agenda, Limits(), seed=len(self.clouds), first=len(self.clouds) * IDS
                )
                self.faults[name] = []

    def spoil(self, *problems: str) -> None:
        """Write a nodepool.yaml that cannot be used."""
        self.broken = list(problems)
        self.written += 1

    def log_in_by(self, cloud: str, credentials: str) -> None:
        """Write other credentials into clouds.yaml; "" takes the entry out."""
        self.entries[cloud] = credentials
        self.clouds_written += 1

    def client(self, provider_of: Provider) -> VirtualClient:
        """A new client; it belongs to the cycle that asks."""
        cloud, entry = provider_of.cloud, self.entries.get(provider_of.cloud, "first")
        if not entry:
            raise CloudAuthError(f"clouds.yaml has no entry {cloud!r}", provider=provider_of.name)
        made = VirtualClient(provider_of, self.clouds[cloud], self.faults[cloud], entry, self.api_timeout)
        asking = [cycle for cycle in self.cycles if cycle.fiber is self.agenda.current]
        for cycle in asking:
            cycle.clients.append(made)
        return made

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass; ends early, with True, when *until* holds. A cycle that failed fails the test here."""
        done = self.agenda.run(seconds, lambda: until() or self._broken() is not None)
        broken = self._broken()
        if broken is not None:
            raise broken
        return done

    def fault(self, name: str, kind: str = "", **more: Any) -> Fault:
        """Have calls to a provider fail from now on."""
        fault = Fault(kind, **more)
        self.faults[name].append(fault)
        return fault

    # -- requestors ----------------------------------------------------------------------------------------------

    def request(self, *labels: str, priority: int = 100, habit: Habit | None = None, **fields: Any) -> str:
        """Ask for a set of nodes; with a *habit* the nodes are used and given back."""
        request = NodeRequest(node_types=list(labels), requestor="world", created_time=self.agenda.now, **fields)
        request.set_state(RequestState.REQUESTED, self.agenda.now)
        self.store.requests.create(request, priority=priority)
        self.asked[request.id] = self.agenda.now
        if habit is not None:
            self._habits[request.id] = habit
        return request.id

    def look_at(self, request_id: str) -> NodeRequest | None:
        """What a fresh read of a request returns, not to be changed; None when it is gone.

        Tests look after each step of the agenda, so only what has been written since is read anew.
        """
        written = self.keeper.written(f"{Requests.ROOT}/{request_id}")
        seen = self._seen.get(request_id)
        if seen is None or seen[0] != written or not self.store.session.answers:
            seen = self._seen[request_id] = written, self.store.requests.read(request_id)
        return seen[1]

    def state(self, request_id: str) -> str | None:
        """The state of a request; None when it is gone."""
        request = self.look_at(request_id)
        return request.state if request else None

    def nodes(self, *states: str) -> list[Node]:
        """The nodes in these states, or all."""
        return [node for node in self.store.nodes.list() if not states or node.state in states]

    def take(self, request_id: str) -> list[str]:
        """What Zuul does with a fulfilled request: lock the nodes, in-use, delete the request. Returns the node ids."""
        request = self.store.requests.read(request_id)
        assert request is not None and request.state == RequestState.FULFILLED, request
        for node_id in request.nodes:
            node = self.store.nodes.read(node_id)
            assert node is not None and node.state == NodeState.READY, (node_id, node)
            assert node.allocated_to == request_id, (node_id, node.allocated_to)
            assert node_id not in self.handed_out, f"{node_id} was handed out twice"
            self.handed_out[node_id] = request_id
            held = self.store.nodes.lock(node_id)
            assert held is not None, f"{node_id} is locked by somebody else"
            self._held[node_id] = held
            node.set_state(NodeState.IN_USE, self.agenda.now)
            self.store.nodes.write(node)
        self.store.requests.delete(request_id)
        return list(request.nodes)

    def give_back(self, node_ids: list[str]) -> None:
        """Used, and unlocked."""
        self._leave(node_ids, NodeState.USED)

    def keep(self, node_ids: list[str]) -> None:
        """What Zuul does with used nodes that somebody wants to look at: hold, and unlocked."""
        self._leave(node_ids, NodeState.HOLD)

    def _leave(self, node_ids: list[str], state: str) -> None:
        for node_id in node_ids:
            node = self.store.nodes.read(node_id)
            assert node is not None, f"{node_id} vanished while it was in use"
            node.set_state(state, self.agenda.now)
            self.store.nodes.write(node)
            self._held.pop(node_id).release()

    # -- inside --------------------------------------------------------------------------------------------------

    def _broken(self) -> BaseException | None:
        if self.agenda.failures == self._failures:  # asked after each step of the agenda
            return None
        found = next((cycle.fiber.error for cycle in self.cycles if cycle.fiber.error is not None), None)
        if found is None:
            self._failures = self.agenda.failures
        return found

    def _look(self, path: str) -> None:
        request_id = path.rpartition("/")[2]
        if request_id not in self.asked or request_id in self.fulfilled:
            return
        if self.state(request_id) == RequestState.FULFILLED:
            self.fulfilled[request_id] = self.agenda.now
            habit = self._habits.pop(request_id, None)
            if habit is not None:
                self.agenda.after(habit.reaction, lambda: self._use(request_id, habit))

    def _use(self, request_id: str, habit: Habit) -> None:
        taken = self.take(request_id)
        self.agenda.after(habit.work(self.random), lambda: self.give_back(taken))

    def _scan(self, job: ScanJob) -> tuple[float, tuple[str, ...], str | None]:
        for cloud in self.clouds.values():
            machine = cloud.at_address(job.address)
            if machine is not None and machine.fate.reachable:
                at = (machine.active_at or self.agenda.now) + machine.fate.silent
                seconds = cloud.timing.scan + max(0.0, at - self.agenda.now)
                if seconds < job.deadline:
                    return seconds, (machine.host_key,) if job.want_keys else (), None
        return job.deadline, (), f"{job.address}: connection refused"


__all__ = ["Cycle", "Fault", "Habit", "World", "label", "one_provider", "provider_document", "site"]
