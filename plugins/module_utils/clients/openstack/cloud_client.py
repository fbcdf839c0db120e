# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client of one provider's cloud: every call that the collection makes to OpenStack."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ...model.api_timeouts import AUXILIARY_SECONDS
from ...model.bounded_text import printable_lines
from ...model.cloud import (
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
from ...model.config.types import Provider
from ...model.errors import CloudError, CloudNotFound, CloudRefused
from ...model.resources import Limits, Resources
from ..proc import has_routed_ipv6
from . import addresses, json_values, shapes
from .access import CloudAccess
from .api_names import ApiCall
from .call_counters import CallCounters
from .cloud_images import CloudImages
from .clouds import load_cloud_entry
from .kinds import in_path
from .paging import pages
from .ratelimit import RateLimiter
from .rest import Rest
from .transport import AnswerTimes, AuxiliaryTimes, Transport

T = TypeVar("T")

PAGE = 1000
"""Items per page; the default of nova's own maximum."""

EMBEDDED_FLAVOR = "2.47"
"""The first microversion of nova that shows a server's flavor sizes in the list."""

STALLS = 2.0
"""An upload may make no progress for this many times the read time-out of the API: storage is slower than the API."""

_PORT_IDS_PER_CALL = 100
"""Server ids in one call for ports: as many as fit into a URL that every proxy accepts (8 KiB)."""


class CloudClient:
    """The client of a provider's cloud. Thread-safe.

    All calls block, are rate-limited and bounded in time, and raise the Cloud* errors.

    :param clouds_config: path of clouds.yaml; None: clouds.yaml is found as the SDK finds it.
    :param connect_timeout: seconds for a connection.
    :param read_timeout: longest time without data from the cloud, in seconds.
    :param total_timeout: longest time of one HTTP call in seconds, without name resolution.
    :param concurrency: maximum number of HTTP calls at the same time.
    :param transport: class of the HTTP adapter that sends the calls.
    :param told: called after each API call but those for tokens and discovery, in their thread; it must not block.
    :ivar login_problem: why clouds.yaml cannot be used, when a former entry is used instead; "" otherwise.
    :raises CloudAuthError: clouds.yaml cannot be used. The constructor makes no call.
    :raises MissingLibraryError: openstacksdk is not installed.
    """

    def __init__(
        self,
        provider: Provider,
        *,
        clouds_config: str | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        total_timeout: float = 60.0,
        concurrency: int = 16,
        transport: type[Transport] = Transport,
        told: Callable[[ApiCall], None] | None = None,
    ) -> None:
        entry = load_cloud_entry(provider.name, provider.cloud, provider.region_name, clouds_config)
        self.provider, self.login_problem = provider.name, ""
        self.fingerprint = f"{entry.fingerprint} {provider.rate:g}"
        """A new client with a different value means that the connection settings have changed."""
        self.place, self.secrets = entry.place, entry.secrets
        self.api_timeout = entry.api_timeout
        """Seconds that clouds.yaml allows for a call to this cloud; 0 where it sets none."""
        self.private = entry.private
        self.force_ipv4 = entry.force_ipv4
        self.roles = entry.roles
        self.local_ipv6 = has_routed_ipv6()
        self.counters = CallCounters()
        self._transport = transport(
            RateLimiter(provider.rate),
            self.counters,
            connect_timeout=connect_timeout,
            read_timeout=read_timeout,
            total_timeout=total_timeout,
            concurrency=concurrency,
        )
        self._rest = Rest(provider.name, entry, self._transport, told)
        self.image_format = entry.image_format
        self.images = CloudImages(
            provider.name,
            self._rest,
            properties=entry.image_properties,
            by_tasks=entry.uploads_by_tasks,
            by_import=entry.uploads_by_import,
            converts=entry.converts_images,
            stall=STALLS * read_timeout,
        )
        """The calls that a builder needs."""
        self.access = CloudAccess(self._rest, self._list)
        """The calls with which a person gets access to nodes."""
        self._microversion: str | None = EMBEDDED_FLAVOR
        self._sizes: dict[str, Resources] = {}
        self._sizes_lock = threading.Lock()

    def close(self) -> None:
        """Close idle connections; running calls are not interrupted."""
        self._rest.close()

    def waited(self, ident: int) -> float:
        """Return the seconds that a thread has waited so far for the provider's rate limit."""
        return self._transport.waited(ident)

    def remarks(self) -> dict[str, str]:
        """Return what is odd about the cloud although its calls succeed: subject → text. Any thread may call it."""
        return self._rest.odd()

    def abort_uploads(self) -> None:
        """End running uploads of images; other calls are not interrupted."""
        self._transport.abort_uploads()

    # Servers

    def list_servers(self, changes_since: str | None = None) -> list[Server]:
        """Return all servers of the project, read in pages.

        :param changes_since: ISO 8601; only servers changed since then, including deleted ones.
        """
        params = {"changes-since": changes_since} if changes_since else {}
        servers = self._with_microversion(
            lambda version: self._list(
                "compute", "/servers/detail", "servers", shapes.server_from, params=params, microversion=version
            )
        )
        self._rest.remarks.put("status of servers", shapes.oddities(servers))
        return self._with_sizes(servers)

    def first_server(self, seconds: float) -> None:
        """Read a list of one server, and wait *seconds* for it."""
        self._rest.call("compute", "GET", "/servers/detail", params={"limit": 1}, times=AnswerTimes(seconds))

    def _with_microversion(self, read: Callable[[str | None], T]) -> T:
        """Call *read* with EMBEDDED_FLAVOR, or with nova's base microversion where nova does not know that one."""
        version = self._microversion
        try:
            return read(version)
        except CloudRefused as refusal:
            # An older nova answers 406. Even older ones ignore the header.
            if refusal.status != 406 or version is None:
                raise
            self._microversion = None
            return read(None)

    def _with_sizes(self, servers: list[Server]) -> list[Server]:
        """Fill in, from the list of flavors, the sizes that a nova without embedded flavors leaves out."""
        missing = {server.flavor_id for server in servers if server.resources is None and server.flavor_id}
        if not missing:
            return servers
        with self._sizes_lock:
            if not missing <= self._sizes.keys():
                found = {flavor.id: shapes.size(flavor.cores, flavor.ram) for flavor in self.list_flavors()}
                # A deleted flavor is in no list. It is stored as one instance, so that it does not cause a call each
                # time.
                unknown = {flavor_id: Resources({"instances": 1}) for flavor_id in missing}
                self._sizes = {**unknown, **self._sizes, **found}
            sizes = self._sizes
        return [
            replace(server, resources=sizes.get(server.flavor_id or "")) if server.resources is None else server
            for server in servers
        ]

    def get_server(self, server_id: str) -> Server | None:
        """Return one server, None when it is gone. This call is expensive for the cloud: poll with the list instead."""
        try:
            answer = self._with_microversion(
                lambda version: self._rest.call(
                    "compute", "GET", f"/servers/{in_path(server_id)}", key="server", microversion=version
                )
            )
        except CloudNotFound:
            return None
        return self._with_sizes([self._made("GET /servers/{id}", shapes.server_from, answer.document["server"])])[0]

    def create_server(self, spec: ServerSpec, seconds: float | None = None) -> str:
        """Create a server and return its id. After an error with *unclear* it may exist: look for its mark.

        :param seconds: longest time to wait for the answer; None: as for any call.
        :raises CloudQuotaRefused: nova refuses it for quota; the error has the resources that nova names.
        """
        times = AnswerTimes(seconds) if seconds is not None else None
        answer = self._rest.call(
            "compute", "POST", "/servers", body=shapes.create_body(spec), key="server", times=times
        )
        return self._made("POST /servers", json_values.ident, answer.document["server"])

    def delete_server(self, server_id: str) -> bool:
        """Ask nova to delete the server; return False when it was already gone."""
        return self._delete("compute", f"/servers/{in_path(server_id)}")

    def force_delete_server(self, server_id: str) -> bool:
        """Ask nova to delete the server in whatever state it is; return False when it was already gone.

        :raises CloudRefused: 403 where the cloud allows it to administrators only, 400 or 404 where nova has no such
            action.
        """
        try:
            self._rest.call("compute", "POST", f"/servers/{in_path(server_id)}/action", body={"forceDelete": None})
        except CloudNotFound as missing:
            if server_id in str(missing):
                return False
            raise
        return True

    def console_log(
        self, server_id: str, lines: int | None = None, seconds: float = AUXILIARY_SECONDS
    ) -> list[str] | None:
        """Return the last *lines* lines of the console that have words, or all when None; each is bounded.

        :param seconds: longest time for the whole call. It is auxiliary: it says nothing about the cloud's health.
        :return: None when nova has no console for the server.
        """
        body = {"os-getConsoleOutput": {} if lines is None else {"length": lines}}
        path, times = f"/servers/{in_path(server_id)}/action", AuxiliaryTimes(seconds)
        try:
            answer = self._rest.call("compute", "POST", path, body=body, key="output", times=times)
        except CloudNotFound:
            return None
        output = self._made(
            "POST /servers/{id}/action", lambda document: json_values.whole_text(document, "output"), answer.document
        )
        return printable_lines(output)

    # Flavors, zones, keypairs and images

    def list_flavors(self) -> list[Flavor]:
        """Return all flavors that the project may use."""
        return self._list("compute", "/flavors/detail", "flavors", shapes.flavor_from)

    def availability_zones(self, *, every: bool = False) -> list[str]:
        """Return the names of the available zones, or of all with *every*; none when the cloud refuses the list."""
        try:
            answer = self._rest.call("compute", "GET", "/os-availability-zone", key="availabilityZoneInfo")
        except CloudRefused as refusal:
            if refusal.status not in (403, 404):
                raise
            return []
        return self._made(
            "GET /os-availability-zone",
            lambda document: [
                name
                for name, available in map(shapes.zone_from, json_values.sequence(document, "availabilityZoneInfo"))
                if every or available
            ],
            answer.document,
        )

    def list_keypairs(self) -> list[str]:
        """Return the names of the user's keypairs. Up to microversion 2.34 nova sends them all in one answer."""
        answer = self._rest.call("compute", "GET", "/os-keypairs", key="keypairs")
        return self._made("GET /os-keypairs", shapes.keypair_names, answer.document)

    def list_server_groups(self) -> list[ServerGroup]:
        """Return the project's server groups, in one answer: nova sends up to a thousand of them."""
        document = self._rest.call("compute", "GET", "/os-server-groups", key="server_groups").document
        return self._made("GET /os-server-groups", shapes.server_groups, document)

    def images_named(self, name_or_id: str) -> list[Image]:
        """Return the image with this id, or else all images with this exact name: see :meth:`CloudImages.named`."""
        return self.images.named(name_or_id)

    def image_names(self) -> list[str]:
        """Return the names of the images on the first page of those that the project sees, for messages about a wrong
        name."""
        answer = self._rest.call("image", "GET", "/images", params={"limit": PAGE, "sort": "name"}, key="images")
        return self._made(
            "GET /images",
            lambda document: sorted(
                set(filter(None, json_values.readable(json_values.sequence(document, "images"), shapes.image_name)))
            ),
            answer.document,
        )

    def list_own_images(self) -> list[Image]:
        """Return all images that belong to the project."""
        params = {"owner": self._rest.project_id()}
        return self._list("image", "/images", "images", shapes.image_from, params=params)

    def delete_image(self, image_id: str) -> bool:
        """Delete the image; return False when it was already gone."""
        return self._delete("image", f"/images/{in_path(image_id)}")

    # Volumes

    def list_volumes(self) -> list[Volume]:
        """Return all volumes of the project; none when the cloud has no cinder."""
        if not self._rest.has("block-storage"):
            return []
        return self._list("block-storage", "/volumes/detail", "volumes", shapes.volume_from)

    def delete_volume(self, volume_id: str) -> bool:
        """Ask cinder to delete the volume; return False when it was already gone."""
        return self._delete("block-storage", f"/volumes/{in_path(volume_id)}")

    # Limits

    def limits(self, *, volumes: bool = False, network: bool = False) -> CloudLimits:
        """Return the limits and usage of the project in nova.

        Whether cinder and neutron tell theirs says nothing about nova: their errors are part of the result.

        :param volumes: add those in cinder, when the cloud has it.
        :param network: add those in neutron, when the cloud has it.
        """
        answer = self._rest.call("compute", "GET", "/limits", key="limits")
        make = partial(shapes.absolute_limits, names=shapes.NOVA_LIMITS)
        bounds, used = self._made("GET /limits", make, answer.document)
        parts = [(bounds, used)]
        others = [self._volume_limits] if volumes else []
        others += [self._network_quota] if network else []
        lacks: list[CloudError] = []
        for read in others:
            try:
                parts.extend(read())
            except CloudError as error:
                lacks.append(error)
        return CloudLimits(
            bounds=Limits({name: value for part, _used in parts for name, value in part.items()}),
            used=Resources({name: value for _bounds, part in parts for name, value in part.items()}),
            lacks=tuple(lacks),
            asks_neutron=network and self._rest.has("network"),
        )

    def _volume_limits(self) -> Iterable[tuple[dict[str, float], dict[str, float]]]:
        if not self._rest.has("block-storage"):
            return []
        answer = self._rest.call("block-storage", "GET", "/limits", key="limits")
        make = partial(shapes.absolute_limits, names=shapes.CINDER_LIMITS)
        return [self._made("GET /volume/limits", make, answer.document)]

    def _network_quota(self) -> Iterable[tuple[dict[str, float], dict[str, float]]]:
        if not self._rest.has("network"):
            return []
        try:
            answer = self._rest.call("network", "GET", f"/quotas/{self._rest.project_id()}/details.json", key="quota")
        except CloudRefused as refusal:
            # The extension may be absent or reserved for administrators.
            if refusal.status not in (403, 404):
                raise
            return []
        return [self._made("GET /quotas/{id}/details", shapes.network_quota, answer.document)]

    # Networks

    def list_networks(self, *, needed: bool = False) -> list[Network]:
        """Return all networks that the project sees; when the cloud has no neutron, none, or an error if *needed*."""
        if not needed and not self._rest.has("network"):
            return []
        project = self._rest.project_id()
        return self._list("network", "/networks", "networks", lambda item: shapes.network_from(item, project))

    def list_security_groups(self) -> list[SecurityGroup]:
        """Return the security groups that the project sees; none when the cloud has no neutron."""
        if not self._rest.has("network"):
            return []
        project = self._rest.project_id()
        return self._list(
            "network",
            "/security-groups",
            "security_groups",
            lambda item: shapes.security_group_from(item, project),
            params={"fields": ["id", "name", "project_id"]},
        )

    def list_ports(self, server_ids: Sequence[str]) -> list[Port]:
        """Return the ports of these servers; one call for each hundred servers."""
        ports: list[Port] = []
        for start in range(0, len(server_ids), _PORT_IDS_PER_CALL):
            some = server_ids[start : start + _PORT_IDS_PER_CALL]
            ports += self._list("network", "/ports", "ports", shapes.port_from, params={"device_id": list(some)})
        return ports

    def list_down_ports(self) -> list[Port]:
        """Return the project's ports that are not in use (status DOWN); none when the cloud has no neutron."""
        if not self._rest.has("network"):
            return []
        params = {"project_id": self._rest.project_id(), "status": "DOWN"}
        return self._list("network", "/ports", "ports", shapes.port_from, params=params)

    def delete_port(self, port_id: str) -> bool:
        """Delete the port; return False when it was already gone."""
        return self._delete("network", f"/ports/{in_path(port_id)}")

    def list_floating_ips(self) -> list[FloatingIp]:
        """Return all floating IPs of the project; none when the cloud has no neutron, or one without routers."""
        if not self._rest.has("network"):
            return []
        params = {"project_id": self._rest.project_id()}
        try:
            return self._list("network", "/floatingips", "floatingips", shapes.floating_ip_from, params=params)
        except CloudNotFound as missing:
            if missing.foreign:  # a page of a proxy
                raise
            return []

    def create_floating_ip(
        self, network_id: str, port_id: str, fixed_address: str | None, description: str
    ) -> FloatingIp:
        """Create a floating IP that is bound to the port from the start. *description* holds the mark of the launch."""
        wanted = {"floating_network_id": network_id, "port_id": port_id, "description": description}
        if fixed_address:
            wanted["fixed_ip_address"] = fixed_address
        answer = self._rest.call("network", "POST", "/floatingips", body={"floatingip": wanted}, key="floatingip")
        return self._made("POST /floatingips", shapes.floating_ip_from, answer.document["floatingip"])

    def delete_floating_ip(self, floating_ip_id: str) -> bool:
        """Delete the floating IP; return False when it was already gone."""
        return self._delete("network", f"/floatingips/{in_path(floating_ip_id)}")

    # Addresses

    def reached_addresses(self, server: Server, networks: Sequence[Network]) -> ReachedAddresses:
        """Call addresses.reached_addresses with the settings that clouds.yaml has for this cloud."""
        return addresses.reached_addresses(
            server,
            networks,
            private=self.private,
            force_ipv4=self.force_ipv4,
            roles=self.roles,
            local_ipv6=self.local_ipv6,
        )

    def needs_floating_ip(self, server: Server, networks: Sequence[Network]) -> bool:
        """Call addresses.needs_floating_ip with the settings that clouds.yaml has for this cloud."""
        return addresses.needs_floating_ip(server, networks, private=self.private, roles=self.roles)

    # Helpers

    def _list(
        self,
        service: str,
        path: str,
        key: str,
        make: Callable[[Any], T],
        *,
        params: dict[str, Any] | None = None,
        microversion: str | None = None,
    ) -> list[T]:
        kind = f"GET {path}"

        def page(marker: str | None) -> Any:
            asked = {**(params or {}), "limit": PAGE, **({"marker": marker} if marker else {})}
            return self._rest.call(service, "GET", path, params=asked, microversion=microversion, key=key).document

        return pages(
            page,
            key,
            PAGE,
            make,
            lambda what: self._rest.senseless(kind, what),
            lambda what: self._rest.remarks.put(kind, what and f"{kind}: {what}"),
        )

    def _delete(self, service: str, path: str) -> bool:
        try:
            self._rest.call(service, "DELETE", path)
        except CloudNotFound:
            return False
        return True

    def _made(self, kind: str, make: Callable[[Any], T], document: Any) -> T:
        """Call *make* with a document of the cloud.

        :raises CloudUnavailable: *make* cannot read it, which is the cloud's fault.
        """
        try:
            return json_values.read(make, document)
        except json_values.Unreadable as problem:
            raise self._rest.senseless(kind, str(problem)) from problem
