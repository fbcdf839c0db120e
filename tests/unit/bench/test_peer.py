# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of ``make bench-peer``, and the rows of README that it writes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.bench.peer import table
from tests.bench.peer.measuring import TITLES
from tests.bench.peer.rooms import ROOMS
from tests.bench.peer.sides import Ours, Theirs

SIDES = {"theirs": "Nodepool 11.0.0", "ours": "this collection"}
BURST = {"theirs": {"total_p50": 30.7, "calls_per_node": 8.5}, "ours": {"total_p50": 23.46, "refused": 0}}


def test_a_room_has_a_line_for_each_figure_that_one_side_has():
    found = list(table.lines("100 requests", "burst-100", SIDES, BURST))
    assert "burst-100: 100 requests" in found[0]
    assert [line.split("  ")[1] for line in found[2:]] == [
        TITLES[name][0] for name in ("total_p50", "calls_per_node", "refused")
    ]
    assert found[2].endswith("30.70 s           23.46 s")
    assert found[3].endswith("8.50                 –")


def test_what_could_not_be_measured_is_a_dash():
    assert table.shown(math.nan, "s") == table.shown(None, "s") == "–"


def test_readme_gets_what_was_measured_and_nothing_else():
    rooms: dict[str, Any] = {
        "burst-100": {"sides": BURST},
        "silent": {"sides": {"theirs": {"recovered": None}, "ours": {"recovered": 5.6}}},
    }
    rows = table.readme(rooms, SIDES)
    assert rows[0] == "| | Nodepool 11.0.0 | this collection | room of `make bench-peer` |"
    assert "| 100 requests at once: the median one is served after | 30.70 s | 23.46 s | `burst-100` |" in rows
    (silent,) = [row for row in rows if "`silent`" in row]
    assert "| never | 5.60 s |" in silent
    assert not any("`crash`" in row for row in rows)


def test_the_table_is_written_between_its_marks_and_only_there(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{table.BEGIN}\n\nold\n\n{table.END}\nafter\n")
    table.write_readme(readme, ["| new |"])
    assert readme.read_text() == f"before\n{table.BEGIN}\n\n| new |\n\n{table.END}\nafter\n"
    readme.write_text("no marks")
    with pytest.raises(ValueError, match=r"README\.md lacks the lines"):
        table.write_readme(readme, [])


def test_readme_takes_only_figures_that_rooms_have():
    assert {room for room, _key, _what, _unit in table.README_ROWS} <= {room.name for room in ROOMS}
    assert {key for _room, key, _what, _unit in table.README_ROWS} <= TITLES.keys()
    assert (Ours().name, Theirs.__dataclass_fields__["name"].default) == ("ours", "theirs")


def test_the_readme_of_the_project_has_the_place(request):
    text = (request.config.rootpath / "README.md").read_text("utf-8")
    assert text.index(table.BEGIN) < text.index(table.END)
