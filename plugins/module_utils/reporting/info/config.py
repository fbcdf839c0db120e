# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every option of a configuration with its effective value and where that value comes from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...model.config.build_config import LIMIT_KEYS
from ...model.config.inheritance import OVERRIDDEN, lineage
from ...model.config.problems import PRIVATE_SECTIONS, Path, Source, path_text
from ...model.config.types import NodepoolConfig, Pool, Provider
from ...model.resources import Limits

MASK = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
"""The text that Ansible itself shows in place of a secret."""
DEFAULT = "default"
SECURE = "secure file"
_NESTED = frozenset(
    {"name", "labels", "pools", "diskimages", "cloud_images", "limits", "providers", "warnings", "path"}
)
_TOP = ("images_dir", "elements_dir", "build_log_dir", "build_log_retention", "max_hold_age")
_WEBAPP = {"webapp_port": "port", "webapp_listen_address": "listen_address"}
_SUMMED = ("elements", "env-vars")
"""Options that a diskimage inherits from all its parents."""


@dataclass(frozen=True)
class _Section:
    """A section of the file. *kind*: the origin shown for its options. *upper*: sections that it inherits from."""

    path: Path
    raw: Mapping[str, Any]
    kind: str
    upper: tuple[_Section, ...] = ()


def setting_rows(config: NodepoolConfig, source: Source, secure: Source | None = None) -> list[dict[str, Any]]:
    """Return all options in the order of the manual.

    :param source: the content of nodepool.yaml.
    :param secure: the content of secure.conf.
    """
    rows = [row for part in (_top, _labels, _diskimages, _providers) for row in part(config, source)]
    for row in rows:
        if row["section"] == "top" and secure is not None and (secure.data or {}).get(row["option"]):
            row.update(origin=SECURE, line=None)
    return rows


def _top(config: NodepoolConfig, source: Source) -> Iterator[dict[str, Any]]:
    raw = source.data or {}
    top = _Section((), raw, "top")
    servers = [f"{item.host}:{item.port}{item.chroot}" for item in config.zookeeper.servers]
    yield _row(source, top, "zookeeper-servers", servers)
    tls = config.zookeeper.tls
    yield _row(source, top, "zookeeper-tls", None if tls is None else dataclasses.asdict(tls))
    auth = config.zookeeper.auth
    shown = None if auth is None else {"scheme": auth.scheme, "username": auth.username, "protect": auth.protect}
    yield _row(source, top, "zookeeper-auth", shown)
    yield _row(source, top, "zookeeper-timeout", config.zookeeper.timeout)
    for name in _TOP:
        yield _row(source, top, name.replace("_", "-"), getattr(config, name))
    webapp = _Section(("webapp",), raw.get("webapp") or {}, "webapp")
    for name, key in _WEBAPP.items():
        yield _row(source, webapp, key, getattr(config, name))


def _labels(config: NodepoolConfig, source: Source) -> Iterator[dict[str, Any]]:
    for section in _sections(source, (), "labels", "label"):
        yield from _options(source, section, config.labels[section.raw["name"]])


def _diskimages(config: NodepoolConfig, source: Source) -> Iterator[dict[str, Any]]:
    sections = {section.raw["name"]: section for section in _sections(source, (), "diskimages", "diskimage")}
    entries = {name: section.raw for name, section in sections.items()}
    for name, section in sections.items():
        if name in config.diskimages:
            parents = [sections[str(item["name"])] for item in reversed(lineage(section.raw, entries)[:-1])]
            upper = tuple(dataclasses.replace(item, kind=f"diskimage {item.raw['name']}") for item in parents)
            inheriting = dataclasses.replace(section, upper=upper)
            yield from _options(source, inheriting, config.diskimages[name], inherited=(*OVERRIDDEN, *_SUMMED))


def _providers(config: NodepoolConfig, source: Source) -> Iterator[dict[str, Any]]:
    for section in _sections(source, (), "providers", "provider"):
        provider = config.providers.get(section.raw["name"])
        if provider is not None:
            yield from _options(source, section, provider)
            yield from _provider_parts(source, section, provider)


def _provider_parts(source: Source, section: _Section, provider: Provider) -> Iterator[dict[str, Any]]:
    for kind, key, parts in (
        ("diskimage", "diskimages", provider.diskimages),
        ("cloud-image", "cloud-images", provider.cloud_images),
    ):
        for part in _sections(source, section.path, key, kind, section.raw):
            yield from _options(source, part, parts[part.raw["name"]])
    for part in _sections(source, section.path, "pools", "pool", section.raw):
        pool = provider.pools[part.raw["name"]]
        yield from _options(source, dataclasses.replace(part, upper=(section,)), pool, inherited=("priority",))
        yield from _limits(source, part, pool.limits)
        yield from _pool_labels(source, part, pool)


def _pool_labels(source: Source, section: _Section, pool: Pool) -> Iterator[dict[str, Any]]:
    for part in _sections(source, section.path, "labels", "label", section.raw):
        label = pool.labels.get(part.raw["name"])
        if label is not None:
            inheriting = dataclasses.replace(part, upper=(section,))
            yield from _options(source, inheriting, label, inherited=("networks", "host-key-checking"))


def _limits(source: Source, section: _Section, limits: Limits) -> Iterator[dict[str, Any]]:
    for key, resource in LIMIT_KEYS.items():
        yield _row(source, section, key, limits[resource])


def _sections(
    source: Source, path: Path, key: str, kind: str, raw: Mapping[str, Any] | None = None
) -> Iterator[_Section]:
    """Yield the items of a list; of several items with the same name only the last."""
    entries = (source.data or {} if raw is None else raw).get(key) or []
    last = {item["name"]: place for place, item in enumerate(entries)}
    for place in last.values():
        yield _Section((*path, key, place), entries[place], kind)


def _options(
    source: Source, section: _Section, values: Any, inherited: tuple[str, ...] = ()
) -> Iterator[dict[str, Any]]:
    """Yield the options of a section."""
    for item in dataclasses.fields(values):
        if item.name not in _NESTED:
            key = item.name.replace("_", "-")
            upper = section.upper if key in inherited else ()
            yield _row(source, dataclasses.replace(section, upper=upper), key, getattr(values, item.name))


def _row(source: Source, section: _Section, key: str, value: Any) -> dict[str, Any]:
    """Return the row of one option."""
    given = next((part for part in (section, *section.upper) if part.raw.get(key) is not None), None)
    return {
        "section": path_text(source.data, section.path) or "top",
        "option": key,
        "value": _shown(key, value, source.hidden),
        "origin": given.kind if given is not None else DEFAULT,
        "line": source.line_of((*given.path, key)) if given is not None else None,
    }


def _shown(key: str, value: Any, hidden: frozenset[str]) -> Any:
    """Return a value as JSON. Values that may be secret are masked; the names in a private section are not."""
    if isinstance(value, Mapping):
        private = key in PRIVATE_SECTIONS
        return {name: MASK if private else _shown(str(name), item, hidden) for name, item in value.items()}
    if value is not None and key in PRIVATE_SECTIONS:
        return MASK
    if isinstance(value, str):
        return MASK if any(secret and secret in value for secret in hidden) else value
    if isinstance(value, float):
        return None if math.isinf(value) else value
    return [_shown(key, item, hidden) for item in value] if isinstance(value, tuple | list) else value
