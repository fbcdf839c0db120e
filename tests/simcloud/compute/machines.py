# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of servers: building, active, error, deleted, and what each step does to quota, ports and volumes."""

from __future__ import annotations

import fnmatch
import random
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from tests.simcloud.answers import Refusal, nova_error
from tests.simcloud.compute import placement, quota
from tests.simcloud.compute.server import Server, Wish
from tests.simcloud.config import UNLIMITED, FlavorConfig, ServerGroupConfig, Settings
from tests.simcloud.faults import Rule
from tests.simcloud.network.state import NetworkState
from tests.simcloud.timing import Scheduler, iso
from tests.simcloud.volume import VolumeState

REMEMBERED_DELETED = 20_000
NO_HOST = "No valid host was found. "
NO_NETWORK = "Failed to allocate the network(s), not rescheduling."
NO_ADDRESS = (
    "Failed to allocate the network(s) with error No fixed IP addresses available for network: {network}, not"
    " rescheduling."
)
OUTSIDER = "0123456789abcdef0123456789abcdef"


class Machines:
    """All servers of one cloud.

    :param listener: told ``(event, server)``; events are ``created``, ``active``, ``ending`` and ``gone``.
    """

    def __init__(
        self,
        settings: Settings,
        network: NetworkState,
        volumes: VolumeState,
        scheduler: Scheduler,
        source: random.Random,
        owner: tuple[str, str],
        groups: Sequence[ServerGroupConfig] = (),
        listener: Callable[[str, Server], None] = lambda event, server: None,
    ) -> None:
        self.servers: dict[str, Server] = {}
        self.deleted: OrderedDict[str, Server] = OrderedDict()
        self.usage = quota.Usage()
        self._settings = settings
        self._network = network
        self._volumes = volumes
        self._scheduler = scheduler
        self._source = source
        self._user_id, self._project_id = owner
        self.groups = {group.id: group for group in groups}
        self.listener = listener
        self._turn = 0

    @property
    def cells_down(self) -> bool:
        """Whether no cell answers."""
        return self._settings.cells_down

    def create(self, wish: Wish, minimum: int, maximum: int, effects: Sequence[Rule]) -> list[Server]:
        """Accept or refuse servers as nova's API does: by what is counted now, without reserving anything.

        :raises Refusal: over quota.
        """
        self._check_name(wish.name)
        ports = sum(1 for kind, _ident in wish.networks if kind == "network")
        while ports and maximum >= minimum and not self._network.room_for_ports(ports * maximum):
            maximum -= 1
        if maximum < minimum:
            raise nova_error(403, "Maximum number of ports exceeded")
        number = self._allowed(wish.flavor, minimum, maximum)
        group, most = placement.group_of(wish.hints), self._settings.quota["server_group_members"]
        if group and most != UNLIMITED and len(self.members(group)) + number > most:
            raise nova_error(403, "Quota exceeded, too many servers in group")
        return [self._accept(_numbered(wish, index, number), effects) for index in range(number)]

    @property
    def project_id(self) -> str:
        return self._project_id

    def members(self, group: str) -> list[str]:
        """Return the ids of the servers of a group, those in ERROR included."""
        return [server.id for server in self.servers.values() if placement.group_of(server.wish.hints) == group]

    def _find_host(self, server: Server) -> str:
        """Return a host of the zone that passes the filters; "" when there is none."""
        zone = [f"{server.az}-host{number + 1}" for number in range(self._settings.hosts)]
        group = placement.group_of(server.wish.hints)
        policy = self.groups[group].policy if group else ""
        placed = {other.id: other.host for other in self.servers.values() if other.host} if server.wish.hints else {}
        left = placement.hosts_left(zone, server.wish.hints, policy, self.members(group) if group else (), placed)
        return left[self._source.randrange(len(left))] if left else ""

    def _check_name(self, name: str) -> None:
        """nova compares the names in lower case, those of servers in ERROR or being deleted included."""
        if self._settings.unique_names and any(
            server.wish.name.lower() == name.lower() for server in self.servers.values()
        ):
            raise nova_error(409, f"Instance {name.lower()} already exists.")

    def _allowed(self, flavor: FlavorConfig, minimum: int, maximum: int) -> int:
        for number in range(maximum, minimum - 1, -1):
            wanted = _wanted(flavor, number)
            if not quota.over(self._settings.quota, self.usage, wanted):
                return number
        wanted = _wanted(flavor, maximum)
        overs = quota.over(self._settings.quota, self.usage, wanted)
        raise nova_error(403, quota.refusal(self._settings.quota, self.usage, wanted, overs))

    def _accept(self, wish: Wish, effects: Sequence[Rule]) -> Server:
        now = self._scheduler.now()
        server = Server(
            id=str(uuid.uuid4()),
            wish=wish,
            user_id=self._user_id,
            project_id=self._project_id,
            created=now,
            updated=now,
            az=wish.az or self._pick_az(),
        )
        faults = {rule.fault: rule for rule in effects}
        server.stuck = "stuck_build" in faults
        server.no_address = "no_address" in faults
        server.unreachable = "unreachable" in faults
        server.ghost_of = str(faults["ghost"].options.get("of", "*")) if "ghost" in faults else ""
        self.servers[server.id] = server
        self.listener("created", server)
        boot = self._settings.boot.draw(self._source)
        race = min(self._settings.quota_race, boot)
        self._scheduler.later(race, lambda: self._record(server, boot - race, faults))
        return server

    def _pick_az(self) -> str:
        self._turn += 1
        zones = self._settings.azs
        return zones[self._turn % len(zones)] if zones else "nova"

    def _record(self, server: Server, rest: float, faults: dict[str, Rule]) -> None:
        """The conductor writes the server down; only now does it count, and only now is the quota asked again."""
        if server.gone or server.deleting:
            return
        flavor = server.wish.flavor
        self._count(server)
        overs = quota.over(self._settings.quota, self.usage, quota.Usage())
        if "error_quota" in faults or overs:
            server.placed = True
            overs = overs or list(faults["error_quota"].options.get("resources") or ["instances"])
            self._fail(server, 413, quota.late_refusal(self._settings.quota, _wanted(flavor, 1), overs))
            return
        if "error" in faults:
            options = faults["error"].options
            message, code = str(options.get("message", NO_HOST)), int(options.get("code", 500))
            delay = float(options.get("seconds", 0.5))
            self._scheduler.later(delay, lambda: self._fail(server, code, message))
            return
        host = self._find_host(server)
        if not host:
            self._fail(server, 500, NO_HOST)
            return
        problem = self._equip(server)
        if problem is not None:
            self._strip(server)
            self._fail(server, 500, problem)
            return
        server.host = host
        server.placed = True
        server.task_state = "spawning"
        server.networked = True
        server.touch(self._scheduler.now())
        if not server.stuck and self._settings.plane is not None:
            self._settings.plane.begin(self._scheduler.now, self._scheduler.later, lambda: self._activate(server))
        elif not server.stuck:
            self._scheduler.later(rest, lambda: self._activate(server))

    def _count(self, server: Server) -> None:
        if not server.counted:
            server.counted = True
            self.usage.add(server.wish.flavor.vcpus, server.wish.flavor.ram)

    def _equip(self, server: Server) -> str | None:
        """Make ports and volumes; return the fault when something is short."""
        for kind, ident in server.wish.networks:
            problem = self._plug(server, kind, ident)
            if problem is not None:
                return f"Build of instance {server.id} aborted: {problem}"
        for size, terminate in server.wish.volumes:
            problem = self._volumes.refusal(size)
            if problem is not None:
                return f"Build of instance {server.id} aborted: {problem}"
            server.volumes.append(self._volumes.create(size, server_id=server.id, terminate=terminate))
        return None

    def _plug(self, server: Server, kind: str, ident: str) -> str | None:
        """Give a server one port; return what went wrong."""
        owner = f"compute:{server.az}"
        if kind == "port":
            port = self._network.ports.get(ident)
            if port is None or port["device_id"]:
                return f"Port {ident} not usable for instance {server.id}."
            self._network.set_device(port, server.id, owner)
            return None
        network = self._network.networks[ident]
        if network.external and not network.shared:
            return NO_NETWORK
        try:
            fields = {"device_id": server.id, "device_owner": owner}
            self._network.create_port(ident, fields, beside=self._haunted_port(server, ident))
        except Refusal as refusal:
            kind = refusal.answer.body["NeutronError"]["type"]
            if kind == "IpAddressGenerationFailure":
                return NO_ADDRESS.format(network=ident)
            return "Maximum number of ports exceeded" if kind == "OverQuota" else NO_NETWORK
        return None

    def _haunted_port(self, ghost: Server, network_id: str) -> dict[str, Any] | None:
        """Return the port of the server at whose address a ghost appears, in the same network."""
        for server in self.servers.values() if ghost.ghost_of else ():
            if server is not ghost and fnmatch.fnmatchcase(server.wish.name, ghost.ghost_of):
                ports = self._network.server_ports(server.id)
                return next((port for port in ports if port["network_id"] == network_id), None)
        return None

    def stop(self, name: str) -> int:
        """Stop the active servers with such a name, as a hypervisor that is switched off does; return their number."""
        active = [server for server in self.servers.values() if server.status == "ACTIVE" and not server.deleting]
        chosen = [server for server in active if fnmatch.fnmatchcase(server.wish.name, name)]
        for server in chosen:
            server.status, server.vm_state, server.power_state = "SHUTOFF", "stopped", 4
            server.touch(self._scheduler.now())
            self.listener("ending", server)
        return len(chosen)

    def _strip(self, server: Server) -> None:
        """Take ports and volumes from a server; what the user brought along stays."""
        for port in self._network.server_ports(server.id):
            if ("port", port["id"]) in server.wish.networks:
                self._network.set_device(port, "", "")
            else:
                self._network.delete_port(port)
        for ident, (_size, terminate) in zip(server.volumes, server.wish.volumes, strict=False):
            self._volumes.release(ident, delete=terminate)
        server.volumes = []

    def _activate(self, server: Server) -> None:
        if server.status != "BUILD" or server.deleting:
            return
        now = self._scheduler.now()
        server.status, server.vm_state, server.task_state = "ACTIVE", "active", None
        server.power_state = 1
        server.launched = now
        self._network.activate_ports(server.id)
        server.touch(now)
        self.listener("active", server)

    def end_boots(self) -> int:
        """Servers that still boot are active from now on, however long they should take; how many these were."""
        booting = [server for server in self.servers.values() if server.task_state == "spawning" and not server.stuck]
        for server in booting:
            self._activate(server)
        return len(booting)

    def _fail(self, server: Server, code: int, message: str) -> None:
        if server.status != "BUILD" or server.deleting:
            return
        now = self._scheduler.now()
        server.status, server.vm_state, server.task_state = "ERROR", "error", None
        server.fault = {"code": code, "created": iso(now), "message": message}
        server.touch(now)

    def delete(self, server: Server, effects: Sequence[Rule] = ()) -> None:
        """Begin to delete a server; it counts until it is gone.

        :raises Refusal: when it is locked.
        """
        if server.locked:
            raise nova_error(409, f"Instance {server.id} is locked")
        if server.deleting or server.gone or any(rule.fault == "lost_delete" for rule in effects):
            return
        server.task_state = "deleting"
        server.touch(self._scheduler.now())
        self.listener("ending", server)
        self._scheduler.later(self._settings.delete.draw(self._source), lambda: self._end(server))

    def _end(self, server: Server) -> None:
        """nova-compute saves the state DELETED, clears up with placement, and only then has the record go."""
        if server.destroyed or server.gone:
            return
        self._strip(server)
        now = self._scheduler.now()
        server.status, server.vm_state, server.task_state = "DELETED", "deleted", None
        server.power_state = 0
        server.terminated = now
        server.touch(now)
        shown = self._settings.shown_deleted.draw(self._source)
        if shown > 0:
            self._scheduler.later(shown, lambda: self._destroy(server))
        else:
            self._destroy(server)

    def _remove(self, server: Server) -> None:
        """At once, and without a trace in the plain listing."""
        self._end(server)
        self._destroy(server)

    def _destroy(self, server: Server) -> None:
        if server.destroyed:
            return
        if server.counted:
            self.usage.add(server.wish.flavor.vcpus, server.wish.flavor.ram, -1)
        server.destroyed = True
        # nova leaves ``updated`` as it is.
        server.views.clear()
        del self.servers[server.id]
        self.deleted[server.id] = server
        while len(self.deleted) > REMEMBERED_DELETED:
            self.deleted.popitem(last=False)
        self.listener("gone", server)

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._scheduler.now()

    def lock(self, server: Server, locked: bool, reason: str | None) -> None:
        server.locked = locked
        server.locked_reason = reason if locked else None
        server.touch(self._scheduler.now())

    def addresses_changed(self, server_id: str) -> None:
        """Show the new floating addresses; nova does not take this for an update of the server."""
        server = self.servers.get(server_id)
        if server is not None:
            server.views.clear()
            self.listener("addresses", server)

    def add_outsiders(
        self, number: int, flavor: FlavorConfig, networks: list[tuple[str, str]], name: str = "outsider-{}"
    ) -> list[str]:
        """Put servers of somebody else into the project: active at once and whatever the quota says."""
        now = self._scheduler.now()
        made = []
        for index in range(number):
            wish = Wish(name.format(index), flavor, None, networks, {}, None, None, ["default"], False, None, [])
            server = Server(str(uuid.uuid4()), wish, OUTSIDER, self._project_id, now, now, self._pick_az())
            server.outsider = server.networked = server.placed = True
            server.status, server.vm_state, server.task_state, server.power_state = "ACTIVE", "active", None, 1
            server.launched, server.host = now, f"{server.az}-host9"
            self.servers[server.id] = server
            self._count(server)
            for _kind, ident in networks:
                fields: dict[str, Any] = {
                    "device_id": server.id,
                    "device_owner": f"compute:{server.az}",
                    "status": "ACTIVE",
                }
                self._network.create_port(ident, fields, forced=True)
            made.append(server.id)
        return made

    def remove_outsiders(self, number: int | None) -> int:
        """Take outsiders' servers away at once, the oldest first; all of them when number is None."""
        found = [server for server in self.servers.values() if server.outsider]
        chosen = found if number is None else found[:number]
        for server in chosen:
            self._remove(server)
        return len(chosen)


def _wanted(flavor: FlavorConfig, number: int) -> quota.Usage:
    return quota.Usage(number, number * flavor.vcpus, number * flavor.ram)


def _numbered(wish: Wish, index: int, number: int) -> Wish:
    """Return the wish of one of several servers; nova numbers their names."""
    if number == 1:
        return wish
    values = {name: getattr(wish, name) for name in Wish.__slots__}
    return Wish(**{**values, "name": f"{wish.name}-{index + 1}"})
