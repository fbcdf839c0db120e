# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a nodepool.yaml as immutable objects with every default filled in, and all that is said of an option.

The line of an attribute is the whole declaration of its option (:mod:`options`): a new option is one line here, and its
use. Times are seconds, ram is MiB, volumes are GB, as in Nodepool's manual. Objects compare by content, so that a
changed provider can be detected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from ..resources import Limits
from .drivers import OTHER_DRIVERS, OURS
from .gate_settings import CANARY_PREFIX, GateSettings
from .launch_settings import OURS_ONLY, LaunchSettings, Probe
from .limit_keys import LIMITS, TenantLimit, limits_of
from .option_kinds import (
    SCALAR,
    SERVER_NAME,
    WITHOUT_EFFECT,
    ZNODE_NAME,
    anything,
    as_texts,
    at_least,
    choice,
    count,
    derived,
    fraction,
    joined,
    mapping,
    needed_text,
    part,
    parts,
    port,
    positive_or_endless,
    properties,
    seconds,
    switch,
    tags_of,
    text,
    texts,
)
from .options import (
    APPENDED,
    MERGED,
    MOST_SECONDS,
    NODEPOOL,
    PARENT,
    PARENT_OR_FALSE,
    POOL,
    PROVIDER,
    SECURE,
    SETTINGS,
    Raw,
    private_keys,
    section,
)
from .section_rules import ours_only, present, rule
from .usage_budget import UsageBudget

BOTH, NAMED, EVERYWHERE = (NODEPOOL, SECURE), (NODEPOOL, SETTINGS), (NODEPOOL, SECURE, SETTINGS)
WINRM_PORT = 5986
CONFIG_DRIVE = "Give servers a config drive; the cloud's choice when absent."
IMAGE_ACCOUNT = "Account that Ansible uses on the node."
PYTHON = "Python interpreter on the node."
SHELL = "Shell of the account, for Ansible."
POOL_SIZE = count("Maximum number of servers; 0 or less disables the pool.", least=None, unit="servers")
CONNECTION = "How Ansible connects."
CONNECTION_PORT = "Port to connect to; 5986 for winrm."
PROBE = "What a node of the image must pass before it is handed over."


def _connection_port(item: Raw) -> int:
    return WINRM_PORT if item.get("connection-type") == "winrm" else 22


@section("zookeeper server", "One server of the ZooKeeper ensemble.")
@dataclass(frozen=True)
class ZooKeeperServer:
    """One server of the ensemble."""

    host: str = needed_text("Name or address; an IPv6 address with or without brackets.", files=BOTH)
    port: int = port("TCP port.", 2281, files=BOTH)
    chroot: str = text("Path below which everything is kept; that of one server applies to all.", "", files=BOTH)


@section("zookeeper-tls", "Paths of PEM files for TLS with a client certificate.")
@dataclass(frozen=True)
class ZooKeeperTls:
    """Paths of PEM files."""

    cert: str = needed_text("The client's certificate.", files=BOTH)
    key: str = needed_text("The client's private key.", files=BOTH)
    ca: str = needed_text("The certificate of the authority.", files=BOTH)


@section("zookeeper-auth", "The account of this client in ZooKeeper.")
@dataclass(frozen=True)
class ZooKeeperAuth:
    """The account of this client."""

    username: str = needed_text(
        "Name of the account.",
        files=(SECURE,),
        pattern=r"^[^\s:\x00-\x1f\x7f]+$",
        errorMessage="cannot be the name of an account: leave out colons, blanks and control characters",
    )
    password: str = needed_text("Password of the account.", files=(SECURE,), private=True)
    scheme: str = text(
        "digest sends name and password to the server, which needs no configuration for it; sasl proves the password "
        "by DIGEST-MD5 to a server that knows the account, and needs the Python library pure-sasl.",
        "digest",
        files=(SECURE,),
        enum=["digest", "sasl", None],
    )
    former_password: str = text(
        "The previous password, while it is being replaced; scheme digest only.", "", files=(SECURE,), private=True
    )
    protect: bool = switch(
        "Only this account may change what the collection keeps in ZooKeeper; for launchers and builders, not for "
        "requestors.",
        False,
        files=(SECURE,),
    )


@section("zookeeper", "The connection to ZooKeeper.")
@dataclass(frozen=True)
class ZooKeeperSettings:
    """The settings of the connection to ZooKeeper.

    *tls* None means a connection without TLS, *auth* None an anonymous client.
    """

    servers: tuple[ZooKeeperServer, ...] = parts(
        "The ZooKeeper ensemble. Required here or in secure.conf.",
        ZooKeeperServer,
        key="zookeeper-servers",
        files=BOTH,
        minItems=1,
    )
    tls: ZooKeeperTls | None = part(
        "TLS with a client certificate; without it the connection is plain.",
        ZooKeeperTls,
        key="zookeeper-tls",
        files=BOTH,
    )
    auth: ZooKeeperAuth | None = part(
        "The account of this client in ZooKeeper; without it the client is anonymous.",
        ZooKeeperAuth,
        key="zookeeper-auth",
        files=(SECURE,),
    )
    timeout: float = fraction("Session time-out of ZooKeeper.", 10.0, least=0.1, key="zookeeper-timeout")


@section("webapp", "The web service.")
@dataclass(frozen=True)
class Webapp:
    """The settings of the web service."""

    port: int = port("TCP port.", 8005)
    listen_address: str = text("Address to listen on.", "127.0.0.1", key="listen_address")


@section("label", "A label that can be asked for.")
@dataclass(frozen=True)
class Label:
    """A top-level label. 0 means off for both numbers."""

    name: str = needed_text("Name of the label.", files=NAMED, **SERVER_NAME)
    min_ready: int = count("Nodes to keep ready; 0 or less for none.", 0, least=None, unit="nodes", read=at_least(0))
    max_ready_age: int = seconds(
        "Ready nodes older than this are deleted; 0 or less switches it off.", 0, least=-MOST_SECONDS, read=at_least(0)
    )
    launches: LaunchSettings = joined(LaunchSettings)


@section(
    "diskimage",
    "An image that is built with diskimage-builder.",
    alone={
        "abstract": switch("Only a template for others, never built.", False),
        "parent": text("The diskimage to inherit from; chains are fine, circles are an error.", minLength=1),
    },
)
@dataclass(frozen=True)
class Diskimage:
    """A top-level diskimage after inheritance (abstract ones are not in the configuration's mapping)."""

    name: str = needed_text("Name of the image.", files=EVERYWHERE, **ZNODE_NAME)
    elements: tuple[str, ...] = texts("Elements of diskimage-builder.", inherits=APPENDED)
    env_vars: Mapping[str, str] = mapping(
        "Environment of the build; values are text: put numbers in quotes. Those in secure.conf override these and are "
        "not inherited.",
        {"type": "string"},
        inherits=MERGED,
        files=BOTH,
        private=True,
    )
    release: str = text("DIB_RELEASE.", "", type=["string", "number", "null"], inherits=PARENT, read=str)
    formats: tuple[str, ...] = texts("Formats to build besides those that providers need.", inherits=PARENT)
    keep_formats: tuple[str, ...] = texts("Formats to keep when delete-after-upload is set.", inherits=PARENT)
    delete_after_upload: bool = switch(
        "Delete local files once they are uploaded everywhere.", False, inherits=PARENT_OR_FALSE
    )
    rebuild_age: int = seconds("Build again when the newest image is this old.", 86400, inherits=PARENT)
    build_timeout: int = seconds("Maximum time for a build.", 28800, inherits=PARENT)
    pause: bool = switch("Build no new images, not even on request.", False, inherits=PARENT)
    username: str = text(IMAGE_ACCOUNT, "zuul", inherits=PARENT)
    python_path: str = text(PYTHON, "auto", inherits=PARENT)
    shell_type: str | None = text(SHELL, inherits=PARENT)
    dib_cmd: str = text("Command that builds.", "disk-image-create", inherits=PARENT)
    metadata: Mapping[str, str] = properties(
        "Properties of the image in every cloud; the list tags in it becomes the tags of the image."
    )
    tags: tuple[str, ...] = tags_of("metadata")
    """Glance's tags of the image in every cloud; ``tags`` of *metadata* in nodepool.yaml."""
    gate: GateSettings | None = part(
        "Test of each new upload before nodes are made from it.", GateSettings, inherits=PARENT, files=(SETTINGS,)
    )
    builder_gone_after: int = seconds(
        "Time without a cycle of the builder that has the newest build. After it, another builder builds the image "
        "again if a provider waits for its files.",
        1800,
        least=1,
        inherits=PARENT,
        files=OURS_ONLY,
    )
    fall_back: bool = switch(
        "Try a new build with few launches first, and launch from the build before it where they fail.",
        True,
        files=OURS_ONLY,
    )
    probe: Probe | None = part(PROBE, Probe, inherits=PARENT, files=OURS_ONLY)


@section("diskimage", "A diskimage that is uploaded to this provider.")
@dataclass(frozen=True)
class ProviderDiskimage:
    """The settings of a diskimage at a provider."""

    name: str = needed_text("Name of the diskimage.")
    pause: bool = switch("Upload no new images.", False)
    config_drive: bool | None = switch(CONFIG_DRIVE)
    meta: Mapping[str, str] = properties(
        "Properties of the image in this cloud; the list tags in it becomes the tags of the image."
    )
    tags: tuple[str, ...] = tags_of("meta")
    """Glance's tags of the image; ``tags`` of *meta* in nodepool.yaml."""
    connection_type: str = text(CONNECTION, "ssh")
    connection_port: int = port(CONNECTION_PORT, 22, derive=_connection_port)


@section(
    "cloud-image",
    "An image that is in the cloud already.",
    rules={
        "not": {"allOf": [present("image-id"), present("image-name")]},
        "errorMessage": "has both image-id and image-name: keep one of them",
    },
)
@dataclass(frozen=True)
class CloudImage:
    """An image that is in the cloud already: by id, or by name in glance."""

    name: str = needed_text("Name here, and in the cloud without image-id and image-name.", files=NAMED, **SERVER_NAME)
    image_id: str | None = text("Id of the image.", minLength=1)
    image_name: str | None = text("Name of the image in the cloud; not together with image-id.", minLength=1)
    config_drive: bool | None = switch(CONFIG_DRIVE)
    username: str | None = text(IMAGE_ACCOUNT)
    python_path: str = text(PYTHON, "auto")
    shell_type: str | None = text(SHELL)
    connection_type: str = text(CONNECTION, "ssh")
    connection_port: int = port(CONNECTION_PORT, 22, derive=_connection_port)
    probe: Probe | None = part(PROBE, Probe, files=OURS_ONLY)


@section(
    "label",
    "How a pool makes nodes of a label.",
    rules={
        "allOf": [
            rule("oneOf", ("diskimage", "cloud-image"), "needs exactly one of diskimage and cloud-image"),
            rule("anyOf", ("flavor-name", "min-ram"), "needs flavor-name or min-ram: say which flavor to use"),
        ]
    },
)
@dataclass(frozen=True)
class PoolLabel:
    """A label as a pool offers it, with the pool's values filled in.

    Exactly one of *diskimage* and *cloud_image* is set.
    """

    name: str = needed_text("Name of a label at the top of the file.", files=NAMED, **SERVER_NAME)
    diskimage: str | None = text(
        "A diskimage of this provider; exactly one of diskimage and cloud-image is needed. With a diskimage that the "
        "provider does not list, the label is not offered here.",
        minLength=1,
    )
    cloud_image: str | None = text("A cloud-image of this provider.", minLength=1)
    flavor_name: str | None = text(
        "Name or id of the flavor; with min-ram a part of its name. One of the two is needed.", minLength=1
    )
    min_ram: int = count("The smallest flavor with at least this much memory, in MiB.", 0, unit="MiB")
    key_name: str | None = text("Key pair in the cloud.", minLength=1)
    console_log: bool = switch("Log the console of a server that failed to start.", False)
    boot_from_volume: bool = switch("Boot from a new volume that is deleted with the server.", False)
    volume_size: int = count("Size of that volume, in GB.", 50, least=1, unit="GB")
    instance_properties: Mapping[str, str] = mapping(
        "Metadata of the server; values become text.", SCALAR, private=True, read=as_texts
    )
    dynamic_instance_properties: Mapping[str, str] = mapping(
        "Metadata of the server; {request.…} is replaced by a value of the request.",
        SCALAR,
        private=True,
        read=as_texts,
    )
    userdata: str | None = text("User data for cloud-init.", private=True)
    networks: tuple[str, ...] = texts("Names or ids of networks.", inherits=POOL)
    host_key_checking: bool = switch("Wait until the node answers by ssh.", True, inherits=POOL)
    launches: LaunchSettings = joined(LaunchSettings)
    channel: str = derived(lambda item: "")
    """Which build of its diskimage it is made from: one of the channels, or "" for the one in use."""

    @property
    def is_canary(self) -> bool:
        """True for the label of a gate whose nodes are made from the upload that is tested."""
        return self.diskimage is not None and self.name == CANARY_PREFIX + self.diskimage

    @property
    def image_name(self) -> str:
        """The name of its image in nodepool.yaml."""
        return self.diskimage or self.cloud_image or ""


@section(
    "pool",
    "A part of a provider with its own limits.",
    alone={**LIMITS, "max-servers": POOL_SIZE, "use-internal-ip": anything(WITHOUT_EFFECT)},
)
@dataclass(frozen=True)
class Pool:
    """A pool of a provider. *limits* has the configured limits of instances, cores, ram, volumes and volume-gb."""

    name: str = needed_text("Name of the pool.", files=NAMED, **ZNODE_NAME)
    priority: int = count("The smallest is used first.", 100, least=None, inherits=PROVIDER)
    limits: Limits = derived(limits_of)
    ignore_provider_quota: bool = switch("Look only at the limits of this pool.", False)
    availability_zones: tuple[str, ...] = texts("Zones to use; all of the cloud when absent.")
    networks: tuple[str, ...] = texts("Names or ids of networks; without them nova must have one network to choose.")
    security_groups: tuple[str, ...] = texts("Names or ids of security groups.")
    auto_floating_ip: bool = switch("Give a server a floating IP when it needs one.", True)
    host_key_checking: bool = switch("Wait until a node answers by ssh and keep its host keys.", True)
    node_attributes: Mapping[str, Any] | None = anything(
        "Passed to the requestor of the node.", type=["object", "null"], private=True
    )
    labels: Mapping[str, PoolLabel] = parts("Labels that this pool offers.", PoolLabel, files=NAMED)

    @property
    def max_servers(self) -> float:
        """The maximum number of servers; math.inf when not configured; 0 or less disables the pool."""
        return self.limits["instances"]


@section(
    "provider",
    "A cloud, or a region of it.",
    alone={
        "driver": choice("openstack; a provider with another driver is ignored.", [OURS, *OTHER_DRIVERS, None], OURS),
        "nodepool-id": anything(WITHOUT_EFFECT),
    },
    wrap=ours_only,
)
@dataclass(frozen=True)
class Provider:
    """A provider of the openstack driver."""

    name: str = needed_text("Name of the provider.", files=NAMED, **ZNODE_NAME)
    cloud: str = needed_text("Name of the cloud in clouds.yaml.")
    region_name: str | None = text("Region of the cloud.", minLength=1)
    priority: int = count(
        "The smallest is used first; a starting launcher makes the others wait up to 10 s until its cloud answers.",
        100,
        least=None,
    )
    max_concurrency: float = count(
        "Maximum launches in progress; 0 or less for no limit.", math.inf, least=None, read=positive_or_endless
    )
    """The maximum number of launches at the same time; math.inf when not configured or not positive."""
    rate: float = fraction("Minimum time between the starts of two API calls; 0 for no delay.", 0.0, least=0)
    boot_timeout: int = seconds("Maximum time from an address to an answer by ssh.", 60, least=1)
    launch_timeout: int = seconds("Maximum time for the cloud to start a server.", 3600, least=1)
    launch_retries: int = count("Attempts for a node; 0 acts as 1.", 3, unit="attempts", read=at_least(1))
    image_upload_timeout: int = seconds("Maximum time for an upload.", 3600, least=1)
    image_name_format: str = text(
        "Name of an uploaded image, of {image_name}, {upload_id} and {timestamp}.", "{image_name}-{timestamp}"
    )
    post_upload_hook: str | None = text("Script that is called after an upload.")
    clean_floating_ips: bool = switch("Delete floating IPs of ours that nothing uses.", False)
    port_cleanup_interval: int = seconds("Time between two clean-ups of ports; 0 switches them off.", 600)
    diskimages: Mapping[str, ProviderDiskimage] = parts("Diskimages to upload to this provider.", ProviderDiskimage)
    cloud_images: Mapping[str, CloudImage] = parts("Images that are in the cloud already.", CloudImage, files=NAMED)
    pools: Mapping[str, Pool] = parts("Pools of the provider.", Pool, files=NAMED)


@dataclass(frozen=True)
class ImageSettings(CloudImage):
    """The settings of a label's image that a launch needs, for both kinds: ``diskimage`` and ``cloud-image``.

    For a diskimage *image_id* and *image_name* are None: the upload record in ZooKeeper names the cloud's image.
    """

    kind: str = "cloud-image"


@section("top", "Configuration of Nodepool.")
@dataclass(frozen=True)
class NodepoolConfig:
    """A whole configuration. *warnings* are sentences about parts that were ignored."""

    path: str
    zookeeper: ZooKeeperSettings = joined(ZooKeeperSettings)
    images_dir: str | None = text("Where built images are kept. The builder needs it.")
    elements_dir: str | None = text("Where elements are looked for; several with colons between them.")
    build_log_dir: str = text("Where logs of builds are kept.", "/var/log/nodepool/builds")
    build_log_retention: int = count(
        "Logs to keep for each image; 0 acts as 1, -1 keeps all.", 7, least=-1, unit="logs"
    )
    webapp: Webapp = part("The web service.", Webapp, Webapp())
    max_hold_age: int = seconds(
        "Held nodes are released after this; 0 or less switches it off.", 0, least=-MOST_SECONDS, read=at_least(0)
    )
    labels: Mapping[str, Label] = parts("Labels that can be asked for.", Label, files=NAMED)
    diskimages: Mapping[str, Diskimage] = parts("Images that are built here.", Diskimage, files=EVERYWHERE)
    providers: Mapping[str, Provider] = parts("Clouds to use.", Provider, files=NAMED)
    tenant_limits: Mapping[str, Limits] = parts(
        "Limits for the nodes of one tenant.",
        TenantLimit,
        key="tenant-resource-limits",
        read=attrgetter("limits"),
    )
    usage_budgets: Mapping[str, UsageBudget] = parts(
        "Node-hours that tenants should not exceed.", UsageBudget, files=(SETTINGS,)
    )
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
            probe=built.probe,
        )

    @staticmethod
    def probe(label: PoolLabel, image: ImageSettings) -> Probe | None:
        """Return what a node of a pool's label must pass before it is handed over; None for nothing more than ssh."""
        return label.launches.probe or image.probe


PRIVATE_SECTIONS = private_keys(NodepoolConfig)
"""Keys whose values are never shown: they have any content and may hold secrets."""
