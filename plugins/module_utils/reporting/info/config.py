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

from ...model.config.inheritance import lineage
from ...model.config.limit_keys import LIMIT_KEYS
from ...model.config.options import (
    ABOVE,
    Option,
    options_of,
    section_of,
)
from ...model.config.problems import Path, Source, path_text
from ...model.config.types import PRIVATE_SECTIONS, Diskimage, NodepoolConfig, Pool

MASK = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
"""The text that Ansible itself shows in place of a secret."""
DEFAULT = "default"
SECURE_FILE = "secure file"


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
    top = _Section((), source.data or {}, "top")
    rows = [*_zookeeper(config, source, top), *_rows(config, source, top)]
    for row in rows:
        if row["section"] == "top" and secure is not None and (secure.data or {}).get(row["option"]):
            row.update(origin=SECURE_FILE, line=None)
    return rows


def _zookeeper(config: NodepoolConfig, source: Source, top: _Section) -> Iterator[dict[str, Any]]:
    zookeeper = config.zookeeper
    servers = [f"{item.host}:{item.port}{item.chroot}" for item in zookeeper.servers]
    yield _row(source, top, "zookeeper-servers", servers)
    yield _row(source, top, "zookeeper-tls", zookeeper.tls and dataclasses.asdict(zookeeper.tls))
    auth = zookeeper.auth
    shown = None if auth is None else {"scheme": auth.scheme, "username": auth.username, "protect": auth.protect}
    yield _row(source, top, "zookeeper-auth", shown)
    yield from _options(zookeeper, source, top)


def _rows(values: Any, source: Source, section: _Section) -> Iterator[dict[str, Any]]:
    """Yield the options of a section, and after them those of the sections in it."""
    yield from _options(values, source, section)
    if isinstance(values, Pool):
        for key, resource in LIMIT_KEYS.items():
            yield _row(source, section, key, values.limits[resource])
    for name, option in options_of(type(values)).items():
        made = getattr(values, name)
        if option.part is None or option.joined or option.read is not None:
            continue
        if option.many:
            for part in _parts(option, source, section):
                if part.raw["name"] in made:
                    yield from _rows(made[part.raw["name"]], source, part)
        else:
            kind = section_of(option.part).kind
            yield from _rows(
                made, source, _Section((*section.path, option.key), section.raw.get(option.key) or {}, kind)
            )


def _parts(option: Option, source: Source, section: _Section) -> Iterator[_Section]:
    """Yield the entries of a list with what they inherit from; of several entries with the same name only the last."""
    if option.part is None:
        raise AssertionError(f"{option.key} has no section")
    kind = section_of(option.part).kind
    entries = section.raw.get(option.key) or []
    last = {item["name"]: place for place, item in enumerate(entries)}
    named = {
        name: _Section((*section.path, option.key, place), entries[place], kind, (section, *section.upper))
        for name, place in last.items()
    }
    for part in named.values():
        yield _with_parents(part, named) if option.part is Diskimage else part


def _with_parents(image: _Section, images: Mapping[str, _Section]) -> _Section:
    line = lineage(image.raw, {name: one.raw for name, one in images.items()})
    parents = [images[str(item["name"])] for item in reversed(line[:-1])]
    upper = tuple(dataclasses.replace(one, kind=f"diskimage {one.raw['name']}") for one in parents)
    return dataclasses.replace(image, upper=upper)


def _options(values: Any, source: Source, section: _Section) -> Iterator[dict[str, Any]]:
    """Yield the options of a section that are single values."""
    for name, option in options_of(type(values)).items():
        if option.part is None and name not in ("name", "limits"):
            upper = tuple(one for one in section.upper if _hands_down(one, option))
            yield _row(source, dataclasses.replace(section, upper=upper), option.key, getattr(values, name))


def _hands_down(upper: _Section, option: Option) -> bool:
    """Return True when an option without a value has that of a section above, or of a parent of its diskimage."""
    return bool(option.inherits) and (option.inherits not in ABOVE or upper.kind == option.inherits)


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
