# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of requests: the columns of ``nodepool request-list``, the place in the queue, and why each one waits."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import own_tree, reasons
from ...model.documents import seconds, text, whole, words
from ...model.request import RequestState, id_parts
from ...model.stored import is_number
from .fields import Fields, age, age_text

WAITS = paths.own(own_tree.WAITS)
PROBLEM = "the stored reason cannot be used"
NEXT_TRY = re.compile(r"next (attempt|try) in \d+ s$")
"""The end of the sentences about freezes and breakers."""


@dataclass(frozen=True)
class RequestFilter:
    """Which requests are selected; an empty field means all. *older_than*: seconds since the request was made."""

    ids: Collection[str] = ()
    states: Collection[str] = ()
    labels: Collection[str] = ()
    providers: Collection[str] = ()
    requestors: Collection[str] = ()
    older_than: float = 0.0

    def takes(self, row: Mapping[str, Any]) -> bool:
        """True when the row is selected."""
        return (
            (not self.ids or row["id"] in self.ids)
            and (not self.states or row["state"] in self.states)
            and (not self.labels or any(label in self.labels for label in row["labels"]))
            and (not self.providers or row["provider"] in self.providers)
            and (not self.requestors or row["requestor"] in self.requestors)
            and (not self.older_than or (row["created_age"] or 0.0) >= self.older_than)
        )


def request_rows(reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return the rows of all requests in the order in which they are served."""
    rows, waits = [], {found.name: found for found in reading.below(WAITS)}
    for found in sorted(reading.below(paths.REQUESTS), key=lambda found: found.fact(_order)):
        rows.append(request_row(found, waits.get(found.name), now))
    queue = [row for row in rows if row["state"] == RequestState.REQUESTED]
    for place, row in enumerate(queue, start=1):
        row["place"] = place
    return rows


def _order(found: Found) -> tuple[str, int, str]:
    priority, sequence = id_parts(found.name)
    return priority, whole(found.document.get("relative_priority")) or 0, sequence


def request_row(found: Found, wait: Found | None, now: float) -> dict[str, Any]:
    """Return the row of a request. Ages are in seconds; fields that are missing or wrong in the document are null."""
    row, since, created = found.fact(_ageless)
    in_state = age(since, now)
    return {
        **row,
        "age": in_state,
        "age_text": age_text(in_state),
        "created_age": age(created, now),
        "reason": reason_of(wait, now),
    }


def _ageless(found: Found) -> tuple[dict[str, Any], float | None, float | None]:
    """Return the row without ages, the time of the last change of state, and the time of creation."""
    fields = Fields(found.document, found.problem)
    # A request for no nodes has an empty list of labels.
    nodeless = (found.document or {}).get("node_types") == []
    fields.need("state", *(() if nodeless else ("node_types",)))
    since, created = fields.moment("state_time"), fields.moment("created_time")
    row = {
        "id": found.name,
        "priority": int(id_parts(found.name)[0]),
        "relative_priority": fields.read("relative_priority", whole) or 0,
        "state": fields.read("state"),
        "age": None,
        "age_text": None,
        "created_age": None,
        "requestor": fields.read("requestor"),
        "labels": fields.read("node_types", words),
        "nodes": fields.read("nodes", words),
        "declined_by": fields.read("declined_by", words),
        "event_id": fields.read("event_id"),
        "provider": fields.read("provider"),
        "tenant": fields.read("tenant_name"),
        "locked": found.locked,
        "place": None,
        "reason": None,
        "problems": fields.problems,
    }
    return row, since, since if created is None else created


def reason_of(wait: Found | None, now: float) -> dict[str, Any] | None:
    """Return why a request waits or was declined, as a launcher has stored it; None when none has."""
    if wait is None or wait.problem is not None:
        return None if wait is None else {"code": "", "text": f"{PROBLEM}: {wait.problem}", "since": None, "age": None}
    document = wait.document
    at = seconds(document.get("at"))
    told = age(wait.written if at is None else at, now)
    return {
        "code": text(document.get("code")) or "",
        "text": said_now(document, told),
        "since": seconds(document.get("since")),
        "age": told,
    }


def said_now(document: Mapping[str, Any], told: float | None) -> str:
    """Return the sentence of a stored reason, with the seconds until the next try counted from now.

    :param told: seconds since the reason was stored, None when unknown.
    """
    sentence, left = text(document.get("text")), document.get("seconds")
    if sentence is None:
        return PROBLEM
    if told is None or not is_number(left) or document.get("code") not in (reasons.FROZEN, reasons.BREAKER):
        return sentence
    return NEXT_TRY.sub(reasons.next_attempt(float(left or 0) - told), sentence)
