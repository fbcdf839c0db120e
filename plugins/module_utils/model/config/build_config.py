# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of checked plain data to the objects of :mod:`types`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from . import types
from .drivers import OURS
from .gate_labels import with_more_labels
from .inheritance import merged
from .options import (
    LABEL,
    UPPER,
    Option,
    Raw,
    options_of,
    section_of,
)
from .own_settings import laid_over

T = TypeVar("T")


def build(
    main: Raw,
    secure: Raw | None = None,
    settings: Raw | None = None,
    *,
    path: str = "",
    warnings: Iterable[str] = (),
) -> types.NodepoolConfig:
    """Return the configuration made of *main*, *secure* and *settings* together.

    They must have passed the schema and :mod:`check`; providers of other drivers are left out.
    """
    main, secure = laid_over(main, settings or {}), secure or {}
    whole = {
        **main,
        **{key: secure[key] for key in ("zookeeper-servers", "zookeeper-tls") if secure.get(key)},
        "zookeeper-auth": secure.get("zookeeper-auth"),
        "diskimages": _diskimages(main, secure),
        "providers": [item for item in main.get("providers") or [] if (item.get("driver") or OURS) == OURS],
    }
    labels = _part(options_of(types.NodepoolConfig)["labels"], whole, {}) if whole.get("labels") else {}
    above = {LABEL: {name: label.launches for name, label in labels.items()}}
    config = _made(types.NodepoolConfig, whole, above, path=path, warnings=tuple(warnings))
    servers = _with_one_chroot(config.zookeeper.servers)
    providers = {name: _offering(provider) for name, provider in config.providers.items()}
    whole_config = replace(config, zookeeper=replace(config.zookeeper, servers=servers), providers=providers)
    return with_more_labels(whole_config)


def _made(cls: type[T], item: Raw, above: Mapping[str, Any], **more: Any) -> T:
    """Return an object of a section from its entry.

    :param above: the sections around it by their kind; for LABEL what labels say of launches, by the label's name.
    :param more: attributes that no key gives.
    """
    options = options_of(cls)
    own = {name: option for name, option in options.items() if option.part is None or _is_handed_down(option, item)}
    made = cls(**more, **{name: value for name, option in own.items() for value in _value(name, option, item, above)})
    around = above if cls in (types.Label, types.PoolLabel) else {**above, section_of(cls).kind: made}
    parts = {
        name: option for name, option in options.items() if option.joined or (option.part and _given(option, item))
    }
    inner = {name: _part(option, item, around) for name, option in parts.items()}
    return replace(made, **inner) if inner else made  # type: ignore[type-var]


def _given(option: Option, item: Raw) -> bool:
    return option.schema is not None and item.get(option.key) is not None


def _is_handed_down(option: Option, item: Raw) -> bool:
    """Return True for a section that is an option's value and that an entry has from the one above it."""
    return option.part is not None and option.inherits in UPPER and not _given(option, item)


def _value(name: str, option: Option, item: Raw, above: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the value of an option, none where its default counts."""
    if _given(option, item):
        return ((option.read or _plain)(item[option.key]),)
    if option.derive is not None:
        return (option.derive(item),)
    kind = UPPER.get(option.inherits, (option.inherits,))[0]
    upper = above[LABEL].get(item["name"]) if kind == LABEL and LABEL in above else above.get(kind)
    return (getattr(upper, name),) if upper is not None else ()


def _part(option: Option, item: Raw, around: Mapping[str, Any]) -> Any:
    """Return the section or the sections that are the value of an option."""
    if option.part is None:
        raise AssertionError(f"{option.key} has no section")
    if option.joined:
        return _made(option.part, item, around)
    if not option.many:
        return _made(option.part, item[option.key], around)
    made: list[Any] = [_made(option.part, entry, around) for entry in item[option.key]]
    if "name" not in options_of(option.part):
        return tuple(made)
    return {one.name: option.read(one) if option.read else one for one in made}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    # JSON Schema accepts 8192.0 as a whole number.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _with_one_chroot(servers: tuple[types.ZooKeeperServer, ...]) -> tuple[types.ZooKeeperServer, ...]:
    names = next((found for server in servers if (found := [*filter(None, server.chroot.split("/"))])), [])
    chroot = "".join(f"/{name}" for name in names)
    return tuple(replace(server, host=server.host.strip("[]"), chroot=chroot) for server in servers)


def _diskimages(main: Raw, secure: Raw) -> list[Raw]:
    """Return the diskimages that are built, with what they inherit and the environment of secure.conf."""
    entries = {item["name"]: item for item in main.get("diskimages") or []}
    secrets: dict[str, dict[str, str]] = {}
    for item in secure.get("diskimages") or []:
        secrets.setdefault(item["name"], {}).update(item.get("env-vars") or {})
    built = [merged(item, entries) for item in entries.values() if not item.get("abstract")]
    return [{**item, "env-vars": {**item["env-vars"], **secrets.get(item["name"], {})}} for item in built]


def _offering(provider: types.Provider) -> types.Provider:
    """Return the provider without the labels whose diskimage it does not list. As in Nodepool, no pool offers them."""

    known = (None, *provider.diskimages)

    def offered(pool: types.Pool) -> types.Pool:
        return replace(pool, labels={name: one for name, one in pool.labels.items() if one.diskimage in known})

    return replace(provider, pools={name: offered(pool) for name, pool in provider.pools.items()})
