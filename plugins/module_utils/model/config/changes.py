# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Description of the differences between two configurations. It shows no values: they may be secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from .types import NodepoolConfig

KINDS = {"labels": "label", "diskimages": "diskimage", "providers": "provider"}
SILENT = frozenset({*KINDS, "path", "warnings"})


def changes(before: NodepoolConfig, after: NodepoolConfig) -> list[str]:
    """Return a short text for each part that is new, gone or changed; none when the configurations are the same."""
    found = [name.replace("_", "-") for name in _fields(before, after) if name not in SILENT]
    for name, kind in KINDS.items():
        found += _items(kind, getattr(before, name), getattr(after, name))
    return found


def _items(kind: str, before: Mapping[str, Any], after: Mapping[str, Any], where: str = "") -> Iterator[str]:
    for name in after:
        if name not in before:
            yield f"{kind} {where}{name} is new"
        elif before[name] != after[name]:
            yield from _within(kind, f"{where}{name}", before[name], after[name])
    yield from (f"{kind} {where}{name} was removed" for name in before if name not in after)


def _within(kind: str, name: str, before: Any, after: Any) -> Iterator[str]:
    """Yield the changes of an item; pools and their labels have texts of their own."""
    inner = {"provider": "pools", "pool": "labels"}.get(kind)
    own = [key.replace("_", "-") for key in _fields(before, after) if key != inner]
    if own:
        yield f"{kind} {name} changed ({', '.join(own)})"
    if inner is not None:
        yield from _items(
            "pool" if kind == "provider" else "label", getattr(before, inner), getattr(after, inner), f"{name}/"
        )


def _fields(before: Any, after: Any) -> list[str]:
    return [item.name for item in fields(before) if getattr(before, item.name) != getattr(after, item.name)]
