# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of a cloud on virtual time: CloudClient's verbs, time-outs, faults and counts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import (
    needs_floating_ip,
    reached_addresses,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.call_counters import CallCounters
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.clouds import Place
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    CloudLimits,
    Flavor,
    FloatingIp,
    Image,
    Network,
    Port,
    ReachedAddresses,
    SecurityGroup,
    Server,
    ServerGroup,
    ServerSpec,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudNotFound,
    CloudUnavailable,
)
from tests.support.virtual_cloud import VirtualCloud
from tests.support.virtual_refusals import refuse_invalid
from tests.support.virtual_time import Killed

T = TypeVar("T")
READ_TIMEOUT = 30.0


@dataclass
class Fault:
    """What goes wrong with calls of a *kind* ("" for all), *left* times or until a moment.

    *works*: the call takes effect all the same. *fails* False: it is only *seconds* slower. *hang*: no answer ever.
    *lands*: the effect comes so many seconds after the call began, although nobody waits for the answer any more.
    *error*: what the client then raises; None: a 503, or a time-out where it hangs. *skip*: so many calls pass before.
    """

    kind: str = ""
    left: float = math.inf
    until: float = math.inf
    works: bool = False
    fails: bool = True
    hang: bool = False
    seconds: float = 0.0
    chance: float = 1.0
    skip: int = 0
    lands: float | None = None
    error: Callable[[], CloudError] | None = None


class VirtualClient:
    """Stands in for CloudClient."""

    private = False
    force_ipv4 = False
    local_ipv6 = False
    login_problem = ""
    secrets = ("virtual-password",)

    def __init__(
        self,
        provider: Provider,
        cloud: VirtualCloud,
        faults: list[Fault],
        password: str = "",
        timeout: float = READ_TIMEOUT,
    ) -> None:
        self.timeout = timeout
        self.provider = provider.name
        self.fingerprint = f"{provider.cloud} {provider.region_name} {provider.rate} {password}"
        self.place = Place(auth_url=provider.cloud, region=provider.region_name or "")
        self.roles = cloud.roles
        self.counters = CallCounters(cloud.agenda.clock, cloud.agenda.ident)
        self.api_timeout = 0.0
        self.dead = False
        self.calls: list[tuple[float, str]] = []
        self.lists: list[str | None] = []
        """Of each server list from when on it was to show changes; None: all of it."""
        self._rate = provider.rate
        self._cloud = cloud
        self._faults = faults
        self._next_start = 0.0
        self._waited: dict[int, float] = {}

    def close(self) -> None:
        """Nothing is open."""

    def list_servers(self, changes_since: str | None = None) -> list[Server]:
        """The servers of the project, or those that have changed."""
        cloud = self._cloud
        seconds = cloud.timing.listing
        if cloud.timing.per_server:
            seconds += cloud.timing.per_server * len(cloud.listing(changes_since))
        kind = "GET /servers/detail"
        self.lists.append(changes_since)
        return self._call(kind, lambda: cloud.listing(changes_since), seconds)

    def first_server(self, seconds: float) -> None:
        """A list of one server."""
        self._call("GET /servers/detail", lambda: None, self._cloud.timing.listing, patience=seconds)

    def get_server(self, server_id: str) -> Server | None:
        """One server, with its fault; None when it is gone."""
        try:
            return self._call("GET /servers/{id}", lambda: self._cloud.show(server_id), self._cloud.timing.create)
        except CloudNotFound:
            return None

    def list_flavors(self) -> list[Flavor]:
        """All flavors."""
        return self._call("GET /flavors/detail", lambda: list(self._cloud.flavors))

    def limits(self, *, volumes: bool = False, network: bool = False) -> CloudLimits:
        """Bounds and usage, in as many calls as the real client makes."""
        found = self._call("GET /limits", self._cloud.read_limits)
        if network:
            try:
                self._call("GET /quotas/{id}/details", lambda: None)
            except CloudError as error:
                found = replace(found, lacks=(error,))
        return found

    def availability_zones(self, *, every: bool = False) -> list[str]:
        """Names of zones."""
        return self._call("GET /os-availability-zone", self._cloud.available_zones)

    def images_named(self, name_or_id: str) -> list[Image]:
        """By name or id."""
        cloud = self._cloud
        return self._call(
            "GET /images",
            lambda: [
                image for image in [*cloud.images, *cloud.own_images.values()] if name_or_id in (image.id, image.name)
            ],
        )

    def image_names(self) -> list[str]:
        """Names of images."""
        return self._call("GET /images", lambda: sorted(image.name for image in self._cloud.images))

    def list_keypairs(self) -> list[str]:
        """Names of keypairs."""
        return self._call("GET /os-keypairs", lambda: list(self._cloud.keypairs))

    def list_server_groups(self) -> list[ServerGroup]:
        """The server groups."""
        return self._call("GET /os-server-groups", lambda: list(self._cloud.server_groups))

    def list_security_groups(self) -> list[SecurityGroup]:
        """The security groups."""
        return self._call("GET /security-groups", self._cloud.groups)

    def list_networks(self, *, needed: bool = False) -> list[Network]:
        """The networks."""
        return self._call("GET /networks", self._cloud.networks)

    def list_ports(self, server_ids: Sequence[str]) -> list[Port]:
        """One port for each server."""

        def ports() -> list[Port]:
            known = [self._cloud.machines[key] for key in server_ids if key in self._cloud.machines]
            return [Port(f"port-{item.id}", item.id, "net-private", (item.address,)) for item in known]

        return self._call("GET /ports", ports)

    def create_server(self, spec: ServerSpec, seconds: float | None = None) -> str:
        """nova looks at the quota when the call arrives and once more when it makes the server."""
        return self._call(
            "POST /servers",
            lambda: self._cloud.create(spec),
            self._cloud.post_seconds,
            changes=True,
            first=lambda: self._refuse(spec),
            patience=seconds,
        )

    def _refuse(self, spec: ServerSpec) -> None:
        refuse_invalid(self._cloud, spec)
        self._cloud.refuse_unknown_image(spec)
        self._cloud.refuse_unknown_zone(spec)
        self._cloud.refuse_over_quota(spec, self.provider)

    def waited(self, ident: int) -> float:
        """What a fiber has waited for the rate; one that asks for itself knows the number of its thread only."""
        return self._waited.get(self._cloud.agenda.ident() if ident == threading.get_ident() else ident, 0.0)

    def delete_server(self, server_id: str) -> bool:
        """False when it was gone."""
        try:
            self._call("DELETE /servers/{id}", lambda: self._cloud.delete(server_id), changes=True)
        except CloudNotFound:
            return False
        return True

    def force_delete_server(self, server_id: str) -> bool:
        """False when it was gone."""
        try:
            self._call("POST /servers/{id}/action", lambda: self._cloud.force_delete(server_id), changes=True)
        except CloudNotFound:
            return False
        return True

    def list_down_ports(self) -> list[Port]:
        """Ports that were left behind."""
        return self._call("GET /ports", lambda: list(self._cloud.down_ports.values()))

    def list_volumes(self) -> list[Volume]:
        """All volumes."""
        return self._call("GET /volumes/detail", lambda: list(self._cloud.volumes.values()))

    def list_own_images(self) -> list[Image]:
        """The images of the project."""
        return self._call("GET /images", lambda: list(self._cloud.own_images.values()))

    def delete_port(self, port_id: str) -> bool:
        """False when it was gone."""
        return self._drop("DELETE /ports/{id}", self._cloud.down_ports, port_id)

    def delete_volume(self, volume_id: str) -> bool:
        """False when it was gone."""
        return self._drop("DELETE /volumes/{id}", self._cloud.volumes, volume_id)

    def delete_image(self, image_id: str) -> bool:
        """False when it was gone."""
        return self._drop("DELETE /images/{id}", self._cloud.own_images, image_id)

    def _drop(self, kind: str, known: dict[str, Any], ident: str) -> bool:
        return self._call(kind, lambda: known.pop(ident, None) is not None, changes=True)

    def create_floating_ip(
        self, network_id: str, port_id: str, fixed_address: str | None, description: str
    ) -> FloatingIp:
        """Made and attached at once."""
        return self._call(
            "POST /floatingips", lambda: self._cloud.create_floating_ip(port_id, description), changes=True
        )

    def list_floating_ips(self) -> list[FloatingIp]:
        """All of the project."""
        return self._call("GET /floatingips", lambda: [item for item, _unused in self._cloud.floating_ips.values()])

    def delete_floating_ip(self, floating_ip_id: str) -> bool:
        """False when it was gone."""
        gone = self._call(
            "DELETE /floatingips/{id}", lambda: self._cloud.floating_ips.pop(floating_ip_id, None), changes=True
        )
        if gone is not None and gone[1] in self._cloud.machines:
            self._cloud.machines[gone[1] or ""].floating = ""
        return gone is not None

    def console_log(self, server_id: str, lines: int | None = None, seconds: float = 10.0) -> list[str] | None:
        """What the guest wrote."""
        return self._call("POST /servers/{id}/action", lambda: ["kernel panic"], auxiliary=True, patience=seconds)

    def remarks(self) -> dict[str, str]:
        """What is odd at the cloud."""
        return dict(self._cloud.remarks)

    def reached_addresses(self, server: Server, networks: Sequence[Network]) -> ReachedAddresses:
        """As the real client."""
        return reached_addresses(server, networks, roles=self.roles)

    def needs_floating_ip(self, server: Server, networks: Sequence[Network]) -> bool:
        """As the real client."""
        return needs_floating_ip(server, networks, roles=self.roles)

    def _call(
        self,
        kind: str,
        effect: Callable[[], T],
        seconds: float | Callable[[], float] | None = None,
        *,
        changes: bool = False,
        first: Callable[[], Any] = lambda: None,
        patience: float | None = None,
        auxiliary: bool = False,
    ) -> T:
        agenda, cloud = self._cloud.agenda, self._cloud
        self._check()
        start = max(agenda.now, self._next_start)
        self._next_start = start + self._rate
        ident = agenda.ident()
        self._waited[ident] = self._waited.get(ident, 0.0) + start - agenda.now
        agenda.sleep(start - agenda.now)
        self._check()
        self.calls.append((agenda.now, kind))
        self.counters.started(kind, auxiliary=auxiliary)
        began = agenda.now
        length = self._length(kind, seconds)

        bound = self.counters.patience(kind, self.timeout) if patience is None else patience
        status = "200"
        result: Any = None
        try:
            fault = self._fault(kind)
            if fault is not None:
                agenda.sleep(fault.seconds)
            if fault is not None and fault.lands is not None:
                agenda.after(fault.lands, lambda: _land(effect))
            elif fault is None or fault.works or not fault.fails:
                first()
                # The effect comes somewhere within the call: whoever lists meanwhile sees it or does not.
                share = cloud.random.random()
                if length > bound:
                    # As in a real cloud the work is done all the same.
                    agenda.after(length * share, lambda: _land(effect))
                    agenda.sleep(bound)
                    raise CloudUnavailable(
                        f"{kind}: no answer within {bound:g} s", provider=self.provider, call=kind, unclear=changes
                    )
                agenda.sleep(length * share)
                result = effect()
                agenda.sleep(length * (1 - share))
            if fault is not None and fault.fails:
                self._fail(fault, kind, changes, bound)
            self._check()
            return cast("T", result)
        except CloudError as error:
            status = str(error.status) if error.status else "timeout"
            raise
        finally:
            self.counters.ended(kind, status, agenda.now - began)

    def _length(self, kind: str, seconds: float | Callable[[], float] | None) -> float:
        if callable(seconds):
            return seconds()
        timing = self._cloud.timing
        base = timing.kinds.get(kind, timing.other) if seconds is None else seconds
        length = base * (1 + timing.spread * self._cloud.random.uniform(-1, 1))
        return length * timing.stretch(self._cloud.random)

    def _fail(self, fault: Fault, kind: str, changes: bool, bound: float) -> None:
        if fault.hang:
            self._cloud.agenda.sleep(bound)
            raise CloudUnavailable(
                f"{kind}: no answer within {bound:g} s", provider=self.provider, call=kind, unclear=changes
            )
        if fault.error is not None:
            raise fault.error()
        raise CloudUnavailable(
            f"{kind}: 503 Service Unavailable", provider=self.provider, call=kind, status=503, unclear=changes
        )

    def _fault(self, kind: str) -> Fault | None:
        for fault in self._faults:
            if fault.kind not in ("", kind) or fault.left <= 0 or self._cloud.agenda.now >= fault.until:
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            if self._cloud.random.random() < fault.chance:
                fault.left -= 1
                return fault
        return None

    def _check(self) -> None:
        if self.dead:
            raise Killed


def _land(effect: Callable[[], Any]) -> None:
    """The work is done for a client that has gone; so is a refusal."""
    with suppress(CloudError):
        effect()
