# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of both sides, and the rows of README that come from its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.peer.measuring import TITLES
from tests.bench.report import number

NAME, VALUE = 46, 18
BEGIN, END = "<!-- make bench-peer writes this table -->", "<!-- end of the table -->"

Measured = Mapping[str, Mapping[str, float | None]]
"""Side → its figures."""

README_ROWS = (
    ("burst-100", "total_p50", "100 requests at once: the median one is served after", "s"),
    ("burst-500", "total_p50", "500 requests at once: the median one is served after", "s"),
    ("burst-100", "calls_per_node", "API calls for the whole life of a node", ""),
    ("lies", "refused", "limits claim room for 120 s and creates are refused", "refusals"),
    ("silent", "recovered", "the server list is not answered for 60 s: all served, after it is back", "s"),
    ("quota-20", "makespan", "200 requests on a quota of 20: all served after", "s"),
    ("crash", "thrown_away", "`kill -9` with 27 servers booting: thrown away", ""),
    ("crash", "recovered", "`kill -9` with 27 servers booting: all served, after the restart", "s"),
    ("sustained", "nodes_per_minute", "nodes per minute, most", ""),
)
"""Room, figure, what README calls it, and its unit."""


def lines(title: str, name: str, sides: Mapping[str, str], measured: Measured) -> Iterable[str]:
    """A room's part of the table.

    :param sides: the sides' titles.
    """
    yield f"\n{name}: {title}"
    yield f"  {'':{NAME}}" + "".join(f"{one:>{VALUE}}" for one in sides.values())
    for key, (what, unit) in TITLES.items():
        values = [measured.get(side, {}).get(key) for side in sides]
        if any(value is not None for value in values):
            yield f"  {what:{NAME}}" + "".join(f"{shown(value, unit):>{VALUE}}" for value in values)


def shown(value: float | None, unit: str) -> str:
    """A figure with its unit; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return f"{number(value)} {unit}".strip()


def readme(rooms: Mapping[str, Mapping[str, Any]], sides: Mapping[str, str]) -> list[str]:
    """README's table from the rooms of a JSON file; rooms that were not measured are left out."""
    rows = [
        "| | " + " | ".join(sides.values()) + " | room of `make bench-peer` |",
        "|---" * (len(sides) + 2) + "|",
    ]
    for room, key, what, unit in README_ROWS:
        measured = rooms.get(room, {}).get("sides", {})
        values = [measured.get(side, {}).get(key) for side in sides]
        if any(value is not None for value in values):
            cells = ["never" if value is None and unit == "s" else shown(value, unit) for value in values]
            rows.append(f"| {what} | {' | '.join(cells)} | `{room}` |")
    return rows


def write_readme(path: Path, table: Sequence[str]) -> None:
    """Put the table between its marks.

    :raises ValueError: README has no such marks.
    """
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _former, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path.name} lacks the lines {BEGIN} and {END}")
    path.write_text(before + BEGIN + "\n\n" + "\n".join(table) + "\n\n" + END + after, encoding="utf-8")
