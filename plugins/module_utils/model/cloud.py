# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain values for the objects of a cloud and for requests to it.

``clients/openstack`` produces and consumes them; the planning layers see nothing else of OpenStack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .errors import CloudError
from .resources import Limits, Resources

# Properties of the images that Nodepool uploads; the third is META_PROVIDER. Images of this collection also have
# META_SITE.
IMAGE_BUILD = "nodepool_build_id"
IMAGE_UPLOAD = "nodepool_upload_id"
_SNAPSHOT = ("instance_uuid", "base_image_ref")
"""nova sets one of these properties on a snapshot of a server, and copies the properties of the server's image."""

# Keys of nova metadata that are set on each server. The first six are Nodepool's (3.x and 11), the last two are this
# collection's.
META_GROUPS = "groups"
META_NODE_ID = "nodepool_node_id"
META_PROVIDER = "nodepool_provider_name"
META_POOL = "nodepool_pool_name"
META_IMAGE = "nodepool_image_name"
META_LABEL = "nodepool_node_label"
META_LAUNCH = "stackci_launch"
"""The mark of a launch: ``<node id>-<attempt>-<nonce>``. The launcher stores it in ZooKeeper before the create, so that
it finds the server even when the answer to the create is lost."""
META_SITE = "stackci_site"
"""The id of the tree in ZooKeeper (``/nodepool/stackci/site``) for which a server or image was made."""


def moment(text: str | None) -> float | None:
    """Return the UNIX time of a time in an API's answer (UTC when it has no zone); None when it cannot be read."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (when if when.tzinfo else datetime.fromisoformat(f"{text}+00:00")).timestamp()


@dataclass(frozen=True)
class Address:
    """One address of a server: network name, address, IP version (4 or 6) and whether it is a floating IP."""

    network: str
    address: str
    version: int
    floating: bool = False
    mac: str = ""


UNKNOWN = "UNKNOWN"
"""The status of a server whose cell does not answer; here also of one without a status."""


@dataclass(frozen=True)
class Server:
    """A server as nova's list shows it. *fault* is the fault message, if any; times are ISO 8601 text of the API.

    *fault_code*: the HTTP status of the exception that ended the build, as nova stores it with the fault.
    *odd*: key → what is wrong with its value, for what the list shows in a type that makes no sense; it is left out.
    """

    id: str
    name: str
    status: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[Address, ...] = ()
    task_state: str | None = None
    fault: str | None = None
    fault_code: int | None = None
    flavor_id: str | None = None
    resources: Resources | None = None
    volume_ids: tuple[str, ...] = ()
    az: str | None = None
    host_id: str | None = None
    created: str | None = None
    updated: str | None = None
    launched_at: str | None = None
    access_ipv4: str = ""
    access_ipv6: str = ""
    odd: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_told(self) -> bool:
        """False while the cloud does not tell what becomes of it: its status, or the addresses that it has then."""
        return self.status != UNKNOWN and not (self.status == "ACTIVE" and "addresses" in self.odd)

    @property
    def launch_mark(self) -> str | None:
        """The mark of its launch, None for a server that this collection did not create."""
        return self.metadata.get(META_LAUNCH)

    @property
    def site(self) -> str:
        """The id of the tree for which it was made, "" when its metadata has none."""
        return self.metadata.get(META_SITE, "")

    @property
    def boot_seconds(self) -> float | None:
        """Seconds from its creation to ACTIVE by the cloud's clock, exact to a second; None when a time is missing."""
        created, launched = moment(self.created), moment(self.launched_at)
        return launched - created if created is not None and launched is not None else None


@dataclass(frozen=True)
class Flavor:
    """A flavor: *cores*, *ram* in MiB, *disk* in GB."""

    id: str
    name: str
    cores: int
    ram: int
    disk: int = 0


@dataclass(frozen=True)
class Image:
    """An image in glance; *size* in bytes, None while it has no data. *properties* include the checksums.

    *unlisted*: why glance's ordinary list does not show it: "hidden" or "community"; "" when that list does.
    *min_disk* in GB and *min_ram* in MiB: what a flavor needs at least.
    """

    id: str
    name: str
    status: str
    properties: Mapping[str, str] = field(default_factory=dict)
    created: str | None = None
    size: int | None = None
    unlisted: str = ""
    min_disk: int = 0
    min_ram: int = 0

    @property
    def site(self) -> str:
        """The id of the tree for which it was uploaded, "" when its properties have none."""
        return self.properties.get(META_SITE, "")

    @property
    def is_snapshot(self) -> bool:
        """True for an image that a user made from a server; it may have all the marks of that server's image."""
        return any(key in self.properties for key in _SNAPSHOT)


@dataclass(frozen=True)
class ImageSpec:
    """A new image. *properties*: glance's own fields and other ones, as text; *disk_format*: qcow2, raw, vhd …"""

    name: str
    disk_format: str
    properties: Mapping[str, str] = field(default_factory=dict)
    tags: Sequence[str] = ()
    """Glance's tags of the image."""


@dataclass(frozen=True)
class Network:
    """A network; *external* is neutron's router:external; *physical*: it has a provider:physical_network.

    *automatic*: it belongs to the project or is shared, so nova may choose it when a create names no network.
    *has_subnet*: False if neutron shows that it has none.
    """

    id: str
    name: str
    external: bool = False
    physical: bool = False
    automatic: bool = False
    has_subnet: bool = True


@dataclass(frozen=True)
class SecurityGroup:
    """A security group of neutron; *own*: it belongs to the project; *admits_ssh*: a rule of it lets TCP 22 in from
    outside, False also where the rules were not read."""

    id: str
    name: str
    own: bool = True
    admits_ssh: bool = False


@dataclass(frozen=True)
class ServerGroup:
    """A server group of nova, whose policy decides about the hosts of its members."""

    id: str
    name: str


@dataclass(frozen=True)
class Port:
    """A port with its fixed addresses; *server_id* is neutron's device_id, "" for a port without a device."""

    id: str
    server_id: str
    network_id: str
    fixed_addresses: tuple[str, ...] = ()
    status: str = ""
    device_owner: str = ""
    description: str = ""
    created: str | None = None


@dataclass(frozen=True)
class FloatingIp:
    """A floating IP; *description* holds the mark of the launch when this collection created it."""

    id: str
    address: str
    status: str
    port_id: str | None = None
    description: str = ""
    created: str | None = None


@dataclass(frozen=True)
class Volume:
    """A volume of cinder; *server_ids* are those of its attachments."""

    id: str
    name: str
    status: str
    server_ids: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    created: str | None = None


@dataclass(frozen=True)
class CloudLimits:
    """One reading of the project's limits and usage in all the services that were asked.

    *bounds*: upper limits. *used*: the usage that the services report; a name that no service reports is absent.
    *lacks*: why cinder or neutron did not tell theirs.
    """

    bounds: Limits
    used: Resources
    lacks: tuple[CloudError, ...] = ()
    asks_neutron: bool = True
    """False if neutron was not asked: the catalog does not have it."""


@dataclass(frozen=True)
class ServerSpec:
    """All parameters of one create."""

    name: str
    image_id: str
    flavor_id: str
    metadata: Mapping[str, str]
    az: str | None = None
    network_ids: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    key_name: str | None = None
    config_drive: bool | None = None
    userdata: str | None = None
    boot_from_volume: bool = False
    volume_size: int = 50
    scheduler_hints: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReachedAddresses:
    """The addresses of an active server in Nodepool's fields; "" when there is no address for a field."""

    public_ipv4: str = ""
    private_ipv4: str = ""
    public_ipv6: str = ""
    interface_ip: str = ""
