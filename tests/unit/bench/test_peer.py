# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of ``make bench-peer``, and the rows of README that it writes."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.bench.peer import __main__ as program
from tests.bench.peer import kept, table
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


def test_rooms_and_sides_that_were_measured_one_by_one_are_merged(tmp_path):
    path = tmp_path / "bench" / "peer.json"
    kept.keep(
        path, "crash", "27 servers", {"theirs": {"thrown_away": 27.0}, "ours": {"thrown_away": 1.0}}, {"date": "a"}
    )
    kept.keep(path, "silent", "50 requests", {"theirs": {"recovered": math.nan}}, {"date": "b"})
    kept.keep(path, "crash", "27 servers", {"ours": {"thrown_away": 0.0}}, {"date": "c"})
    rooms = kept.read(path)
    assert rooms["crash"]["sides"] == {"theirs": {"thrown_away": 27.0}, "ours": {"thrown_away": 0.0}}
    assert rooms["crash"]["measured"] == {"theirs": {"date": "a"}, "ours": {"date": "c"}}
    assert rooms["silent"]["sides"] == {"theirs": {"recovered": None}}


def test_figures_of_another_load_are_not_mixed(tmp_path):
    path = tmp_path / "peer.json"
    kept.keep(path, "crash", "5 servers", {"theirs": {"thrown_away": 5.0}}, {})
    kept.keep(path, "crash", "27 servers", {"ours": {"thrown_away": 0.0}}, {})
    assert kept.read(path)["crash"]["sides"] == {"ours": {"thrown_away": 0.0}}


def test_readme_is_written_from_rooms_of_both_sides_at_their_whole_load(tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text(f"{table.BEGIN}\nold\n{table.END}\n")
    monkeypatch.setattr(program, "ROOT", tmp_path)
    path = tmp_path / "peer.json"
    crash, silent = ({room.name: room for room in ROOMS}[name] for name in ("crash", "silent"))
    kept.keep(path, "crash", f"{crash.few} {crash.title}", {"theirs": {"thrown_away": 5.0}, "ours": {}}, {})
    kept.keep(path, "silent", f"{silent.number} {silent.title}", {"ours": {"recovered": 5.6}}, {})
    assert program.main(["--readme", str(path)]) == 1
    assert "old" in (tmp_path / "README.md").read_text()
    kept.keep(path, "silent", f"{silent.number} {silent.title}", {"theirs": {"recovered": math.nan}}, {})
    assert program.main(["--readme", str(path)]) == 0
    text = (tmp_path / "README.md").read_text()
    assert "| never | 5.60 s |" in text and "crash" not in text and "old" not in text
    assert "crash" in capsys.readouterr().out


def test_a_file_of_something_else_is_not_taken(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="has no 'rooms'"):
        kept.read(path)


def test_readme_takes_only_figures_that_rooms_have():
    assert {room for room, _key, _what, _unit in table.README_ROWS} <= {room.name for room in ROOMS}
    assert {key for _room, key, _what, _unit in table.README_ROWS} <= TITLES.keys()
    assert (Ours().name, Theirs.__dataclass_fields__["name"].default) == ("ours", "theirs")


def test_the_readme_of_the_project_has_the_place(request):
    text = (request.config.rootpath / "README.md").read_text("utf-8")
    assert text.index(table.BEGIN) < text.index(table.END)
