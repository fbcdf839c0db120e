# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows about what leaked, as the sweeps of the launchers have seen it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import TreeReading
from ...model import own_tree
from ...model.documents import mapping, seconds, text, whole
from ...sweeping.judge import STUCK_AFTER
from .fields import age

SIGHTINGS = paths.own(own_tree.SIGHTINGS)


def leak_rows(reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return what leaked according to the stored sightings, the oldest first, without foreign things."""
    rows = []
    for found in reading.below(SIGHTINGS):
        for key, item in (mapping(found.document.get("seen")) or {}).items():
            document = mapping(item) or {}
            rows.append(
                {
                    "provider": found.name,
                    "what": key.replace("/", " ", 1),
                    "age": age(seconds(document.get("first")), now),
                    "tries": whole(document.get("tries")) or 0,
                    "answer": text(document.get("answer")),
                }
            )
    return sorted(rows, key=lambda row: -(row["age"] or 0.0))


def undeletable(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return those of the rows that several attempts have not deleted."""
    return [row for row in rows if row["tries"] >= STUCK_AFTER]
