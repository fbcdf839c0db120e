# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of new images in a reading of the tree: what the gate of each image at each provider says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model.config.gate_settings import CANARY_PREFIX
from ...model.documents import whole, words
from ...model.gate import FLAKY, INCONCLUSIVE, LOGS, REJECTED, GateRecord, log_name
from ...model.launch_counts import SHORT
from ...model.node import NodeState
from ...model.own_tree import GATES as GATES_PART
from ...model.stored import BadDocument
from .fields import Fields, age

GATES = paths.own(GATES_PART)
ROOTS = (GATES,)


def gate_record(reading: TreeReading, provider: str, image: str) -> GateRecord | None:
    """Return the record of an image's gate at a provider; None without one, and when its build is gone."""
    found = reading.one(f"{GATES}/{paths.segment(provider)}/{paths.segment(image)}")
    record = None if found is None else found.fact(_record)
    gone = record is None or reading.one(paths.build(image, record.build)) is None
    return None if gone else record


def gate_row(reading: TreeReading, provider: str, image: str, now: float) -> dict[str, Any] | None:
    """Return what the gate says, for people; None without one. *log*: number of the result with the log; 0 for none."""
    record = gate_record(reading, provider, image)
    if record is None:
        return None
    at = max((one.at for one in (*record.results[-1:], *record.void[-1:])), default=record.since)
    return {
        "build_id": record.build,
        "state": record.state,
        "text": record.note,
        "age": age(at, now),
        "log": record.log_number,
    }


def gate_sentence(reading: TreeReading, provider: str, image: str) -> str:
    """Return what the gate says of a build that did not just pass, with the log to read; "" for others."""
    record = gate_record(reading, provider, image)
    if record is None or record.state not in (REJECTED, INCONCLUSIVE, FLAKY):
        return ""
    told = f"the test of {image} build {record.build[:SHORT]} at {provider} is {record.state}"
    number = record.log_number
    name = log_name(image, record.build, provider, record.upload, number)
    log = f"; its log on the builder: {LOGS}/{name} in build-log-dir" if number else ""
    return (f"{told}: {record.note}" if record.note else told) + log


def held_canaries(reading: TreeReading, provider: str, now: float) -> Iterator[tuple[str, str, str, float | None]]:
    """Yield the canaries that are held for a person at a provider: id of the node, image, why, and seconds left."""
    for held in reading.facts(paths.NODES, _held):
        if held is not None and held[0] == provider:
            _provider, node_id, image, why, until = held
            yield node_id, image, why, round(until - now, 1) if until is not None else None


def _held(found: Found) -> tuple[str, str, str, str, float | None] | None:
    document, fields = found.document, Fields(found.document)
    if document.get("state") != NodeState.HOLD:
        return None
    labels = [label for label in fields.read("type", words) or () if label.startswith(CANARY_PREFIX)]
    if not labels:
        return None
    seconds, since = whole(document.get("hold_expiration")), fields.moment("state_time")
    until = since + seconds if since is not None and seconds is not None and seconds > 0 else None
    provider, why = (fields.read(key) or "" for key in ("provider", "comment"))
    return provider, found.name, labels[0].removeprefix(CANARY_PREFIX), why, until


def _record(found: Found) -> GateRecord | None:
    try:
        return GateRecord.from_document(found.document)
    except BadDocument:
        return None  # the builder replaces it
