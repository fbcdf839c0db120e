# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world in which cycles die, or lose ZooKeeper, at any point that a test names; and what must hold at its end.

A point is the moment before or after a write to ZooKeeper, before a call of an API, or after a call has taken effect
and before its answer has arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.serialization import GetChildren, GetData

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import NodeState
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import RequestState
from tests.support.memory_zookeeper import MemorySession
from tests.support.virtual_client import VirtualClient
from tests.support.virtual_cloud import VirtualCloud
from tests.support.virtual_time import Killed
from tests.support.world import Cycle, World

CHANGING = ("POST ", "DELETE ")

Strike = Callable[["Victim"], None]


class Victim:
    """A cycle of whose points somebody may choose one.

    :param choose: called at each point with its number and description; what it returns happens there.
    """

    def __init__(self, world: ChaosWorld, cycle: Cycle, choose: Callable[[int, str], Strike | None]) -> None:
        self.world = world
        self.cycle = cycle
        self.points = 0
        self.struck: list[str] = []
        self._choose = choose
        session = cycle.store.session
        session.before = lambda request: self._write("before", request)
        session.after = lambda request: self._write("after", request)

    @property
    def session(self) -> MemorySession:
        """Its ZooKeeper session."""
        return self.cycle.store.session

    def call(self, kind: str, moment: str) -> None:
        """A call of an API."""
        if moment == "before" or kind.startswith(CHANGING):
            self.point(f"{moment} {kind}")

    def point(self, what: str) -> None:
        """Something may happen here."""
        if self.session.killed:
            return
        self.points += 1
        strike = self._choose(self.points, what)
        if strike is not None:
            self.struck.append(what)
            strike(self)

    def _write(self, moment: str, request: Any) -> None:
        if isinstance(request, GetData | GetChildren):
            return
        if moment == "before":
            self.world.check_fence(self.cycle)
        path = getattr(request, "path", "several znodes")
        self.point(f"{moment} {type(request).__name__} {path}")


def kill(victim: Victim, *, at_once: bool = True) -> None:
    """kill -9. *at_once*: its session is closed by somebody on the same host; else it times out."""
    cycle, session = victim.cycle, victim.session
    owner = session.owner
    session.kill()
    cycle._cut()
    if at_once:
        session.keeper.end_session(owner)
    if cycle.world.agenda.current is not cycle.fiber:
        cycle.fiber.kill()
    raise Killed


def lose_session(victim: Victim) -> None:
    """The session expires, and the answer of what is under way is lost with it."""
    if victim.session.state == "connected":
        victim.session.expire(0.2)
        cut_answer(victim.struck[-1])


def swap_session(victim: Victim) -> None:
    """The session expires and a new one is there before the cycle has noticed anything."""
    session = victim.session
    if session.state == "connected":
        session._end()
        session.keeper.end_session(session.owner)
        session._connect_anew()
        if victim.struck[-1].startswith("before"):
            cut_answer(victim.struck[-1])  # what was to be sent in the old session is not sent in the new one


def break_connection(victim: Victim) -> None:
    """The connection breaks for a while; the session lives on."""
    if victim.session.state == "connected":
        victim.session.suspend(1.0)
        cut_answer(victim.struck[-1])


def cut_answer(at: str) -> None:
    """The connection is lost at this point of a cycle: what was sent there is without an answer."""
    if at.startswith(("before POST", "after POST", "before DELETE", "after DELETE", "before GET")):
        return  # a thread of the API: its own connection is well
    raise ConnectionLoss


class ChaosWorld(World):
    """A world whose cycles have points."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.victims: dict[Cycle, Victim] = {}
        self.deleted_in_use: list[str] = []
        self.unfenced: list[str] = []
        self.points = 0
        for name, cloud in self.clouds.items():
            self._guard(name, cloud)

    def hunt(self, choose: Callable[[int, str], Strike | None] = lambda number, what: None) -> Victim:
        """Start a cycle of whose points one may be chosen."""
        cycle = self.start()
        victim = self.victims[cycle] = Victim(self, cycle, choose)
        return victim

    def client(self, provider_of: Provider) -> VirtualClient:
        """A client with points."""
        made = super().client(provider_of)
        victim = next((self.victims[c] for c in self.cycles if c.fiber is self.agenda.current), None)
        if victim is not None:
            _watch_calls(made, victim)
        return made

    def check_fence(self, cycle: Cycle) -> None:
        """Whatever a cycle writes, it writes in the session in which it took its locks."""
        launcher = cycle.launcher
        if launcher is None or self.agenda.current is not cycle.fiber:
            return
        if launcher._generation != cycle.store.generation:
            self.unfenced.append(f"{launcher._generation} {cycle.store.generation}")

    # -- what must hold ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """ZooKeeper and the clouds tell the same story; to be called when all work is done and a cycle is there."""
        assert self.deleted_in_use == []
        assert self.unfenced == []
        known = {(node.provider, node.external_id): node for node in self.nodes()}
        servers = {(name, machine.id) for name, cloud in self.clouds.items() for machine in cloud.ours()}
        assert set(known) == servers, (known, servers)
        assert all(node.state == NodeState.READY for node in known.values()), known
        addresses = [(name, *place) for name, cloud in self.clouds.items() for place in cloud.floating_ips.items()]
        left = [key for name, key, (_address, server_id) in addresses if (name, server_id) not in servers]
        assert left == [], f"floating IPs of nobody: {left}"
        launches = set(self.store.own.children("launches"))
        assert launches == {node.id for node in self.nodes()}
        locked = [node.id for node in self.nodes() if self.store.nodes.is_locked(node.id)]
        assert locked == []
        assert self.store.nodes.empty() == []
        assert self.store.requests.list() == []
        assert self._held == {}

    def calm(self) -> bool:
        """True when nobody waits for anything, and nothing is on its way."""
        if len(self.fulfilled) + len(self.failed()) < len(self.asked) or self._held or self.store.requests.list():
            return False
        if any(machine.deleting for cloud in self.clouds.values() for machine in cloud.ours()):
            return False
        return all(node.state == NodeState.READY and not node.allocated_to for node in self.nodes())

    def failed(self) -> list[str]:
        """Requests that failed; they are taken away as their requestor would do it."""
        return [request.id for request in self.store.requests.list() if request.state == RequestState.FAILED]

    def _guard(self, name: str, cloud: VirtualCloud) -> None:
        delete = cloud.delete

        def guarded(server_id: str) -> None:
            for node_id in self._held:
                node = self.store.nodes.read(node_id)
                theirs = node is not None and (node.provider, node.external_id) == (name, server_id)
                if theirs and node is not None and node.state == NodeState.IN_USE:
                    self.deleted_in_use.append(server_id)
            delete(server_id)

        cloud.delete = guarded  # type: ignore[method-assign]


def _watch_calls(client: VirtualClient, victim: Victim) -> None:
    call = client._call

    def watched(kind: str, effect: Callable[[], Any], *more: Any, **options: Any) -> Any:
        def effective() -> Any:
            result = effect()
            victim.call(kind, "after")
            return result

        if not client.dead:
            victim.call(kind, "before")
        return call(kind, effective, *more, **options)

    client._call = watched  # type: ignore[method-assign]
