# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares what a module returns with what its RETURN block says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any

import yaml

KINDS: dict[str, tuple[type[Any], ...]] = {
    "bool": (bool,),
    "dict": (dict,),
    "float": (int, float),
    "int": (int,),
    "list": (list,),
    "raw": (object,),
    "str": (str,),
}
# Ansible's own words, which no module documents.
COMMON = {"changed", "diff"}


def differences(block: str, result: Mapping[str, Any], *, check: bool, also: Collection[str] = ()) -> list[str]:
    """What is returned and not documented, documented and not returned, or of another type.

    :param block: the RETURN block.
    :param result: what a call that went well returned, in check mode or not.
    :param also: what else the block names as a condition and is fulfilled.
    """
    documented = {name: spec for name, spec in _parsed(block).items() if _applies(spec["returned"], check, also)}
    shown = {name: value for name, value in result.items() if name not in COMMON}
    return list(_compare(documented, shown, ""))


@cache
def _parsed(block: str) -> dict[str, Any]:
    """A property compares many results with the same block."""
    return dict(yaml.safe_load(block))


def _applies(returned: str, check: bool, also: Collection[str]) -> bool:
    when = {"success": True, "always": True, "in check mode": check, "when not in check mode": not check}
    return any(when.get(part, part in also) for part in returned.split(", and "))


def _compare(documented: Mapping[str, Any], shown: Mapping[str, Any], where: str) -> Iterator[str]:
    for name in documented.keys() - shown.keys():
        yield f"{where}{name} is documented and not returned"
    for name in shown.keys() - documented.keys():
        yield f"{where}{name} is returned and not documented"
    for name in documented.keys() & shown.keys():
        yield from _value(documented[name], shown[name], where + name)


def _value(spec: Mapping[str, Any], value: Any, where: str) -> Iterator[str]:
    several: list[Any] = value if isinstance(value, list) else [value]
    if value is None:
        if "null" not in str(spec["description"]):
            yield f"{where} is null, which is not documented"
        return
    if not isinstance(value, KINDS[spec["type"]]):
        yield f"{where} is a {type(value).__name__}, documented as {spec['type']}"
    elif "choices" in spec and value not in spec["choices"]:
        yield f"{where} is {value!r}, which is not among its choices"
    elif "contains" in spec:
        for item in several:
            yield from _compare(spec["contains"], item, f"{where}.")
    elif "elements" in spec:
        for item in several:
            if not isinstance(item, KINDS[spec["elements"]]):
                yield f"{where} has a {type(item).__name__}, documented as {spec['elements']}"
