# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of checked plain data to the objects of :mod:`types`, which fill in every default."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from ..resources import (
    CORES,
    INSTANCES,
    RAM,
    VOLUME_GB,
    VOLUMES,
    Limits,
)
from . import types
from .drivers import OURS
from .inheritance import merged

Raw = Mapping[str, Any]
T = TypeVar("T")

WINRM_PORT = 5986

LIMIT_KEYS = {
    "max-servers": INSTANCES,
    "max-cores": CORES,
    "max-ram": RAM,
    "max-volumes": VOLUMES,
    "max-volume-gb": VOLUME_GB,
}


def build(
    main: Raw, secure: Raw | None = None, *, path: str = "", warnings: Iterable[str] = ()
) -> types.NodepoolConfig:
    """Return the configuration made of *main* and *secure* together.

    Both must have passed the schema and :mod:`check`; providers of other drivers are left out.
    """
    secure = secure or {}
    webapp = main.get("webapp") or {}
    return types.NodepoolConfig(
        path=path,
        zookeeper=_zookeeper(main, secure),
        labels=_by_name(_label(item) for item in main.get("labels") or []),
        diskimages=_diskimages(main, secure),
        providers=_by_name(
            _provider(item) for item in main.get("providers") or [] if (item.get("driver") or OURS) == OURS
        ),
        tenant_limits={item["tenant-name"]: _tenant_limits(item) for item in main.get("tenant-resource-limits") or []},
        warnings=tuple(warnings),
        max_hold_age=max(0, int(main.get("max-hold-age") or 0)),
        **_given(main, ("images-dir", "elements-dir", "build-log-dir", "build-log-retention")),
        **{f"webapp_{key}": value for key, value in _given(webapp, ("port", "listen_address")).items()},
    )


def _given(section: Raw, keys: Iterable[str]) -> dict[str, Any]:
    """Return, as attributes, those of *keys* that have a value; the type has defaults for the others."""
    return {key.replace("-", "_"): _plain(section[key]) for key in keys if section.get(key) is not None}


def _made(cls: type[T], item: Raw, inherited: Raw | None = None, **computed: Any) -> T:
    """Return an object of *cls* from the keys that have the names of its attributes.

    :param inherited: attributes to use when *item* has no value for them.
    :param computed: attributes that are not taken from *item*.
    """
    names = [attribute.name for attribute in fields(cls) if attribute.name not in computed]  # type: ignore[arg-type]
    given = _given(item, [name.replace("_", "-") for name in names])
    return cls(**{**(inherited or {}), **given, **computed})


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    # JSON Schema accepts 8192.0 as a whole number.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _texts(values: Raw | None) -> dict[str, str]:
    return {key: str(value) for key, value in (values or {}).items()}


def _properties(values: Raw | None) -> dict[str, str]:
    return _texts({key: value for key, value in (values or {}).items() if key != "tags"})


def _tags(values: Raw | None) -> tuple[str, ...]:
    """Return ``tags`` of an image's properties: the SDK, to which Nodepool hands them, makes glance's tags of it."""
    tags = (values or {}).get("tags") or []
    return tuple(tags if isinstance(tags, list) else [str(tags)])


def _by_name(items: Iterable[Any]) -> dict[str, Any]:
    return {item.name: item for item in items}


def _zookeeper(main: Raw, secure: Raw) -> types.ZooKeeperSettings:
    raw_servers = secure.get("zookeeper-servers") or main.get("zookeeper-servers") or []
    tls = secure.get("zookeeper-tls") or main.get("zookeeper-tls")
    auth = secure.get("zookeeper-auth")
    servers = [_made(types.ZooKeeperServer, item) for item in raw_servers]
    chroot = next((path for server in servers if (path := server.chroot.strip("/"))), "")
    settings = types.ZooKeeperSettings(
        servers=tuple(
            replace(server, host=server.host.strip("[]"), chroot=f"/{chroot}" if chroot else "") for server in servers
        ),
        tls=_made(types.ZooKeeperTls, tls) if tls else None,
        auth=_made(types.ZooKeeperAuth, auth) if auth else None,
    )
    timeout = main.get("zookeeper-timeout")
    return settings if timeout is None else replace(settings, timeout=float(timeout))


def _label(item: Raw) -> types.Label:
    label = _made(types.Label, item)
    return replace(label, min_ready=max(0, label.min_ready), max_ready_age=max(0, label.max_ready_age))


def _diskimages(main: Raw, secure: Raw) -> dict[str, types.Diskimage]:
    entries = {item["name"]: item for item in main.get("diskimages") or []}
    secrets: dict[str, dict[str, str]] = {}
    for item in secure.get("diskimages") or []:
        secrets.setdefault(item["name"], {}).update(item.get("env-vars") or {})
    return {
        name: _diskimage(merged(item, entries), secrets.get(name, {}))
        for name, item in entries.items()
        if not item.get("abstract")
    }


def _diskimage(item: Raw, secrets: Raw) -> types.Diskimage:
    return _made(
        types.Diskimage,
        item,
        release=str(item.get("release", "")),
        env_vars={**item["env-vars"], **secrets},
        metadata=_properties(item["metadata"]),
        tags=_tags(item["metadata"]),
    )


def _port(item: Raw) -> dict[str, Any]:
    return {"connection_port": WINRM_PORT} if item.get("connection-type") == "winrm" else {}


def _provider(item: Raw) -> types.Provider:
    concurrency = item.get("max-concurrency")
    provider = _made(
        types.Provider,
        item,
        max_concurrency=int(concurrency) if concurrency is not None and concurrency > 0 else math.inf,
        rate=float(item.get("rate") or 0),
        diskimages=_by_name(
            _made(
                types.ProviderDiskimage,
                image,
                _port(image),
                meta=_properties(image.get("meta")),
                tags=_tags(image.get("meta")),
            )
            for image in item.get("diskimages") or []
        ),
        cloud_images=_by_name(_made(types.CloudImage, image, _port(image)) for image in item.get("cloud-images") or []),
        pools={},
    )
    pools = _by_name(_pool(pool, provider) for pool in item.get("pools") or [])
    return replace(provider, launch_retries=max(1, provider.launch_retries), pools=pools)


def _limits(item: Raw) -> dict[str, float]:
    return {resource: int(item[key]) for key, resource in LIMIT_KEYS.items() if item.get(key) is not None}


def _tenant_limits(item: Raw) -> Limits:
    others = {
        key: int(value)
        for key, value in item.items()
        if value is not None and key not in LIMIT_KEYS and not key.startswith(("max-", "tenant"))
    }
    return Limits({**others, **_limits(item)})


def _pool(item: Raw, provider: types.Provider) -> types.Pool:
    pool = _made(types.Pool, item, {"priority": provider.priority}, limits=Limits(_limits(item)), labels={})
    labels = _by_name(_pool_label(label, pool) for label in item.get("labels") or [])
    # As in Nodepool, the pool does not offer a label whose diskimage this provider does not list.
    offered = {
        name: label
        for name, label in labels.items()
        if label.diskimage is None or label.diskimage in provider.diskimages
    }
    return replace(pool, labels=offered)


def _pool_label(item: Raw, pool: types.Pool) -> types.PoolLabel:
    return _made(
        types.PoolLabel,
        item,
        {"networks": pool.networks, "host_key_checking": pool.host_key_checking},
        instance_properties=_texts(item.get("instance-properties")),
        dynamic_instance_properties=_texts(item.get("dynamic-instance-properties")),
    )
