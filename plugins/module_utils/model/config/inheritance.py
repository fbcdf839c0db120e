# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inheritance of diskimages from their parents.

Nodepool's rules (``DiskImage.setFromConfig`` of 11.0.0): parents first, then the entry itself. A single value of the
entry replaces the parent's unless it is empty, 0 or false; delete-after-upload also when it is false. elements are
appended to the parent's, env-vars are merged into the parent's, formats replace the parent's. name, abstract, parent
and metadata are never inherited. :mod:`types` says which rule holds for which option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .options import (
    APPENDED,
    MERGED,
    PARENT,
    PARENT_OR_FALSE,
    options_of,
)
from .types import Diskimage

RawImage = Mapping[str, Any]

_RULES = {option.key: option.inherits for option in options_of(Diskimage).values()}
OVERRIDDEN = tuple(key for key, rule in _RULES.items() if rule in (PARENT, PARENT_OR_FALSE))
SWITCHED_OFF = tuple(key for key, rule in _RULES.items() if rule == PARENT_OR_FALSE)
"""Keys that an image can set to false although its parent sets them to true."""
APPENDING = tuple(key for key, rule in _RULES.items() if rule == APPENDED)
MERGING = tuple(key for key, rule in _RULES.items() if rule == MERGED)


def lineage(image: RawImage, images: Mapping[str, RawImage]) -> list[RawImage]:
    """Return *image* and its ancestors, the oldest first. Stops at a parent that does not exist or that is repeated."""
    line = [image]
    while True:
        parent = images.get(_parent(line[-1]) or "")
        if parent is None or any(parent is seen for seen in line):
            return line[::-1]
        line.append(parent)


def cycle_from(image: RawImage, images: Mapping[str, RawImage]) -> list[str]:
    """Return the names on the way from *image* by its parents back to itself; empty when there is no such cycle."""
    names = [str(image.get("name"))]
    place: RawImage | None = image
    while place is not None and len(names) <= len(images) + 1:
        name = _parent(place)
        if name is None:
            return []
        names.append(name)
        place = images.get(name)
        if place is image:
            return names
    return []


def merged(image: RawImage, images: Mapping[str, RawImage]) -> dict[str, Any]:
    """Return the settings of *image* merged with those of its ancestors, under the keys of the file."""
    result: dict[str, Any] = {key: image.get(key) for key, rule in _RULES.items() if not rule}
    result |= {key: [] for key in APPENDING} | {key: {} for key in MERGING}
    for ancestor in lineage(image, images):
        result |= {key: ancestor[key] for key in OVERRIDDEN if _counts(ancestor, key)}
        result |= {key: [*result[key], *(ancestor.get(key) or [])] for key in APPENDING}
        result |= {key: {**result[key], **(ancestor.get(key) or {})} for key in MERGING}
    return result


def ineffective_keys(image: RawImage, images: Mapping[str, RawImage]) -> Iterator[tuple[str, str]]:
    """Yield the keys that *image* sets to false, 0 or empty without effect, with the name of the ancestor that sets
    them."""
    ancestors = lineage(image, images)[:-1]
    for key in OVERRIDDEN:
        if image.get(key) is not None and not _counts(image, key):
            for ancestor in reversed(ancestors):
                if ancestor.get(key):
                    yield key, str(ancestor.get("name"))
                    break


def _counts(image: RawImage, key: str) -> bool:
    """Return True when a value replaces that of the parent."""
    return bool(image.get(key)) or (key in SWITCHED_OFF and image.get(key) is False)


def _parent(image: RawImage) -> str | None:
    parent = image.get("parent")
    return parent if isinstance(parent, str) and parent else None
