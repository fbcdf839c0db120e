# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of the simulated clouds, and what of it can be changed while they run."""

from __future__ import annotations

import ipaddress
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.simcloud.plane import ControlPlane
from tests.simcloud.timing import Duration

NAMESPACE = uuid.UUID("5a6bb1f0-6f2d-4a3c-9d0a-3f7d0f0f5c11")
UNLIMITED = -1
LATENCIES: dict[str, dict[str, Any]] = {
    "busy": {
        "POST /servers": {"kind": "lognormal", "median": 5.0, "p99": 60.0},
        "GET /servers/detail": {"kind": "lognormal", "median": 0.5, "p99": 4.0},
        "default": {"kind": "lognormal", "median": 0.1, "p99": 1.5},
    }
}
"""Profiles: latencies that have a name."""
AT_ONCE = Duration("fixed", 0.0)
HALF_A_SECOND = Duration("fixed", 0.5)
SWITCHES = (*("faults_in_lists", "double_addresses", "cells_down", "unique_names", "images_rewritten", "object_store"),)
"""By default the cloud is as terse as a real one, and well."""
ONE_SECOND = Duration("fixed", 1.0)

DEFAULT_QUOTA = {
    "instances": 20,
    "cores": 100,
    "ram": 204800,
    "ports": 500,
    "floating_ips": 50,
    "volumes": 10,
    "gigabytes": 1000,
    "server_group_members": 10,
}
GROUP_POLICIES = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")
KEY_TYPES = ("ed25519", "ecdsa", "rsa")


def stable_id(*parts: str) -> str:
    """Return the same UUID for the same words, so that ids survive a restart of the service."""
    return str(uuid.uuid5(NAMESPACE, "/".join(parts)))


@dataclass(frozen=True)
class FlavorConfig:
    id: str
    name: str
    vcpus: int
    ram: int
    disk: int
    extra_specs: dict[str, str]


@dataclass(frozen=True)
class ImageConfig:
    """An image; a community image belongs to another project, so that the ordinary list leaves it out."""

    id: str
    name: str
    min_disk: int
    min_ram: int
    size: int
    properties: dict[str, str]
    status: str = "active"
    hidden: bool = False
    visibility: str = "shared"


@dataclass(frozen=True)
class SubnetConfig:
    id: str
    cidr: ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class NetworkConfig:
    """A network.

    :ivar router: of a network of the project: a router connects it to the first external network that has IPv4; of an
        external network: it may be that one.
    """

    id: str
    name: str
    external: bool
    shared: bool
    subnets: tuple[SubnetConfig, ...]
    router: bool = True


@dataclass(frozen=True)
class GuestConfig:
    """How servers are made reachable.

    :ivar mode: ``each`` gives every server host keys of its own, ``shared`` gives all the same.
    :ivar port: TCP port of ssh, 0 picks a free one.
    :ivar authorized_keys: path of the file with the public keys that may log in; None lets nobody in.
    """

    mode: str = "each"
    port: int = 0
    authorized_keys: str | None = None
    key_types: tuple[str, ...] = ("ed25519",)
    boot_delay: Duration = AT_ONCE


@dataclass
class Settings:
    """What the control endpoint can change. Durations in seconds, ram in MiB; -1 is without limit.

    :ivar shown_deleted: for how long a server is listed as DELETED, and counts, after its deletion.
    :ivar faults_in_lists: listings show faults, too, not only the answer about the one server.
    :ivar unique_names: nova's osapi_compute_unique_server_name_scope is "project".
    :ivar double_addresses: a second floating IP for the same fixed one is not refused.
    :ivar images_become: disk format to which the cloud converts each image that arrives; "" leaves them alone.
    :ivar images_rewritten: the cloud writes each image that arrives anew, in its own format.
    :ivar object_store: the cloud has swift, and a user may have glance import images from it by tasks.
    :ivar clock_offset: seconds by which the clock of keystone is ahead; its tokens live as long as always.
    :ivar hosts: how many hypervisors each zone has.
    :ivar catalog: type of a service → what the catalog shows of it instead of the truth: None for nothing, else any of
        ``region``, ``interface`` (the only one) and ``path`` (from the root of the cloud) or ``url``.
    :ivar cells_down: no cell answers: listings are empty, a question about one server gets 500, no zone is available.
    """

    boot: Duration = ONE_SECOND
    delete: Duration = HALF_A_SECOND
    shown_deleted: Duration = HALF_A_SECOND
    faults_in_lists: bool = False
    double_addresses: bool = False
    cells_down: bool = False
    unique_names: bool = False
    images_rewritten: bool = False
    object_store: bool = False
    quota_race: float = 0.2
    quota: dict[str, int] = field(default_factory=lambda: dict(DEFAULT_QUOTA))
    latency: dict[str, Duration] = field(default_factory=dict)
    plane: ControlPlane | None = None
    token_life: float = 3600.0
    clock_offset: float = 0.0
    azs: list[str] = field(default_factory=lambda: ["nova"])
    page_limit: int = 1000
    hosts: int = 8
    password: str = "secret"
    images_become: str = ""
    catalog: dict[str, dict[str, str] | None] = field(default_factory=dict)

    def change(self, document: Mapping[str, Any]) -> None:
        """Apply a document of changes; ``quota`` and ``latency`` are merged, the rest is replaced.

        :raises ValueError: on an unknown name or a value that makes no sense; nothing is changed then.
        """
        fresh: dict[str, Any] = {}
        for name, value in document.items():
            if name in ("boot", "delete", "shown_deleted"):
                fresh[name] = Duration.parse(value)
            elif name in SWITCHES:
                fresh[name] = bool(value)
            elif name in ("quota_race", "token_life"):
                fresh[name] = Duration.parse(value).a
            elif name == "clock_offset":
                fresh[name] = float(value)
            elif name == "quota":
                unknown = sorted(set(value) - set(DEFAULT_QUOTA))
                if unknown:
                    raise ValueError(f"unknown quota {', '.join(unknown)}: use {', '.join(DEFAULT_QUOTA)}")
                fresh[name] = {**self.quota, **{key: int(limit) for key, limit in value.items()}}
            elif name == "latency":
                if isinstance(value, str):
                    if value not in LATENCIES:
                        raise ValueError(f"unknown latency {value!r}: use {', '.join(LATENCIES)}, seconds or a mapping")
                    value = LATENCIES[value]
                if not isinstance(value, Mapping):
                    value = {"default": value}
                fresh[name] = {**self.latency, **{kind: Duration.parse(spec) for kind, spec in value.items()}}
            elif name == "plane":
                fresh[name] = None if value is None else ControlPlane(**{key: value[key] for key in value})
            elif name == "catalog":
                fresh[name] = {str(kind): None if shown is None else dict(shown) for kind, shown in value.items()}
            elif name == "azs":
                fresh[name] = [str(zone) for zone in value]
            elif name in ("page_limit", "hosts"):
                fresh[name] = max(1, int(value))
            elif name in ("password", "images_become"):
                fresh[name] = str(value)
            else:
                raise ValueError(f"unknown setting {name!r}")
        for name, value in fresh.items():
            setattr(self, name, value)


@dataclass(frozen=True)
class ServerGroupConfig:
    id: str
    name: str
    policy: str


@dataclass
class CloudConfig:
    """One cloud.

    :ivar identity_of: name of the cloud whose keystone this one uses; it is then another region of that cloud.
    """

    name: str
    region: str
    username: str
    project: str
    flavors: list[FlavorConfig]
    images: list[ImageConfig]
    networks: list[NetworkConfig]
    keypairs: list[str]
    security_groups: list[str]
    server_groups: list[ServerGroupConfig]
    settings: Settings
    seed: int
    guests: GuestConfig | None
    identity_of: str | None


@dataclass
class ServiceConfig:
    clouds: dict[str, CloudConfig]


class _Subnets:
    """Hands out a private range to each network that names none: loopback where guests are to be reached."""

    def __init__(self) -> None:
        self._loopback = 16
        self._private = 0

    def take(self, guests: bool) -> str:
        if guests:
            self._loopback += 1
            if self._loopback > 254:
                raise ValueError("too many networks with guests: there are 238 loopback ranges")
            return f"127.{self._loopback}.0.0/16"
        self._private += 1
        return f"10.{self._private % 256}.0.0/16"


def parse(document: Mapping[str, Any]) -> ServiceConfig:
    """Read the configuration of the service: ``{"clouds": {name: {...}}}``.

    :raises ValueError: naming the cloud and what is wrong.
    """
    clouds = document.get("clouds")
    if not isinstance(clouds, Mapping) or not clouds:
        raise ValueError("the configuration needs 'clouds', a mapping with at least one cloud")
    subnets = _Subnets()
    parsed = {}
    for name, spec in clouds.items():
        try:
            parsed[name] = _parse_cloud(name, spec, subnets)
        except (ValueError, TypeError, KeyError) as problem:
            raise ValueError(f"cloud {name}: {problem}") from problem
    for cloud in parsed.values():
        if cloud.identity_of is not None and cloud.identity_of not in parsed:
            raise ValueError(f"cloud {cloud.name}: identity_of names {cloud.identity_of}, which is no cloud here")
    return ServiceConfig(parsed)


CLOUD_KEYS = frozenset(
    """region username password project flavors images networks keypairs security_groups
    seed guests identity_of boot delete shown_deleted quota_race quota latency plane token_life azs page_limit
    clock_offset faults_in_lists double_addresses cells_down server_groups hosts catalog""".split()
)
SETTING_KEYS = (
    *("boot", "delete", "shown_deleted", "quota_race", "quota", "latency", "plane", "token_life", "azs", "page_limit"),
    *("hosts", "password", "clock_offset", "catalog", *SWITCHES),
)


def _parse_cloud(name: str, spec: Mapping[str, Any], subnets: _Subnets) -> CloudConfig:
    unknown = sorted(set(spec) - CLOUD_KEYS)
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}")
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name == "control":
        raise ValueError("a cloud's name is a path prefix: letters, digits, dash, dot and underscore, not 'control'")
    settings = Settings()
    settings.change({key: spec[key] for key in SETTING_KEYS if key in spec})
    guests = _parse_guests(spec.get("guests"))
    return CloudConfig(
        name=name,
        region=spec.get("region", "RegionOne"),
        username=spec.get("username", "nodepool"),
        project=spec.get("project", "ci"),
        flavors=[_parse_flavor(name, entry) for entry in spec.get("flavors", [])],
        images=[_parse_image(name, entry) for entry in spec.get("images", [])],
        networks=[_parse_network(name, entry, subnets, guests is not None) for entry in spec.get("networks", [])],
        keypairs=list(spec.get("keypairs", [])),
        security_groups=["default", *spec.get("security_groups", [])],
        server_groups=[_parse_server_group(name, entry) for entry in spec.get("server_groups", [])],
        settings=settings,
        seed=int(spec.get("seed", 1)),
        guests=guests,
        identity_of=spec.get("identity_of"),
    )


def _parse_guests(spec: Mapping[str, Any] | bool | None) -> GuestConfig | None:
    if not spec:
        return None
    if spec is True:
        return GuestConfig()
    mode = spec.get("mode", "each")
    if mode not in ("each", "shared"):
        raise ValueError(f"guests.mode is {mode!r}: use each or shared")
    key_types = tuple(spec.get("key_types", ("ed25519",)))
    if not key_types or not set(key_types) <= set(KEY_TYPES):
        raise ValueError(f"guests.key_types: use some of {', '.join(KEY_TYPES)}")
    return GuestConfig(
        mode,
        int(spec.get("port", 0)),
        spec.get("authorized_keys"),
        key_types,
        Duration.parse(spec.get("boot_delay", 0)),
    )


def _parse_flavor(cloud: str, spec: Mapping[str, Any]) -> FlavorConfig:
    return FlavorConfig(
        spec.get("id") or stable_id(cloud, "flavor", spec["name"]),
        spec["name"],
        int(spec["vcpus"]),
        int(spec["ram"]),
        int(spec.get("disk", 10)),
        dict(spec.get("extra_specs", {})),
    )


def _parse_image(cloud: str, spec: Mapping[str, Any] | str) -> ImageConfig:
    if isinstance(spec, str):
        spec = {"name": spec}
    return ImageConfig(
        spec.get("id") or stable_id(cloud, "image", spec["name"]),
        spec["name"],
        int(spec.get("min_disk", 0)),
        int(spec.get("min_ram", 0)),
        int(spec.get("size", 1 << 20)),
        dict(spec.get("properties", {})),
        spec.get("status", "active"),
        bool(spec.get("hidden", False)),
        spec.get("visibility", "shared"),
    )


def _parse_server_group(cloud: str, spec: Mapping[str, Any]) -> ServerGroupConfig:
    policy = spec.get("policy", "anti-affinity")
    if policy not in GROUP_POLICIES:
        raise ValueError(f"server_groups.policy is {policy!r}: use one of {', '.join(GROUP_POLICIES)}")
    return ServerGroupConfig(spec.get("id") or stable_id(cloud, "server group", spec["name"]), spec["name"], policy)


def _parse_network(cloud: str, spec: Mapping[str, Any] | str, subnets: _Subnets, guests: bool) -> NetworkConfig:
    if isinstance(spec, str):
        spec = {"name": spec}
    name = spec["name"]
    ranges = [] if spec.get("ipv4") is False else [spec.get("cidr") or subnets.take(guests)]
    if spec.get("cidr6"):
        ranges.append(spec["cidr6"])
    return NetworkConfig(
        spec.get("id") or stable_id(cloud, "network", name),
        name,
        bool(spec.get("external", False)),
        bool(spec.get("shared", False)),
        tuple(SubnetConfig(stable_id(cloud, "subnet", name, cidr), ipaddress.ip_network(cidr)) for cidr in ranges),
        bool(spec.get("router", True)),
    )
