# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as an operator sees them: the columns of ``nodepool list --detail``, and the life of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.reading import Found
from ...model.documents import (
    anything,
    text,
    whole,
    words,
)
from ...model.launch import Launch, Phase
from ...model.node import NodeState
from ...model.stored import BadDocument
from .fields import Fields, age, age_text

_BASIC = ("provider", "pool", "public_ipv4", "public_ipv6", "state", "allocated_to")
_DETAIL = {
    "private_ipv4": "private_ipv4",
    "az": "az",
    "hostname": "hostname",
    "username": "username",
    "launcher": "launcher",
    "requestor": "requestor",
    "tenant": "tenant_name",
    "image": "image_id",
    "hold_job": "hold_job",
    "comment": "comment",
}
"""Fields of a row → keys of the document, as far as they are texts."""


@dataclass(frozen=True)
class NodeFilter:
    """Which nodes are wanted: empty means all. *older_than*: seconds in the present state."""

    ids: Collection[str] = ()
    providers: Collection[str] = ()
    pools: Collection[str] = ()
    labels: Collection[str] = ()
    states: Collection[str] = ()
    older_than: float = 0.0

    def takes(self, row: Mapping[str, Any]) -> bool:
        """Whether a row is wanted."""
        return (
            (not self.ids or row["id"] in self.ids)
            and (not self.providers or row["provider"] in self.providers)
            and (not self.pools or row["pool"] in self.pools)
            and (not self.labels or any(label in self.labels for label in row["labels"]))
            and (not self.states or row["state"] in self.states)
            and (not self.older_than or (row["age"] or 0.0) >= self.older_than)
        )


def node_rows(found: Iterable[Found], wanted: NodeFilter, now: float, *, detail: bool) -> list[dict[str, Any]]:
    """The rows of the nodes that are wanted, by id; with *detail* all that ``nodepool list --detail`` shows."""
    rows = []
    for one in found:
        if wanted.ids and one.name not in wanted.ids:
            continue
        fields = Fields(one.document, one.problem)
        row = node_row(one, fields, now)
        if wanted.takes(row):
            rows.append({**row, **_detail(fields, row, now)} if detail else row)
    return rows


def node_row(found: Found, fields: Fields, now: float) -> dict[str, Any]:
    """One node. Ages are seconds; what the document does not have, or has wrongly, is null."""
    fields.need("state", "type", "provider")
    in_state = age(fields.moment("state_time"), now)
    return {
        "id": found.name,
        **{key: fields.read(key) for key in _BASIC},
        "labels": fields.read("type", words),
        "server_id": fields.read("external_id", anything),
        "age": in_state,
        "age_text": age_text(in_state),
        "locked": found.locked,
        "problems": fields.problems,
    }


def _detail(fields: Fields, row: Mapping[str, Any], now: float) -> dict[str, Any]:
    port = fields.read("connection_port", whole)
    return {
        **{name: fields.read(key) for name, key in _DETAIL.items()},
        "port": fields.read("ssh_port", whole) if port is None else port,
        "created_age": age(fields.moment("created_time"), now),
        "user_data": fields.read("user_data", anything),
        "driver_data": fields.read("driver_data", anything),
        "expires_in": _expires_in(row, fields.read("hold_expiration", whole)),
    }


def _expires_in(row: Mapping[str, Any], held_for: int | None) -> float | None:
    if row["state"] != NodeState.HOLD or row["age"] is None or held_for is None or held_for <= 0:
        return None
    return round(held_for - float(row["age"]), 1)


# -- the life of one -------------------------------------------------------------------------------------------------


def node_life(found: Found, launch: Found | None, now: float) -> dict[str, Any]:
    """What is stored of a node's way: each step with its time, and what its launch has met with.

    :param launch: the document of the launch; None when there is none (another launcher's node).
    """
    fields = Fields(found.document)
    created, state, since = fields.moment("created_time"), fields.read("state"), fields.moment("state_time")
    record, problem = _launch(launch)
    steps = list(_launch_steps(record)) if record is not None else []
    if created is not None:
        steps.insert(0, ("recorded", created, "the record was made"))
    if state is not None and since is not None:
        steps.append((state, since, _state_text(state, found.document)))
    steps.sort(key=lambda step: step[1])
    return {
        "steps": [
            {"step": name, "at": at, "age": age(at, now), "age_text": age_text(age(at, now)), "text": sentence}
            for name, at, sentence in steps
        ],
        "phase": record.phase if record else None,
        "attempt": record.attempt if record else None,
        "mark": record.mark or None if record else None,
        "server_id": (record.server_id if record else None) or fields.read("external_id", anything),
        "floating_ip": record.floating_address if record else None,
        "volumes": list(record.volume_ids) if record else [],
        "failures": list(record.failures) if record else [],
        "superseded": list(record.superseded) if record else [],
        "next_try_in": _next_try(record, now),
        "boot_seconds": _between(record),
        "problem": problem,
    }


def _launch(found: Found | None) -> tuple[Launch | None, str | None]:
    if found is None:
        return None, "there is no record of its launch: another launcher made it, or it is gone"
    try:
        return Launch.from_document(found.document), found.problem
    except BadDocument as problem:
        return None, f"the record of its launch cannot be used: {found.problem or problem}"


def _launch_steps(launch: Launch) -> Iterator[tuple[str, float, str]]:
    server = f"server {launch.server_id}" if launch.server_id else "the server"
    if launch.started:
        yield "launched", launch.started, f"the launch began, for {launch.request_id or 'min-ready'}"
    if launch.asked_at:
        mark = launch.mark or "(none)"
        yield "asked", launch.asked_at, f"attempt {launch.attempt}: the cloud was asked for a server, mark {mark}"
    if launch.created_at:
        yield "created", launch.created_at, f"the cloud said yes: {server}"
    if launch.active_at:
        yield "active", launch.active_at, f"{server} became ACTIVE"
    if launch.since and launch.phase not in (Phase.QUEUED, Phase.CREATING):
        yield f"phase {launch.phase}", launch.since, f"the launch came into the phase {launch.phase}"


def _state_text(state: str, document: Mapping[str, Any]) -> str:
    request, job, comment = (text(document.get(key)) for key in ("allocated_to", "hold_job", "comment"))
    if state == NodeState.HOLD:
        return "held" + (f" for {job}" if job else "") + (f": {comment}" if comment else "")
    if state == NodeState.READY:
        return f"ready, assigned to request {request}" if request else "ready, assigned to no request"
    return f"the record says {state}" + (f", assigned to request {request}" if request else "")


def _next_try(launch: Launch | None, now: float) -> float | None:
    if launch is None or not launch.in_flight or launch.not_before <= now:
        return None
    return round(launch.not_before - now, 1)


def _between(launch: Launch | None) -> float | None:
    """Seconds from the create to ACTIVE."""
    if launch is None or launch.created_at is None or launch.active_at is None:
        return None
    return round(max(0.0, launch.active_at - launch.created_at), 1)
