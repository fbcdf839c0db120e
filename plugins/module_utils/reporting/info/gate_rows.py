# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tests of new images in a reading of the tree: what the gate of each image at each provider says."""

from __future__ import annotations

from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model.gate import FLAKY, INCONCLUSIVE, LOGS, REJECTED, GateRecord, log_name
from ...model.launch_counts import SHORT
from ...model.own_tree import GATES as GATES_PART
from ...model.stored import BadDocument
from .fields import age

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
    at = record.results[-1].at if record.results else record.since
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


def _record(found: Found) -> GateRecord | None:
    try:
        return GateRecord.from_document(found.document)
    except BadDocument:
        return None  # the builder replaces it
