# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool-settings.yaml: its entries belong to entries of nodepool.yaml with the same names.

:func:`check_settings` finds names that nodepool.yaml does not have, :func:`laid_over` puts the two together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .drivers import OURS
from .gate_check import check_channels, check_gates, check_probes
from .messages import suggestion
from .options import (
    NODEPOOL,
    SETTINGS,
    Option,
    Raw,
    keys_of,
    section_of,
)
from .problems import Path, Problem, shown
from .types import NodepoolConfig, Provider

HINTS, GROUP_HINT = "scheduler-hints", "group"


def check_settings(settings: Any, main: Any) -> list[Problem]:
    """Return the problems of nodepool-settings.yaml that a schema cannot express.

    :param main: data of nodepool.yaml, of any form; None if it cannot be read, then no names are compared.
    """
    return [
        *_problems(settings, main, NodepoolConfig, (), ""),
        *check_gates(settings, main),
        *check_channels(settings, main),
        *check_probes(settings, main),
    ]


def laid_over(main: Raw, settings: Raw, cls: type = NodepoolConfig) -> dict[str, Any]:
    """Return the data of nodepool.yaml with the options of nodepool-settings.yaml in its entries.

    A key of nodepool.yaml that only nodepool-settings.yaml may have is left out, as any key that is not known.
    """
    keys = {option.key: option for option in keys_of(cls, SETTINGS)}
    foreign = {key for key, option in keys.items() if NODEPOOL not in option.files}
    result = {key: value for key, value in main.items() if key not in foreign}
    for key, option in keys.items():
        if key in foreign and settings.get(key) is not None:
            result[key] = settings[key]
        elif key not in foreign and option.part is not None and isinstance(main.get(key), list):
            own = dict(_named(settings.get(key)))
            # What a provider of another driver has is not checked: it may have any form.
            result[key] = [
                laid_over(item, own.get(str(item.get("name")), {}), option.part) if isinstance(item, dict) else item
                for item in main[key]
            ]
    return result


def place_in_settings(main: Any, path: Path, settings: Any) -> Path | None:
    """Return the path of the entry of *settings* that belongs to the one at *path* of *main*; None if there is none."""
    found: list[str | int] = []
    for step in path:
        # A section that only the settings may have has no entry in nodepool.yaml.
        alone = main is None
        main = (main[step] if isinstance(step, int) else main.get(step)) if main is not None else None
        if isinstance(step, int) and not alone:
            entries = settings if isinstance(settings, list) else []
            step = next((at for at, item in enumerate(entries) if item["name"] == main["name"]), -1)
        if step == -1 or not settings or (isinstance(settings, Mapping) and step not in settings):
            return None
        found.append(step)
        settings = settings[step]
    return tuple(found)


def _problems(settings: Any, main: Any, cls: type, path: Path, where: str) -> Iterator[Problem]:
    """Yield the problems of an entry and of those in it.

    :param main: the entry of nodepool.yaml with the same name; None if it is not known.
    :param where: the entry, for sentences; "" for the whole file.
    """
    if not isinstance(settings, dict):
        return
    hints = settings.get(HINTS)
    if isinstance(hints, dict) and GROUP_HINT in hints:
        yield Problem((*path, HINTS, GROUP_HINT), "is the hint for a server group: write server-group instead")
    for option in keys_of(cls, SETTINGS):
        if option.part is not None:
            yield from _entries(settings, main, option, (*path, option.key), where)


def _entries(settings: Raw, main: Any, option: Option, path: Path, where: str) -> Iterator[Problem]:
    if option.part is None:
        raise AssertionError(f"{option.key} has no section")
    there = main.get(option.key) if isinstance(main, dict) else None
    # What only nodepool-settings.yaml may have belongs to no entry of nodepool.yaml.
    alone = main is None or NODEPOOL not in option.files
    known = None if alone or not isinstance(there, list | None) else dict(_named(there))
    kind, seen = section_of(option.part).kind, dict[str, int]()
    values = settings.get(option.key)
    for index, item in enumerate(values if isinstance(values, list) else []):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            continue
        place, inside = (*path, index, "name"), f" in {where}" if where else ""
        if name in seen:
            yield Problem(place, f"is also the name of entry number {seen[name] + 1}: write one entry")
        elif known is not None and name not in known:
            remedy = suggestion(name, known) or "define it there, or remove the entry"
            yield Problem(
                place, f"names the {kind} {shown(name)!r}, which nodepool.yaml does not define{inside}: {remedy}"
            )
        elif option.part is Provider and known is not None and (known[name].get("driver") or OURS) != OURS:
            yield Problem(place, "names a provider with another driver, which is left out: remove the entry")
        seen.setdefault(name, index)
        inner = None if known is None else known.get(name)
        of_what = f" of {where}" if where else ""
        yield from _problems(item, inner, option.part, (*path, index), f"{kind} {shown(name)!r}{of_what}")


def _named(items: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in items or []:
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str):
            yield name, item
