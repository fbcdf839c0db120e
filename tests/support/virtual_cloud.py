# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud on virtual time: what nova, neutron and glance do to a project, without HTTP.

Quota is what nova counts (servers in ERROR and those still being deleted included), and it is checked as nova checks
it: once when the create arrives and once when the server is made, so that creates side by side can end in ERROR.
"""

from __future__ import annotations

import base64
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import NetworkRoles
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    Address,
    CloudLimits,
    Flavor,
    FloatingIp,
    Image,
    Network,
    Port,
    SecurityGroup,
    Server,
    ServerGroup,
    ServerSpec,
    Volume,
    moment,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudConflict,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import (
    CORES,
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    RAM,
    Limits,
    Resources,
    total,
)
from tests.simcloud.plane import ControlPlane
from tests.simcloud.timing import lognormal
from tests.support.virtual_time import Agenda

PUBLIC = Network("net-public", "public", external=True)
SHARED = Network("net-public", "public", external=True, automatic=True)
"""The network of a cloud whose servers have public addresses: nova takes it when a create names none."""
PRIVATE = Network("net-private", "private", automatic=True)
FLAVORS = (Flavor("f1", "small", 1, 1024), Flavor("f2", "medium", 2, 4096), Flavor("f8", "large", 8, 16384))


@dataclass
class Timing:
    """Seconds. *boot* and *delete* are (mean, deviation) of a normal distribution."""

    create: float = 0.3
    listing: float = 0.3
    per_server: float = 0.0
    """By how much longer a list takes for each server that it shows."""
    other: float = 0.02
    boot: tuple[float, float] = (20.0, 2.0)
    delete: tuple[float, float] = (3.0, 0.5)
    scan: float = 0.3
    spread: float = 0.1
    """By how much of itself a call's time varies."""
    post: Callable[[random.Random], float] | None = None
    """Draws what a POST /servers takes, instead of *create*."""
    plane: ControlPlane | None = None
    """What builds and creates share; then neither *boot* nor *create* counts."""
    kinds: Mapping[str, float] = field(default_factory=dict)
    """What calls of a kind take, instead of *other*."""
    stretch: Callable[[random.Random], float] = lambda chance: 1.0
    """Draws by what the time of each single call is multiplied."""


def busy() -> Timing:
    """The profile "busy": long tails, above all that of POST /servers (median 5 s, P99 60 s)."""
    return Timing(post=lambda chance: lognormal(chance, 5.0, 60.0), listing=0.8, other=0.2, spread=0.8)


@dataclass(frozen=True)
class Fate:
    """A server's state after *boot* seconds, and whether its guest ever answers, *silent* seconds after that."""

    status: str = "ACTIVE"
    fault: str | None = None
    boot: float | None = None
    reachable: bool = True
    silent: float = 0.0


@dataclass(eq=False)
class Machine:
    """A server."""

    id: str
    name: str
    metadata: Mapping[str, str]
    flavor: Flavor
    created: float
    fate: Fate
    status: str = "BUILD"
    fault: str | None = None
    az: str | None = None
    address: str = ""
    floating: str = ""
    ports: int = 1
    image: str = ""
    deleting: bool = False
    removed: float | None = None
    active_at: float | None = None
    host_key: str = ""
    """The ssh host key with which it answers: one of its own, unless its image ships one or another machine answers."""
    touched: float = 0.0
    """When it last changed: nova's ``updated``. An address that it gets later is no change."""

    @property
    def has_host(self) -> bool:
        """nova shows the host of a server as soon as the scheduler has found one."""
        return self.fate.status != "BUILD" and "valid host" not in (self.fate.fault or "")

    @property
    def size(self) -> Resources:
        """What it uses of the quota."""
        return Resources({INSTANCES: 1, CORES: self.flavor.cores, RAM: self.flavor.ram, PORTS: self.ports})


@dataclass
class VirtualCloud:
    """One project in one cloud.

    :param limits: what the quota really is; *shown* is what the API says it is (None: the truth).
    :param fate: what becomes of the next server.
    :param undying: deletes of these are accepted and do nothing; *yielding*: what a delete by force ends all the same
        (None: the cloud leaves force to administrators).
    :param list_lag: seconds by which the server list is behind.
    :param faults_listed: the list shows faults; else they are only in the answer about the one server.
    :param shown_deleted: seconds for which a server whose deletion is done is still listed, as DELETED, and counts;
        *soft*: instead it can be restored for a day: no list has it, a question for it is answered.
    :param counted_after: seconds from a create until the limits count its server: until the conductor has written it.
    :param double_addresses: a second floating IP for the same fixed one is not refused.
    :param away: servers in a cell that is down: the list leaves them out, and a question for one is answered with 500.
    :param first: its ids begin after this number: no two clouds have the same ones.
    :param direct: servers have public addresses; False: they need a floating IP.
    :param roles: what clouds.yaml says about its networks.
    :param nets: the networks that neutron shows; None: those that go with *direct*.
    """

    agenda: Agenda
    limits: Limits = field(default_factory=Limits)
    shown: Limits | None = None
    flavors: tuple[Flavor, ...] = FLAVORS
    zones: tuple[str, ...] = ("az1", "az2")
    images: tuple[Image, ...] = (Image("img-1", "debian", "active"),)
    keypairs: tuple[str, ...] = ("ci",)
    server_groups: tuple[ServerGroup, ...] = ()
    security_groups: tuple[str | SecurityGroup, ...] = ("default", "web")
    nets: tuple[Network, ...] | None = None
    roles: NetworkRoles = field(default_factory=NetworkRoles)
    timing: Timing = field(default_factory=Timing)
    fate: Callable[[Machine], Fate] = lambda machine: Fate()
    undying: Callable[[Machine], bool] = lambda machine: False
    yielding: bool | None = None
    list_lag: float = 0.0
    faults_listed: bool = False
    shown_deleted: float = 2.0
    soft: bool = False
    counted_after: float = 0.3
    double_addresses: bool = False
    away: Callable[[Machine], bool] = lambda machine: False
    direct: bool = True
    seed: int = 1
    first: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.machines: dict[str, Machine] = {}
        self._restorable: dict[str, Machine] = {}
        self.past: list[Machine] = []
        self.floating_ips: dict[str, tuple[FloatingIp, str | None]] = {}
        self.down_ports: dict[str, Port] = {}
        self.volumes: dict[str, Volume] = {}
        self.own_images: dict[str, Image] = {}
        self.unique_names = False
        """nova's ``osapi_compute_unique_server_name_scope`` is ``project``."""
        self.remarks: dict[str, str] = {}
        self.taken_names: set[str] = set()
        """Names of servers that the list does not show."""
        self.cells_down = False
        """nova knows no service of any cell: no zone is available."""
        self.refused, self.peak = Counter[str](), Counter[str]()
        self._count = self.first

    # -- for tests -----------------------------------------------------------------------------------------------

    def used(self) -> Resources:
        """What counts against the quota now."""
        amounts = total(machine.size for machine in self.machines.values())
        return amounts + Resources({FLOATING_IPS: len(self.floating_ips)})

    def add_foreign(self, count: int = 1, flavor: str = "small", **metadata: str) -> list[Machine]:
        """Servers of somebody else in the same project, ACTIVE at once."""
        made = []
        for _unused in range(count):
            machine = self._make(f"other-{self._count}", self._flavor(flavor), metadata, Fate(boot=0.0))
            machine.status = "ACTIVE"
            made.append(machine)
        return made

    def remove(self, machine: Machine) -> None:
        """It is gone at once, and its port with it: neutron leaves its floating IPs to nobody."""
        if self.machines.pop(machine.id, None) is not None:
            for ident, (floating, owner) in self.floating_ips.items():
                if owner == machine.id:
                    self.floating_ips[ident] = replace(floating, port_id=None, status="DOWN"), None
            machine.removed = self.agenda.now
            if machine.status != "DELETED":
                # That its record goes some time later is no change.
                machine.touched = self.agenda.now
            machine.status = "DELETED"
            self.past.append(machine)

    def of_node(self, node_id: str) -> list[Machine]:
        """The servers that stand for a node now."""
        return [machine for machine in self.machines.values() if machine.metadata.get(META_NODE_ID) == node_id]

    def ours(self) -> list[Machine]:
        """All servers that carry our mark."""
        return [machine for machine in self.machines.values() if META_LAUNCH in machine.metadata]

    def at_address(self, address: str) -> Machine | None:
        """The server that answers there."""
        found = (
            machine
            for machine in self.machines.values()
            if address in (machine.address, machine.floating) and machine.status != "DELETED"
        )
        return next(found, None) if address else None

    def post_seconds(self) -> float:
        """What the next POST /servers takes."""
        timing = self.timing
        if timing.plane is not None:
            return timing.plane.post_seconds(self.agenda.now)
        if timing.post is not None:
            return timing.post(self.random) * timing.stretch(self.random)
        return timing.create * (1 + timing.spread * self.random.uniform(-1, 1))

    # -- what the API does ---------------------------------------------------------------------------------------

    def check_quota(self, flavor: Flavor, ports: int) -> str | None:
        """The first resource of which there is not enough for one more server."""
        need = Resources({INSTANCES: 1, CORES: flavor.cores, RAM: flavor.ram, PORTS: ports})
        short = self.limits.less(self.used()).short_of(need)
        return next(iter(short), None)

    def refuse_over_quota(self, spec: ServerSpec, provider: str) -> None:
        """nova's first look.

        :raises CloudQuotaRefused: in nova's words.
        """
        flavor = self._flavor(spec.flavor_id)
        name = self.check_quota(flavor, max(1, len(spec.network_ids)))
        if name is not None:
            self.refused[provider] += 1
            raise CloudQuotaRefused(
                f"Quota exceeded for {name}: Requested 1, but already used {self.used()[name]:g} of"
                f" {self.limits[name]:g} {name}",
                resources=(name,),
                provider=provider,
                call="POST /servers",
                status=403,
            )

    def refuse_unknown_image(self, spec: ServerSpec) -> None:
        """nova asks glance for the image of each create.

        :raises CloudRefused: in nova's words, which for a volume of the image are others.
        """
        found = [*self.own_images.values(), *self.images]
        image = next((image for image in found if image.id == spec.image_id), None)
        if image is not None and image.status != "active":
            text = f"Image {spec.image_id} is not active."
            raise CloudRefused(f"POST /servers was answered with 400: {text}", call="POST /servers", status=400)
        if image is not None:
            return
        text = "Can not find requested image"
        if spec.boot_from_volume:
            text = f"Block Device Mapping is Invalid: failed to get image {spec.image_id}."
        raise CloudRefused(f"POST /servers was answered with 400: {text}", call="POST /servers", status=400)

    def refuse_unknown_zone(self, spec: ServerSpec) -> None:
        """nova asks the services of all cells; while their data base is away there are none.

        :raises CloudRefused: in nova's words.
        """
        if spec.az is not None and spec.az not in self.available_zones():
            text = "The requested availability zone is not available"
            raise CloudRefused(f"POST /servers was answered with 400: {text}", call="POST /servers", status=400)

    def available_zones(self) -> list[str]:
        """Names of zones with a service that is up."""
        return [] if self.cells_down else list(self.zones)

    def create(self, spec: ServerSpec) -> str:
        """nova's second look, and the server."""
        flavor, ports = self._flavor(spec.flavor_id), max(1, len(spec.network_ids))
        over = self.check_quota(flavor, ports)
        machine = self._make(spec.name, flavor, dict(spec.metadata), Fate())
        machine.ports, machine.image, machine.az = ports, spec.image_id, spec.az or next(iter(self.zones), None)
        fate = Fate("ERROR", f"Quota exceeded for {over}: Requested 1", 0.5) if over else self.fate(machine)
        machine.fate = fate
        boot = fate.boot if fate.boot is not None else max(0.5, self.random.gauss(*self.timing.boot))
        if self.timing.plane is not None and fate.boot is None and fate.status != "BUILD":
            self.timing.plane.begin(self.agenda.clock, self.agenda.after, lambda: self._booted(machine))
        elif fate.status != "BUILD":
            self.agenda.after(boot, lambda: self._booted(machine))
        return machine.id

    def delete(self, server_id: str) -> None:
        """DELETE is accepted; the server goes after a while.

        :raises CloudNotFound: it is gone.
        """
        machine = self.machines.get(server_id)
        if machine is None:
            raise CloudNotFound(f"Instance {server_id} could not be found.", call="DELETE /servers/{id}", status=404)
        if self.undying(machine) or machine.deleting:
            return
        machine.deleting, machine.touched = True, self.agenda.now
        self.agenda.after(max(0.1, self.random.gauss(*self.timing.delete)), lambda: self._deleted(machine))

    def force_delete(self, server_id: str) -> None:
        """The action forceDelete.

        :raises CloudRefused: it is for administrators here.
        """
        if self.yielding is None:
            raise CloudRefused(
                "Policy doesn't allow os_compute_api:os-deferred-delete:force to be performed.",
                call="POST /servers/{id}/action",
                status=403,
            )
        machine = self.machines.get(server_id)
        if machine is None:
            raise CloudNotFound(f"Instance {server_id} could not be found.", status=404)
        if self.yielding or not self.undying(machine):
            self.remove(machine)

    def show(self, server_id: str) -> Server:
        """The answer about one server.

        :raises CloudNotFound: it is gone.
        :raises CloudUnavailable: its cell is down.
        """
        if (machine := self.machines.get(server_id) or self._restorable.get(server_id)) is None:
            raise CloudNotFound(f"Instance {server_id} could not be found.", status=404)
        if self.away(machine):
            text = "Unexpected API Error. <class 'nova.exception.NovaException'>"
            raise CloudUnavailable(f"GET /servers/{{id}} was answered with 500: {text}", status=500)
        return self._shown(machine, machine.status, fault=machine.fault)

    def listing(self, changes_since: str | None = None) -> list[Server]:
        """As the API shows it; with *changes_since* what changed, what was deleted included, without its metadata."""
        if changes_since is not None:
            since = datetime.fromisoformat(changes_since).timestamp()
            past = [replace(self._shown(one, "DELETED"), metadata={}) for one in self.past if not self.away(one)]
            return [server for server in (*self.listing(), *past) if (moment(server.updated) or 0.0) >= since]
        now = self.agenda.now
        if not self.list_lag:
            known = [machine for machine in self.machines.values() if not self.away(machine)]
            return [self._shown(machine, machine.status) for machine in known]
        then = now - self.list_lag
        known = [machine for machine in self.machines.values() if machine.created <= then]
        known += [machine for machine in self.past if machine.created <= then < (machine.removed or now)]
        known = [machine for machine in known if not self.away(machine)]
        return [
            self._shown(machine, "BUILD" if machine.active_at and machine.active_at > then else machine.status)
            for machine in known
        ]

    def read_limits(self) -> CloudLimits:
        """Bounds as shown, and what is used."""
        # What is in a cell that does not answer is not counted, nor what the conductor has not written there yet.
        written_by = self.agenda.now - self.counted_after
        machines = self.machines.values()
        uncounted = total(one.size for one in machines if self.away(one) or one.created > written_by)
        return CloudLimits(self.shown if self.shown is not None else self.limits, self.used() - uncounted)

    def networks(self) -> list[Network]:
        """What the project sees."""
        if self.nets is not None:
            return list(self.nets)
        return [SHARED] if self.direct else [PRIVATE, PUBLIC]

    def groups(self) -> list[SecurityGroup]:
        """What the project sees; a name stands for a group of its own."""
        known = self.security_groups
        return [
            group
            if isinstance(group, SecurityGroup)
            else SecurityGroup(f"sg-{group}" if group not in known[:place] else f"sg-{group}-{place}", group)
            for place, group in enumerate(known)
        ]

    def create_floating_ip(self, port_id: str, description: str) -> FloatingIp:
        """One more floating IP, attached to the port's server."""
        if len(self.floating_ips) + 1 > self.limits[FLOATING_IPS]:
            raise CloudQuotaRefused(
                "Quota exceeded for resources: ['floatingip'].", resources=(FLOATING_IPS,), status=409
            )
        server_id = port_id.removeprefix("port-")
        if not self.double_addresses and any(owner == server_id for _unused, owner in self.floating_ips.values()):
            raise CloudConflict(
                f"Cannot associate floating IP 203.0.113.9 (fip-x) with port {port_id} using fixed IP 10.0.0.1, as that"
                " fixed IP already has a floating IP on external network net-public.",
                status=409,
            )
        if server_id not in self.machines:
            raise CloudNotFound(f"Port {port_id} could not be found.", status=404)
        self._count += 1
        made = FloatingIp(
            f"fip-{self._count}",
            f"203.0.{113 + self._count // 250 % 100}.{self._count % 250}",
            "ACTIVE",
            port_id,
            description,
        )
        self.floating_ips[made.id] = (made, server_id)
        self.machines[server_id].floating = made.address
        return made

    # -- inside --------------------------------------------------------------------------------------------------

    def _flavor(self, name: str) -> Flavor:
        return next(flavor for flavor in self.flavors if name in (flavor.id, flavor.name))

    def _make(self, name: str, flavor: Flavor, metadata: Mapping[str, str], fate: Fate) -> Machine:
        self._count += 1
        number = self._count
        machine = Machine(f"server-{number:06d}", name, metadata, flavor, self.agenda.now, fate)
        machine.host_key = f"ssh-ed25519 {base64.b64encode(machine.id.encode()).decode()}"
        machine.address = f"{'198.51' if self.direct else '10.0'}.{number // 250 % 250}.{number % 250 + 1}"
        self.machines[machine.id] = machine
        for resource, amount in self.used().items():
            self.peak[resource] = max(self.peak[resource], int(amount))
        return machine

    def _booted(self, machine: Machine) -> None:
        if machine.status != "BUILD":
            return
        if machine.fate.status == "GONE":
            self.remove(machine)
            return
        machine.status, machine.fault = machine.fate.status, machine.fate.fault
        machine.active_at = machine.touched = self.agenda.now

    def _deleted(self, machine: Machine) -> None:
        """nova saves the state DELETED, puts placement in order and only then takes the server out of its lists."""
        if machine.id in self.machines and self.soft:
            machine.status = "SOFT_DELETED"
            self._restorable[machine.id] = machine
            self.remove(machine)
        elif machine.id in self.machines:
            machine.status, machine.touched = "DELETED", self.agenda.now
            self.agenda.after(self.shown_deleted, lambda: self.remove(machine))

    def _shown(self, machine: Machine, status: str, fault: str | None = None) -> Server:
        addresses = []
        if status == "ACTIVE" and machine.address:
            addresses.append(Address("public" if self.direct else "private", machine.address, 4))
        if status == "ACTIVE" and machine.floating:
            addresses.append(Address("private", machine.floating, 4, floating=True))
        return Server(
            id=machine.id,
            name=machine.name,
            status=status,
            metadata=machine.metadata,
            addresses=tuple(addresses),
            task_state="deleting" if machine.deleting and status != "DELETED" else None,
            fault=machine.fault if self.faults_listed else fault,
            flavor_id=machine.flavor.id,
            resources=Resources({INSTANCES: 1, CORES: machine.flavor.cores, RAM: machine.flavor.ram}),
            az=machine.az,
            host_id=f"host-{machine.id}" if machine.has_host else None,
            updated=f"{datetime.fromtimestamp(max(machine.created, machine.touched), UTC):%Y-%m-%dT%H:%M:%SZ}",
        )
