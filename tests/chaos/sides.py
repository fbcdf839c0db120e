# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's launcher and ours in one history: which of them a session belongs to, and what one did to the other's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from tests.chaos.history import CREATE, DELETE, NODES, SET, Change, document, record_of

OURS, THEIRS = "ours", "theirs"
COMPONENTS, LIVE = "/nodepool/components", "/nodepool/stackci/live-launchers"


def sides(changes: Iterable[Change]) -> dict[int, str]:
    """Session → whose it is, by its registration. Requestors have none."""
    wrote: dict[int, set[str]] = defaultdict(set)
    for change in changes:
        if change.path.startswith(f"{LIVE}/") and change.kind == CREATE:
            wrote[change.session].add(OURS)
        elif change.path.startswith(f"{COMPONENTS}/launcher/") and change.kind == CREATE:
            ours = (document(change.data) or {}).get("version") == "stackci.nodepool"
            wrote[change.session].add(OURS if ours else THEIRS)
    return {session: OURS if OURS in kinds else THEIRS for session, kinds in wrote.items()}


def trespass(change: Change, before: Mapping[str, Any], side: str, providers: Mapping[str, str]) -> str:
    """What a side does to a node of the other one by this change; "" for nothing.

    Nodepool's clean-up of lost requests and of min-ready takes allocations from nodes of every provider. A node that is
    still init, for which no server was asked, it sets to deleting with that; it changes nothing else of them. Neither
    is counted.

    :param before: the node's record until now.
    :param side: the one that the session belongs to, "" for a requestor.
    :param providers: name → whose it is.
    """
    node, place = record_of(change.path, NODES), str(before.get("provider"))
    owner = providers.get(place)
    if node is None or change.kind not in (SET, DELETE) or not side or owner in (None, side):
        return ""
    after = (document(change.data) or {}) if change.kind == SET else {}
    if after and after.get("allocated_to") is None and _changed(before, after) <= _taken(before, after):
        return ""
    return f"{side}: {change.kind} of {place}'s node {node}: {sorted(_changed(before, after))}"


def _taken(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the fields that change when the allocation of a lost request is taken from a node."""
    leaked = (before.get("state"), after.get("state")) == ("init", "deleting")
    return {"allocated_to"} | ({"state", "state_time"} if leaked else set())


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    ignored = {"state_time"} if before.get("state") == after.get("state") else set()
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - ignored
