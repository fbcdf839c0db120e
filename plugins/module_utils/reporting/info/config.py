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
    LABEL,
    LABEL_OR_PROVIDER,
    PROVIDER,
    UPPER,
    Option,
    options_of,
    section_of,
)
from ...model.config.own_settings import laid_over, place_in_settings
from ...model.config.problems import Path, Source, path_text
from ...model.config.types import PRIVATE_SECTIONS, Diskimage, NodepoolConfig, Pool, PoolLabel, ZooKeeperSettings

MASK = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"
"""The text that Ansible itself shows in place of a secret."""
DEFAULT = "default"
SECURE_FILE = "secure file"


@dataclass(frozen=True)
class _Section:
    """A section of the file. *kind*: the origin shown for its options. *upper*: sections that it inherits from.

    *of*: the path of the section that has it, if it is written elsewhere.
    """

    path: Path
    raw: Mapping[str, Any]
    kind: str
    upper: tuple[_Section, ...] = ()
    of: Path = ()


@dataclass(frozen=True)
class _Files:
    """What was read. *labels*: the labels at the top, by name."""

    source: Source
    settings: Source | None
    labels: Mapping[str, _Section]

    def place(self, given: _Section, key: str) -> tuple[Source, Path]:
        """Return the file and the path in it that give the value of a key."""
        if self.settings is not None:
            path = place_in_settings(self.source.data, given.path, self.settings.data)
            if path is not None and self.settings.value_at((*path, key)) is not None and key != "name":
                return self.settings, (*path, key)
        return self.source, (*given.path, key)


def setting_rows(
    config: NodepoolConfig, source: Source, secure: Source | None = None, settings: Source | None = None
) -> list[dict[str, Any]]:
    """Return all options in the order of the manual.

    :param source: the content of nodepool.yaml.
    :param secure: the content of secure.conf.
    :param settings: the content of nodepool-settings.yaml.
    """
    raw = laid_over(source.data or {}, (settings.data if settings is not None else None) or {})
    labels = {
        item["name"]: _Section(("labels", at), item, f"{LABEL} {item['name']}")
        for at, item in enumerate(raw.get("labels") or [])
    }
    top, files = _Section((), raw, "top"), _Files(source, settings, labels)
    rows = [*_zookeeper(config, files, top), *_rows(config, files, top, {})]
    for row in rows:
        if row["section"] == "top" and secure is not None and (secure.data or {}).get(row["option"]):
            row.update(origin=SECURE_FILE, file=secure.name, line=None)
    return rows


def _zookeeper(config: NodepoolConfig, files: _Files, top: _Section) -> Iterator[dict[str, Any]]:
    zookeeper = config.zookeeper
    servers = [f"{item.host}:{item.port}{item.chroot}" for item in zookeeper.servers]
    yield _row(files, top, "zookeeper-servers", servers)
    yield _row(files, top, "zookeeper-tls", zookeeper.tls and dataclasses.asdict(zookeeper.tls))
    auth = zookeeper.auth
    shown = None if auth is None else {"scheme": auth.scheme, "username": auth.username, "protect": auth.protect}
    yield _row(files, top, "zookeeper-auth", shown)
    yield from _options(zookeeper, files, top, {})


def _rows(values: Any, files: _Files, section: _Section, above: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the options of a section, and after them those of the sections in it.

    :param above: the sections around it, by their kind.
    """
    yield from _options(values, files, section, above)
    if isinstance(values, Pool):
        for key, resource in LIMIT_KEYS.items():
            yield _row(files, section, key, values.limits[resource])
    around = {**above, section_of(type(values)).kind: values}
    for name, option in options_of(type(values)).items():
        made = getattr(values, name)
        if option.part is None or option.read is not None or option.part is ZooKeeperSettings:
            continue
        if option.joined:
            yield from _rows(made, files, section, above)
        elif option.many:
            for part in _parts(option, files, section):
                if part.raw["name"] in made:
                    yield from _rows(made[part.raw["name"]], files, part, around)
        elif made is not None:
            yield from _rows(made, files, _inner(section, option), around)


def _inner(section: _Section, option: Option) -> _Section:
    """Return the section that is the value of an option, which another section may hand down as a whole."""
    if option.part is None:
        raise AssertionError(f"{option.key} has no section")
    givers = (section, *(section.upper if option.inherits else ()))
    giver = next((one for one in givers if one.raw.get(option.key) is not None), section)
    kind = section_of(option.part).kind
    known_as = kind if giver is section else f"{kind} of {giver.kind}"
    return _Section(
        (*giver.path, option.key), giver.raw.get(option.key) or {}, known_as, of=(*section.path, option.key)
    )


def _parts(option: Option, files: _Files, section: _Section) -> Iterator[_Section]:
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
    for name, part in named.items():
        if option.part is PoolLabel and name in files.labels:
            part = dataclasses.replace(part, upper=(files.labels[name], *part.upper))
        yield _with_parents(part, named) if option.part is Diskimage else part


def _with_parents(image: _Section, images: Mapping[str, _Section]) -> _Section:
    line = lineage(image.raw, {name: one.raw for name, one in images.items()})
    parents = [images[str(item["name"])] for item in reversed(line[:-1])]
    upper = tuple(dataclasses.replace(one, kind=f"diskimage {one.raw['name']}") for one in parents)
    return dataclasses.replace(image, upper=upper)


def _options(values: Any, files: _Files, section: _Section, above: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the options of a section that are single values."""
    for name, option in options_of(type(values)).items():
        if option.part is None and name not in ("name", "limits"):
            value = getattr(values, name)
            if value is None and option.inherits == LABEL_OR_PROVIDER and PROVIDER in above:
                value = getattr(above[PROVIDER], name)
            upper = tuple(one for one in section.upper if _hands_down(one, option))
            yield _row(files, dataclasses.replace(section, upper=upper), option.key, value)


def _hands_down(upper: _Section, option: Option) -> bool:
    """Return True when an option without a value has that of a section above, or of a parent of its diskimage."""
    if option.inherits not in UPPER:
        return bool(option.inherits)
    return any(upper.kind == kind or upper.kind.startswith(f"{kind} ") for kind in UPPER[option.inherits])


def _row(files: _Files, section: _Section, key: str, value: Any) -> dict[str, Any]:
    """Return the row of one option."""
    given = next((part for part in (section, *section.upper) if part.raw.get(key) is not None), None)
    source, path = files.place(given, key) if given is not None else (files.source, ())
    return {
        "section": path_text(files.source.data, section.of or section.path) or "top",
        "option": key,
        "value": _shown(key, value, source.hidden),
        "origin": given.kind if given is not None else DEFAULT,
        "file": source.name if given is not None else None,
        "line": source.line_of(path) if given is not None else None,
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
