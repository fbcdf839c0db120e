# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of types that the schema does not allow, but that Nodepool's loader accepts.

Nodepool calls ``float()`` on ``rate`` and ``zookeeper-timeout``, and never checks the values of ``env-vars``
(nodepool/config.py and nodepool/driver/openstack/config.py of 11.0.0).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from .problems import Path, Problem

Converted: TypeAlias = "tuple[Any, str] | None"
"""The converted value and its problem; None for a value that is left to the schema."""


def as_nodepool_reads(data: dict[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Return the data of nodepool.yaml or secure.conf with such values converted, and a problem for each of them.

    *data* itself is not changed: YAML aliases may use parts of it in several places.
    """
    problems: list[Problem] = []

    def taken(section: dict[str, Any], key: str, path: Path, convert: Callable[[Any], Converted]) -> dict[str, Any]:
        found = convert(section.get(key))
        if found is None:
            return section
        problems.append(Problem((*path, key), found[1], "lenient"))
        return {**section, key: found[0]}

    def each(key: str, change: Callable[[dict[str, Any], Path], dict[str, Any]]) -> None:
        items = data.get(key)
        if isinstance(items, list):
            read[key] = [change(item, (key, at)) if isinstance(item, dict) else item for at, item in enumerate(items)]

    def image(item: dict[str, Any], path: Path) -> dict[str, Any]:
        variables = item.get("env-vars")
        if not isinstance(variables, dict):
            return item
        texts = variables
        for name in variables:
            texts = taken(texts, name, (*path, "env-vars"), _text)
        return {**item, "env-vars": texts}

    read = taken(data, "zookeeper-timeout", (), _number).copy()
    each("diskimages", image)
    each("providers", lambda item, path: taken(item, "rate", path, _number))
    return read, problems


def _number(value: Any) -> Converted:
    if not isinstance(value, str) or "_" in value:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return (number, "is a number in quotes: remove the quotes") if math.isfinite(number) else None


def _text(value: Any) -> Converted:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return str(value), "is a number, taken as YAML reads it (0755 is 493, 1.10 is 1.1): put it in quotes"
