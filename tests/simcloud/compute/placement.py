# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nova's scheduler hints and server groups: what a create may say, and the hosts that are left. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.simcloud.answers import nova_error
from tests.simcloud.config import ServerGroupConfig

UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
KEYS = ("os:scheduler_hints", "OS-SCH-HNT:scheduler_hints")
_SERVERS = ("same_host", "different_host")


def hints_of(document: Mapping[str, Any], groups: Mapping[str, ServerGroupConfig]) -> dict[str, Any]:
    """Return the checked hints of the body of a create.

    :raises Refusal: with nova's text, for a wrong form or a group that does not exist.
    """
    for key in document:
        if key not in ("server", *KEYS):
            raise nova_error(400, f"Additional properties are not allowed ('{key}' was unexpected)")
    hints: Any = next((document[key] for key in KEYS if key in document), {})
    if not isinstance(hints, dict):
        raise _invalid("os:scheduler_hints", hints, f"{hints!r} is not of type 'object'")
    for name in (*_SERVERS, "group"):
        for value in _listed(hints.get(name, [])):
            if not isinstance(value, str) or not UUID.fullmatch(value):
                raise _invalid(name, hints[name], f"{value!r} is not a 'uuid'")
    query = hints.get("query", "")
    if not isinstance(query, str | dict):
        raise _invalid("query", query, f"{query!r} is not of type 'string', 'object'")
    for group in _listed(hints.get("group", [])):
        if group not in groups:
            raise nova_error(400, f"Instance group {group} could not be found.")
    return dict(hints)


def group_of(hints: Mapping[str, Any]) -> str:
    """Return the id of the group that the server joins; "" for none."""
    return next(iter(_listed(hints.get("group", []))), "")


def hosts_left(
    hosts: Sequence[str], hints: Mapping[str, Any], policy: str, members: Iterable[str], placed: Mapping[str, str]
) -> list[str]:
    """Return the hosts that pass nova's filters; of a soft policy the hosts that it likes best.

    :param policy: of the server's group; "" without one.
    :param members: the ids of the other servers of the group.
    :param placed: id of a server → its host, for all servers that have one.
    """
    near, far = ({placed.get(ident, "") for ident in _listed(hints.get(name, []))} for name in _SERVERS)
    left = [host for host in hosts if ("same_host" not in hints or host in near) and host not in far]
    taken = [placed[ident] for ident in members if ident in placed]
    match policy:
        case "affinity":
            return [host for host in left if not taken or host in taken]
        case "anti-affinity":
            return [host for host in left if host not in taken]
        case "soft-affinity":
            return [host for host in left if host in taken] or left
        case "soft-anti-affinity":
            fewest = min((taken.count(host) for host in left), default=0)
            return [host for host in left if taken.count(host) == fewest]
    return left


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _invalid(attribute: str, value: Any, reason: str) -> Exception:
    return nova_error(400, f"Invalid input for field/attribute {attribute}. Value: {value}. {reason}")
