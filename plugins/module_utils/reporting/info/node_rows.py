# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of nodes with the columns of ``nodepool list --detail``, and the history of one node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found
from ...model import connection
from ...model.documents import (
    anything,
    text,
    whole,
    words,
)
from ...model.launch import Launch, Phase
from ...model.lines import amount
from ...model.node import LONGEST_HOLD, NodeState, hold_problem
from ...model.own_tree import TOMBSTONES
from ...model.stored import BadDocument
from ...model.tombstone import Tombstone
from .fields import (
    EARLIEST,
    LATEST,
    Fields,
    age,
    age_text,
    items,
)

READY_TEXT = "the node is reachable and ready"
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
"""Field of a row → key of the document, for those that are texts."""


@dataclass(frozen=True)
class NodeFilter:
    """Which nodes are selected; an empty field means all. *older_than*: seconds in the present state."""

    ids: Collection[str] = ()
    providers: Collection[str] = ()
    pools: Collection[str] = ()
    labels: Collection[str] = ()
    states: Collection[str] = ()
    older_than: float = 0.0

    def takes(self, row: Mapping[str, Any]) -> bool:
        """True when the row is selected."""
        return (
            (not self.ids or row["id"] in self.ids)
            and (not self.providers or row["provider"] in self.providers)
            and (not self.pools or row["pool"] in self.pools)
            and (not self.labels or any(label in self.labels for label in row["labels"]))
            and (not self.states or row["state"] in self.states)
            and (not self.older_than or (row["age"] or 0.0) >= self.older_than)
        )


def node_rows(found: Iterable[Found], wanted: NodeFilter, now: float, *, detail: bool) -> list[dict[str, Any]]:
    """Return the rows of the selected nodes; with *detail* everything that ``nodepool list --detail`` shows."""
    rows = []
    for one in found:
        row, since = one.fact(ageless_row)
        in_state = age(since, now)
        row = {**row, "age": in_state, "age_text": age_text(in_state)}
        if wanted.takes(row):
            rows.append(_detailed(one, row, now) if detail else row)
    return rows


def odd_row(found: Found) -> dict[str, Any] | None:
    """Return the row, without ages, of a node whose record has problems; None for other nodes."""
    row = None if _is_plain(found) else found.fact(ageless_row)[0]
    return row if row is not None and row["problems"] else None


def _is_plain(found: Found) -> bool:
    """True when the record certainly has no problem. This check costs a tenth of making the row."""
    get = found.document.get
    labels, since = get("type"), get("state_time")
    return (
        found.problem is None
        and bool(labels and get("state") and get("provider"))
        and all(value is None or value.__class__ is str for value in map(get, _BASIC))
        and labels.__class__ is list
        and all(label.__class__ is str for label in labels)
        and since.__class__ is float
        and (get("hold_expiration").__class__ in (NoneType, int) and 0 <= (get("hold_expiration") or 0) <= LONGEST_HOLD)
        and EARLIEST <= since <= LATEST
    )


def ageless_row(found: Found) -> tuple[dict[str, Any], float | None]:
    """Return the row of a node without its ages, and the UNIX time since which it is in its state.

    Fields that are missing or wrong in the document are null.
    """
    fields = Fields(found.document, found.problem)
    fields.need("state", "type", "provider")
    since = fields.moment("state_time")
    hold = (
        hold_problem(found.document.get("hold_expiration")) if found.document.get("state") == NodeState.HOLD else None
    )
    row = {
        "id": found.name,
        **{key: fields.read(key) for key in _BASIC},
        "labels": fields.read("type", words),
        "server_id": fields.read("external_id", anything),
        "locked": found.locked,
        "problems": [*fields.problems, *filter(None, [hold])],
    }
    return row, since


def _detailed(found: Found, row: Mapping[str, Any], now: float) -> dict[str, Any]:
    fields = Fields(found.document)
    return {
        **row,
        **{name: fields.read(key) for name, key in _DETAIL.items()},
        "port": _port(fields),
        "address": connection.address(found.document.get("interface_ip")) or None,
        "host_keys": connection.host_keys(fields.read("host_keys", items) or ()),
        "created_age": age(fields.moment("created_time"), now),
        "user_data": fields.read("user_data", anything),
        "driver_data": fields.read("driver_data", anything),
        "expires_in": _expires_in(row, whole(found.document.get("hold_expiration"))),
        "problems": [*row["problems"], *fields.problems],
    }


def _port(fields: Fields) -> Any:
    """Return the port; None for a node of a cluster, whose record has a token there."""
    if fields.read("connection_type") in connection.CLUSTER:
        return None
    port = fields.read("connection_port", whole)
    return fields.read("ssh_port", whole) if port is None else port


def _expires_in(row: Mapping[str, Any], held_for: int | None) -> float | None:
    if row["state"] != NodeState.HOLD or row["age"] is None or held_for is None or held_for <= 0:
        return None
    return round(held_for - float(row["age"]), 1)


# -- history of a node -----------------------------------------------------------------------------------------------


def node_life(found: Found, launch: Found | None, now: float) -> dict[str, Any]:
    """Return the stored history of a node: each step with its time, and the failures of its launch.

    :param launch: the document of the launch; None when there is none (another launcher's node).
    """
    fields = Fields(found.document)
    created, state, since = fields.moment("created_time"), fields.read("state"), fields.moment("state_time")
    record, problem = _launch(launch)
    steps: list[tuple[str, float, str]] = []
    if created is not None:
        # A launch begins with its record, but the launcher reads the clock twice for the two times.
        created = min(created, record.started or created) if record is not None else created
        steps.append(("recorded", created, "the record was made"))
    steps += [*_assigned(found, record, created), *(_launch_steps(record) if record is not None else ())]
    if state is not None and since is not None and (state, since) not in [step[:2] for step in steps]:
        steps.append((state, since, _state_text(state, found.document)))
    return {
        "steps": _told(steps, now),
        "phase": record.phase if record else None,
        "attempt": record.attempt if record else None,
        "mark": record.mark or None if record else None,
        "server_id": (record.server_id if record else None) or fields.read("external_id", anything),
        "floating_ip": record.floating_address if record else None,
        "volumes": list(record.volume_ids) if record else [],
        "failures": list(record.failures) if record else [],
        "superseded": list(record.superseded) if record else [],
        "next_try_in": _next_try(record, now),
        "boot_seconds": _difference(record.created_at, record.active_at) if record else None,
        "problem": problem,
    }


def tombstone_paths(node_id: str, providers: Iterable[str]) -> list[str]:
    """Return the paths of a deleted node's possible tombstones."""
    return [f"{paths.OWN}/{TOMBSTONES}/{paths.segment(name)}/{paths.segment(node_id)}" for name in sorted(providers)]


def gone_life(found: Found, now: float) -> dict[str, Any]:
    """Return the history of a deleted node, as far as its tombstone has it.

    :param found: the document of the tombstone.
    """
    try:
        stone, problem = Tombstone.from_document(found.document), found.problem
    except BadDocument as bad:
        stone, problem = Tombstone(found.name), f"its stored record cannot be used: {found.problem or bad}"
    began = min((stone.times[name] for name in ("recorded", "launched") if name in stone.times), default=0.0)
    # The record comes first: a launch that began at the same moment may have an earlier time from another clock.
    names = sorted(stone.times, key=lambda name: name != "recorded")
    steps = [
        (name, began if name == "recorded" else stone.times[name], GONE_STEPS.get(name, f"the record said {name}"))
        for name in names
    ]
    if stone.buried:
        steps.append(("deleted", stone.buried, "deleted" + (f", because {stone.why}" if stone.why else "")))
    return {
        **dict.fromkeys(("phase", "attempt", "floating_ip", "next_try_in"), None),
        "steps": _told(steps, now),
        "mark": next(reversed(stone.marks), None),
        "server_id": next(reversed(stone.servers), None),
        "volumes": list(stone.volumes),
        "failures": [],
        "superseded": list(stone.marks[:-1]),
        "boot_seconds": _difference(stone.times.get("created"), stone.times.get("active")),
        "problem": problem or (None if stone.times else "a launch attempt of it was removed; its history is not kept"),
    }


GONE_STEPS = {
    "recorded": "the record was made",
    "launched": "the launch began",
    "created": "the cloud accepted the create",
    "active": "the server became ACTIVE",
    "ready": READY_TEXT,
    "in-use": "the requestor began to use it",
    "used": "the node was released",
}
"""Name of a time in a tombstone → the text of that event."""


def _told(steps: Iterable[tuple[str, float, str]], now: float) -> list[dict[str, Any]]:
    """Return the rows of the steps, sorted by time."""
    return [
        {"step": name, "at": at, "age": age(at, now), "age_text": age_text(age(at, now)), "text": sentence}
        for name, at, sentence in sorted(steps, key=lambda step: step[1])
    ]


def _assigned(found: Found, launch: Launch | None, recorded: float | None) -> Iterator[tuple[str, float, str]]:
    """Yield the step at which the node was assigned to its request, when its time is known.

    The record has no time for this step. Either the node was launched for the request, or the last write of the ready
    node assigned it.
    """
    request = text(found.document.get("allocated_to"))
    if request is None:
        return
    if launch is not None and launch.request_id == request and recorded is not None:
        yield "assigned", recorded, f"recorded for request {request}"
    elif text(found.document.get("state")) == NodeState.READY:
        yield "assigned", found.written, f"assigned to request {request}"


def _launch(found: Found | None) -> tuple[Launch | None, str | None]:
    if found is None:
        return None, "there is no record of its launch: another launcher created it, or it is gone"
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
        yield "created", launch.created_at, f"the cloud accepted it: {server}"
    if launch.active_at:
        yield "active", launch.active_at, f"{server} became ACTIVE"
    if launch.adopted and launch.adopted_at:
        yield "adopted", launch.adopted_at, adoption_text(launch.adopted)
    if launch.since and launch.phase == Phase.READY:
        yield "ready", launch.since, READY_TEXT
    elif launch.since and launch.phase not in (Phase.QUEUED, Phase.CREATING):
        yield f"phase {launch.phase}", launch.since, f"the launch entered the phase {launch.phase}"


def adoption_text(times: int) -> str:
    """Return the text about how often later cycles continued a launch."""
    return f"a later launcher cycle continued the launch ({amount(times, 'time', 'times')} so far)"


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


def _difference(begin: float | None, end: float | None) -> float | None:
    return None if begin is None or end is None else round(max(0.0, end - begin), 1)
