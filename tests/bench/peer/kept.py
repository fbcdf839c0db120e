# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of all rooms in one file, whether they were measured in one run or in several."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bench import report

FOLDER = Path(__file__).resolve().parents[3] / ".build" / "bench"
MEASURED = FOLDER / "peer.json"
QUICK = FOLDER / "peer-quick.json"
"""Figures of ``--quick`` are kept apart from those for README."""

Figures = Mapping[str, float | None]


def read(path: Path) -> dict[str, Any]:
    """The rooms of a file: name → ``title``, ``sides`` (side → figures) and ``measured`` (side → date and machine).

    :raises ValueError: it is no such file.
    """
    if not path.exists():
        return {}
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or "rooms" not in document:
        raise ValueError(f"{path} is not a file of make bench-peer: it has no 'rooms'")
    rooms: dict[str, Any] = document["rooms"]
    return rooms


def keep(path: Path, room: str, title: str, figures: Mapping[str, Figures], measured: Mapping[str, Any]) -> None:
    """Put the figures of a room into the file; other rooms, and sides that were not measured now, stay.

    :param figures: side → its figures.
    :param measured: date, machine and load of this run.
    """
    rooms = read(path)
    known = rooms.get(room, {})
    if known.get("title") != title:
        known = {"title": title, "sides": {}, "measured": {}}
    known["sides"] |= {side: {key: _plain(value) for key, value in found.items()} for side, found in figures.items()}
    known["measured"] |= {side: dict(measured) for side in figures}
    rooms[room] = known
    report.write(path, {"rooms": rooms})


def _plain(value: float | None) -> float | None:
    """JSON knows no NaN."""
    return None if value is None or math.isnan(value) else round(value, 4)
