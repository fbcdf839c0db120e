# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A nodepool.yaml as objects of Zuul 14.3: image, flavor, label, section, provider. No I/O.

Each pool becomes a section and a provider: a pool has limits and networks of its own, as a provider of Zuul has. The
attributes are those of ``zuul/provider/schema.py`` and ``zuul/driver/openstack/openstackprovider.py``.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..model.cloud import Flavor
from ..model.config.gate_settings import is_gate_label
from ..model.config.launch_settings import LaunchSettings
from ..model.config.types import CloudImage, Diskimage, NodepoolConfig, Pool, PoolLabel, Provider, ProviderDiskimage
from ..model.errors import CloudRefused
from ..model.resources import Limits
from ..model.zuul.zuul_names import require_different_names, zuul_connection, zuul_provider
from .resolver import choose_flavor, is_id

LIMITED = ("instances", "cores", "ram", "volumes", "volume-gb")
"""The resources in ``resource-limits``; Zuul's names are those of nodepool.yaml."""
REQUEST_VALUES = {"id": "request_id", "labels": "labels", "tenant_name": "tenant_name", "event_id": "zuul_event_id"}
"""Values of a request in ``dynamic-instance-properties`` → Zuul's names in ``tags``."""
ZONE_KEY = "executor-zone"
"""The node attribute that Zuul has an attribute of labels for."""
_REQUEST_VALUE = re.compile(r"\{request\.([a-z_]+)\}")
_BRACES = re.compile(r"[{}]")


@dataclass(frozen=True)
class CloudSeen:
    """What a cloud has. *flavors*: None if it was not asked. *images*: name in nodepool.yaml → id."""

    flavors: Sequence[Flavor] | None = None
    images: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Converted:
    """The result. *objects*: in the order of Zuul's file. *connections*: name → keys of its part of zuul.conf.

    *told*: a sentence about each thing that Zuul cannot have, or has otherwise.
    """

    objects: list[dict[str, Any]]
    connections: dict[str, dict[str, str]]
    told: list[str]


def converted(config: NodepoolConfig, clouds: Mapping[str, CloudSeen] | None = None) -> Converted:
    """Convert a configuration.

    :param clouds: provider → what its cloud has, for labels with min-ram and images that are known by name.
    :raises ConfigError: two pools would have the same name in Zuul.
    """
    require_different_names(config.providers.values())
    return _Conversion(config, clouds or {}).run()


class _Conversion:
    def __init__(self, config: NodepoolConfig, clouds: Mapping[str, CloudSeen]) -> None:
        self._config = config
        self._clouds = clouds
        self._told: dict[str, None] = {}
        self._sections: list[dict[str, Any]] = []
        self._providers: list[dict[str, Any]] = []
        self._connections: dict[str, dict[str, str]] = {}
        self._images: dict[str, str] = {}
        self._cloud_images = {name for provider in config.providers.values() for name in provider.cloud_images}
        self._flavors: dict[str, None] = {}
        self._uses: dict[str, Counter[tuple[str, str]]] = {}
        """Label → how many pools make it of (image, flavor)."""

    def run(self) -> Converted:
        # Uploads are found by the name of the diskimage: if a cloud-image has the same one, that gets another.
        for provider in self._config.providers.values():
            self._images |= dict.fromkeys(provider.diskimages if provider.pools else (), "zuul")
        for provider in self._config.providers.values():
            self._convert_provider(provider)
        labels = list(self._labels())
        self._tell_rest()
        objects = [
            *({"image": {"name": name, "type": kind}} for name, kind in sorted(self._images.items())),
            *({"flavor": {"name": name}} for name in sorted(self._flavors)),
            *({"label": label} for label in labels),
            *({"section": section} for section in self._sections),
            *({"provider": provider} for provider in self._providers),
        ]
        return Converted(objects, self._connections, list(self._told))

    def _tell(self, text: str) -> None:
        self._told[text] = None

    # -- a provider ----------------------------------------------------------------------------------------------

    def _convert_provider(self, provider: Provider) -> None:
        connection = self._connections.setdefault(
            zuul_connection(provider), {"driver": "openstack", "cloud": provider.cloud}
        )
        if provider.rate > 0:
            slowest = min(float(connection.get("rate", "inf")), 1 / provider.rate)
            connection["rate"] = f"{slowest:.12g}"
        for text in _about_provider(provider):
            self._tell(text)
        if not provider.pools:
            self._tell(f"provider {provider.name} has no pool: it is left out")
        for pool in provider.pools.values():
            self._convert_pool(provider, pool)

    def _convert_pool(self, provider: Provider, pool: Pool) -> None:
        name = zuul_provider(provider, pool.name)
        where = f"{provider.name}/{pool.name}"
        for text in _about_pool(pool, where):
            self._tell(text)
        flavors: dict[str, str] = {}
        # Also those without a label: zuul-launcher deletes the uploads of images that a provider does not have.
        images = {name: _diskimage(self._config.diskimages[name], local) for name, local in provider.diskimages.items()}
        labels: list[dict[str, Any]] = []
        for label in filter(_is_of_the_file, pool.labels.values()):
            made = self._convert_label(provider, pool, label, flavors, images)
            if made is not None:
                labels.append(made)
        self._sections.append(
            {
                "name": name,
                "connection": zuul_connection(provider),
                **({"region": provider.region_name} if provider.region_name else {}),
                "launch-timeout": provider.launch_timeout,
                "launch-attempts": provider.launch_retries,
                "port-cleanup-interval": provider.port_cleanup_interval,
                "floating-ip-cleanup": provider.clean_floating_ips,
                "label-defaults": _defaults(provider, pool),
                "images": [images[key] for key in sorted(images)],
                "flavors": [{"name": key, "flavor-name": flavors[key]} for key in sorted(flavors)],
            }
        )
        limits = limits_of(pool.limits)
        self._providers.append(
            {"name": name, "section": name, **({"resource-limits": limits} if limits else {}), "labels": labels}
        )

    # -- a label -------------------------------------------------------------------------------------------------

    def _convert_label(
        self,
        provider: Provider,
        pool: Pool,
        label: PoolLabel,
        flavors: dict[str, str],
        images: dict[str, dict[str, Any]],
    ) -> dict[str, Any] | None:
        where = f"{provider.name}/{pool.name}: label {label.name}"
        flavor, image = self._flavor(provider, label, where), self._image(provider, label, where, images)
        if flavor is None or image is None:
            return None
        flavors[flavor] = flavor
        images[image["name"]] = image
        self._flavors[flavor] = None
        self._uses.setdefault(label.name, Counter())[image["name"], flavor] += 1
        for text in _about_label(label, where):
            self._tell(text)
        tags, refused = _tags(label)
        for key in refused:
            self._tell(f"{where}: property {key} names a value of the request that Zuul does not have: it is left out")
        if self._config.labels[label.name].min_ready:
            for key in sorted(
                key for key in tags if _REQUEST_VALUE.search(label.dynamic_instance_properties.get(key, ""))
            ):
                self._tell(
                    f"{where}: property {key} names a value of the request: nodes of min-ready have none in Zuul"
                )
        own = {
            "name": label.name,
            "image": image["name"],
            "flavor": flavor,
            "key-name": label.key_name,
            "networks": list(label.networks) if label.networks != pool.networks else None,
            "host-key-checking": label.host_key_checking if label.host_key_checking != pool.host_key_checking else None,
            "boot-timeout": label.launches.boot_timeout,
            "boot-from-volume": True if label.boot_from_volume else None,
            "volume-size": label.volume_size if label.boot_from_volume else None,
            "userdata": label.userdata,
            "tags": tags or None,
        }
        return {key: value for key, value in own.items() if value is not None}

    def _flavor(self, provider: Provider, label: PoolLabel, where: str) -> str | None:
        """Return the name of the flavor in the cloud, which is also that in Zuul; None if it is not known."""
        if not label.min_ram and label.flavor_name:
            return label.flavor_name
        offered = self._seen(provider).flavors
        if offered is None:
            self._tell(
                f"{where} is left out: Zuul needs the name of a flavor, and min-ram needs the cloud's list of flavors:"
                f" set flavor-name without min-ram, or let the module ask the clouds"
            )
            return None
        try:
            return choose_flavor(offered, label.flavor_name, label.min_ram).name
        except CloudRefused as problem:
            self._tell(f"{where} is left out: {problem}")
            return None

    def _image(
        self, provider: Provider, label: PoolLabel, where: str, images: Mapping[str, dict[str, Any]]
    ) -> dict[str, Any] | None:
        """Return the image of the section; None if Zuul cannot have it.

        :param images: those of the section so far, among them all diskimages.
        """
        if label.diskimage is not None:
            if label.diskimage not in images:
                self._tell(f"{where} is left out: {provider.name} does not list the diskimage {label.diskimage}")
            return images.get(label.diskimage)
        cloud_image = provider.cloud_images[label.cloud_image or ""]
        image_id = self._image_id(provider, cloud_image)
        if image_id is None:
            self._tell(
                f"{where} is left out: Zuul needs the id of cloud-image {cloud_image.name}: set image-id, or let the"
                f" module ask the clouds"
            )
            return None
        name = cloud_image.name
        if self._images.get(name) == "zuul":
            while self._images.get(name) == "zuul" or name in self._cloud_images:
                name = f"{name}-cloud"
            self._tell(
                f"{where}: {cloud_image.name} is a diskimage and a cloud-image; in Zuul the cloud-image is named {name}"
            )
        self._images[name] = "cloud"
        return {**_cloud_image(cloud_image, image_id), "name": name}

    def _image_id(self, provider: Provider, image: CloudImage) -> str | None:
        if image.image_id and is_id(image.image_id):
            return image.image_id
        return self._seen(provider).images.get(image.name)

    def _seen(self, provider: Provider) -> CloudSeen:
        return self._clouds.get(provider.name, CloudSeen())

    # -- the top -------------------------------------------------------------------------------------------------

    def _labels(self) -> Iterator[dict[str, Any]]:
        added = _added_labels(self._config)
        for label in self._config.labels.values():
            if label.name in added:
                continue
            uses = self._uses.get(label.name)
            if uses is None:
                self._tell(f"label {label.name} is left out: no pool of the driver openstack offers it in Zuul")
                continue
            (image, flavor), _count = uses.most_common(1)[0]
            yield {
                "name": label.name,
                "image": image,
                "flavor": flavor,
                **({"min-ready": label.min_ready} if label.min_ready else {}),
                **({"max-ready-age": label.max_ready_age} if label.max_ready_age else {}),
            }

    def _tell_rest(self) -> None:
        config = self._config
        if config.tenant_limits:
            self._tell(
                "tenant-resource-limits have no counterpart: max-nodes of a label limits its nodes in all tenants"
            )
        if config.usage_budgets:
            self._tell("usage-budgets count nodes of the launchers of this collection only")
        converted_images = [image for name, image in config.diskimages.items() if name in self._images]
        for image in converted_images:
            for text in _about_diskimage(image):
                self._tell(text)
        if any(image.fall_back for image in converted_images):
            self._tell("fall-back of diskimages has no counterpart: all launches are from the newest build at once")
        if config.max_hold_age:
            self._tell("max-hold-age is set in Zuul's scheduler: max_hold_expiration in zuul.conf")
        for text in config.warnings:
            self._tell(f"nodepool.yaml: {text}")
        unused = sorted(config.diskimages.keys() - self._images.keys())
        if unused:
            self._tell(f"diskimages that no provider lists are left out: {', '.join(unused)}")


def _is_of_the_file(label: PoolLabel) -> bool:
    """Return False for a label that only our launchers know: that of a gate's nodes, or of a channel."""
    return not label.channel and not is_gate_label(label.name)


def _added_labels(config: NodepoolConfig) -> set[str]:
    """Return the names of the labels that nodepool.yaml does not have."""
    offered = (
        label for one in config.providers.values() for pool in one.pools.values() for label in pool.labels.values()
    )
    return {label.name for label in offered if not _is_of_the_file(label)}


def limits_of(limits: Limits) -> dict[str, int]:
    """Return the limits of a pool as ``resource-limits``."""
    return {name: max(0, int(limits[name])) for name in LIMITED if math.isfinite(limits[name])}


def _defaults(provider: Provider, pool: Pool) -> dict[str, Any]:
    """Return the attributes that all labels of a pool share."""
    zone = (pool.node_attributes or {}).get(ZONE_KEY)
    return {
        "boot-timeout": provider.boot_timeout,
        "auto-floating-ip": pool.auto_floating_ip,
        "host-key-checking": pool.host_key_checking,
        **({"networks": list(pool.networks)} if pool.networks else {}),
        **({"security-groups": list(pool.security_groups)} if pool.security_groups else {}),
        **({"az": pool.availability_zones[0]} if len(pool.availability_zones) == 1 else {}),
        **({ZONE_KEY: zone} if isinstance(zone, str) else {}),
    }


def _diskimage(built: Diskimage, local: ProviderDiskimage) -> dict[str, Any]:
    return {
        **_image(built.name, "zuul", local.config_drive),
        "username": built.username,
        "python-path": built.python_path,
        **({"shell-type": built.shell_type} if built.shell_type else {}),
        "connection-type": local.connection_type if local.connection_type == "winrm" else "ssh",
        "connection-port": local.connection_port,
        **({"tags": dict(tags)} if (tags := {**built.metadata, **local.meta}) else {}),
    }


def _cloud_image(image: CloudImage, image_id: str) -> dict[str, Any]:
    return {
        **_image(image.name, "cloud", image.config_drive),
        "image-id": image_id,
        **({"username": image.username} if image.username else {}),
        "python-path": image.python_path,
        **({"shell-type": image.shell_type} if image.shell_type else {}),
        "connection-type": image.connection_type if image.connection_type == "winrm" else "ssh",
        "connection-port": image.connection_port,
    }


def _image(name: str, kind: str, config_drive: bool | None) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"config-drive": config_drive} if config_drive is not None else {})}


def _tags(label: PoolLabel) -> tuple[dict[str, str], list[str]]:
    """Return the metadata of a server as Zuul's tags, and the keys that name a value that Zuul does not have."""
    tags = {key: _BRACES.sub(lambda match: match[0] * 2, value) for key, value in label.instance_properties.items()}
    refused = []
    for key, value in label.dynamic_instance_properties.items():
        names = _REQUEST_VALUE.findall(value)
        if _BRACES.search(_REQUEST_VALUE.sub("", value)) or not all(name in REQUEST_VALUES for name in names):
            refused.append(key)
        else:
            tags[key] = _REQUEST_VALUE.sub(lambda match: f"{{{REQUEST_VALUES[match[1]]}}}", value)
    return tags, refused


def _about_provider(provider: Provider) -> Iterator[str]:
    """Yield what Zuul has no counterpart for, or has otherwise."""
    name = f"provider {provider.name}"
    if provider.priority != 100:
        yield f"{name}: priority has no counterpart: Zuul chooses among providers by their load"
    if math.isfinite(provider.max_concurrency):
        yield f"{name}: max-concurrency has no counterpart: rate of the connection in zuul.conf slows launches down"
    if provider.image_name_format != "{image_name}-{timestamp}":
        yield f"{name}: image-name-format has no counterpart: Zuul names images itself"
    if provider.post_upload_hook:
        yield f"{name}: post-upload-hook has no counterpart: our builder still calls it for what it uploads"
    if provider.clean_floating_ips:
        yield f"{name}: floating-ip-cleanup of Zuul deletes every unattached floating IP of the project"
    if provider.port_cleanup_interval:
        yield f"{name}: port-cleanup-interval of Zuul deletes every port of the project that stays DOWN"
    if any(image.config_drive is None for image in _images_of(provider)):
        yield f"{name}: config-drive is not set, and Zuul gives servers a config drive then"
    for image in provider.diskimages.values():
        if image.tags:
            yield f"{name}: glance's tags of {image.name} have no counterpart: Zuul's tags are properties"
        if image.pause:
            yield f"{name}: pause of diskimage {image.name} has no counterpart"
    for cloud_image in provider.cloud_images.values():
        if cloud_image.probe is not None:
            yield f"{name}: probe of cloud-image {cloud_image.name} has no counterpart"
    for name_of, kind in _odd_connections(provider):
        yield f"{name}: connection-type {kind} of {name_of} is not one of Zuul's: it becomes ssh"


def _images_of(provider: Provider) -> list[ProviderDiskimage | CloudImage]:
    return [*provider.diskimages.values(), *provider.cloud_images.values()]


def _odd_connections(provider: Provider) -> Iterator[tuple[str, str]]:
    for image in _images_of(provider):
        if image.connection_type not in ("ssh", "winrm"):
            yield image.name, image.connection_type


def _about_diskimage(image: Diskimage) -> Iterator[str]:
    name = f"diskimage {image.name}"
    if image.tags:
        yield f"{name}: its glance tags have no counterpart: Zuul's tags are properties"
    if image.gate is not None:
        yield f"{name}: its gate has no counterpart: our builder still tests what it uploads"
    if image.probe is not None:
        yield f"{name}: its probe has no counterpart"


def _about_pool(pool: Pool, where: str) -> Iterator[str]:
    if pool.max_servers <= 0:
        yield f"{where} is disabled: in Zuul it cannot have an instance"
    if len(pool.availability_zones) > 1:
        zones = ", ".join(pool.availability_zones)
        yield f"{where}: a label of Zuul has one zone or all: {zones} are not named, and nova may choose others"
    if pool.priority != 100:
        yield f"{where}: priority has no counterpart: Zuul chooses among providers by their load"
    if pool.ignore_provider_quota:
        yield f"{where}: ignore-provider-quota has no counterpart: Zuul respects the cloud's quota"
    others = sorted(set(pool.node_attributes or {}) - {ZONE_KEY})
    if others:
        yield f"{where}: node-attributes other than {ZONE_KEY} have no counterpart: {', '.join(others)}"


def _about_label(label: PoolLabel, where: str) -> Iterator[str]:
    if label.console_log:
        yield f"{where}: console-log has no counterpart"
    if replace(label.launches, boot_timeout=None) != LaunchSettings():
        yield f"{where}: options of nodepool-settings.yaml besides boot-timeout have no counterpart"
