# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a nodepool.yaml as immutable objects with every default filled in.

Times are seconds, ram is MiB, volumes are GB, as in Nodepool's manual. Objects compare by content, so that a changed
provider can be detected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..resources import Limits


@dataclass(frozen=True)
class ZooKeeperServer:
    """One server of the ensemble."""

    host: str
    port: int = 2281
    chroot: str = ""


@dataclass(frozen=True)
class ZooKeeperTls:
    """Paths of PEM files."""

    cert: str
    key: str
    ca: str


@dataclass(frozen=True)
class ZooKeeperAuth:
    """The account of this client.

    :ivar scheme: ``digest`` or ``sasl``.
    :ivar former_password: the password before, while it is being replaced; "" without one.
    :ivar protect: only this account may change the collection's own part of the tree.
    """

    username: str
    password: str = field(repr=False)
    scheme: str = "digest"
    former_password: str = field(default="", repr=False)
    protect: bool = False


@dataclass(frozen=True)
class ZooKeeperSettings:
    """The settings of the connection to ZooKeeper.

    *tls* None means a connection without TLS, *auth* None an anonymous client.
    """

    servers: tuple[ZooKeeperServer, ...]
    tls: ZooKeeperTls | None = None
    auth: ZooKeeperAuth | None = None
    timeout: float = 10.0


@dataclass(frozen=True)
class Label:
    """A top-level label. 0 means off for both numbers."""

    name: str
    min_ready: int = 0
    max_ready_age: int = 0


@dataclass(frozen=True)
class Diskimage:
    """A top-level diskimage after inheritance (abstract ones are not in the configuration's mapping)."""

    name: str
    elements: tuple[str, ...] = ()
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)
    """May hold secrets, so it is left out of ``repr``, which may be logged."""
    release: str = ""
    formats: tuple[str, ...] = ()
    keep_formats: tuple[str, ...] = ()
    delete_after_upload: bool = False
    rebuild_age: int = 86400
    build_timeout: int = 28800
    pause: bool = False
    username: str = "zuul"
    python_path: str = "auto"
    shell_type: str | None = None
    dib_cmd: str = "disk-image-create"
    metadata: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    """Glance's tags of the image in every cloud; ``tags`` of *metadata* in nodepool.yaml."""


@dataclass(frozen=True)
class ProviderDiskimage:
    """The settings of a diskimage at a provider."""

    name: str
    pause: bool = False
    config_drive: bool | None = None
    meta: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    """Glance's tags of the image; ``tags`` of *meta* in nodepool.yaml."""
    connection_type: str = "ssh"
    connection_port: int = 22


@dataclass(frozen=True)
class CloudImage:
    """An image that is in the cloud already: by id, or by name in glance."""

    name: str
    image_id: str | None = None
    image_name: str | None = None
    config_drive: bool | None = None
    username: str | None = None
    python_path: str = "auto"
    shell_type: str | None = None
    connection_type: str = "ssh"
    connection_port: int = 22


@dataclass(frozen=True)
class PoolLabel:
    """A label as a pool offers it, with the pool's values filled in.

    Exactly one of *diskimage* and *cloud_image* is set.
    """

    name: str
    diskimage: str | None = None
    cloud_image: str | None = None
    flavor_name: str | None = None
    min_ram: int = 0
    key_name: str | None = None
    console_log: bool = False
    boot_from_volume: bool = False
    volume_size: int = 50
    instance_properties: Mapping[str, str] = field(default_factory=dict)
    dynamic_instance_properties: Mapping[str, str] = field(default_factory=dict)
    userdata: str | None = field(default=None, repr=False)
    networks: tuple[str, ...] = ()
    host_key_checking: bool = True

    @property
    def image_name(self) -> str:
        """The name of its image in nodepool.yaml."""
        return self.diskimage or self.cloud_image or ""


@dataclass(frozen=True)
class Pool:
    """A pool of a provider. *limits* has the configured limits of instances, cores, ram, volumes and volume-gb."""

    name: str
    priority: int = 100
    limits: Limits = field(default_factory=Limits)
    ignore_provider_quota: bool = False
    availability_zones: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    security_groups: tuple[str, ...] = ()
    auto_floating_ip: bool = True
    host_key_checking: bool = True
    node_attributes: Mapping[str, Any] | None = None
    labels: Mapping[str, PoolLabel] = field(default_factory=dict)

    @property
    def max_servers(self) -> float:
        """The maximum number of servers; math.inf when not configured; 0 or less disables the pool."""
        return self.limits["instances"]


@dataclass(frozen=True)
class Provider:
    """A provider of the openstack driver."""

    name: str
    cloud: str
    region_name: str | None = None
    priority: int = 100
    max_concurrency: float = math.inf
    """The maximum number of launches at the same time; math.inf when not configured or not positive."""
    rate: float = 0.0
    boot_timeout: int = 60
    launch_timeout: int = 3600
    launch_retries: int = 3
    image_upload_timeout: int = 3600
    image_name_format: str = "{image_name}-{timestamp}"
    post_upload_hook: str | None = None
    clean_floating_ips: bool = False
    port_cleanup_interval: int = 600
    diskimages: Mapping[str, ProviderDiskimage] = field(default_factory=dict)
    cloud_images: Mapping[str, CloudImage] = field(default_factory=dict)
    pools: Mapping[str, Pool] = field(default_factory=dict)


@dataclass(frozen=True)
class ImageSettings(CloudImage):
    """The settings of a label's image that a launch needs, for both kinds: ``diskimage`` and ``cloud-image``.

    For a diskimage *image_id* and *image_name* are None: the upload record in ZooKeeper names the cloud's image.
    """

    kind: str = "cloud-image"


@dataclass(frozen=True)
class NodepoolConfig:
    """A whole configuration. *warnings* are sentences about parts that were ignored."""

    path: str
    zookeeper: ZooKeeperSettings
    labels: Mapping[str, Label] = field(default_factory=dict)
    diskimages: Mapping[str, Diskimage] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    tenant_limits: Mapping[str, Limits] = field(default_factory=dict)
    max_hold_age: int = 0
    images_dir: str | None = None
    elements_dir: str | None = None
    build_log_dir: str = "/var/log/nodepool/builds"
    build_log_retention: int = 7
    webapp_port: int = 8005
    webapp_listen_address: str = "127.0.0.1"
    warnings: tuple[str, ...] = ()

    def connection_type(self, provider: str | None, pool: str | None, label: str) -> str | None:
        """Return the ``connection-type`` of the image of *label* in a pool; None when the configuration lacks it."""
        there = self.providers.get(provider or "")
        offered = there.pools[pool or ""].labels.get(label) if there and (pool or "") in there.pools else None
        return self.image_settings(there, offered).connection_type if there and offered else None

    def image_settings(self, provider: Provider, label: PoolLabel) -> ImageSettings:
        """Return the image of *label* at *provider*. The loader has checked that it is defined."""
        if label.diskimage is None:
            image = provider.cloud_images[label.cloud_image or ""]
            return ImageSettings(**{**vars(image), "image_name": image.image_name or image.name})
        built, local = self.diskimages[label.diskimage], provider.diskimages[label.diskimage]
        return ImageSettings(
            kind="diskimage",
            name=built.name,
            username=built.username,
            python_path=built.python_path,
            shell_type=built.shell_type,
            connection_type=local.connection_type,
            connection_port=local.connection_port,
            config_drive=local.config_drive,
        )
