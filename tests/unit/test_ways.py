# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pages for those who change the code name files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UTILS = ROOT / "plugins" / "module_utils"
MOST_FILES = 25
ROW = re.compile(r"^\| [^|]+ \| `([^`]+)` \| ([^|]+) \|$", re.MULTILINE)
PLACE = re.compile(r"`([\w.-]+(?:/[\w.-]+)*/?)`")


def rows(page: str) -> list[tuple[str, list[str]]]:
    """File → functions, in the order of the page."""
    return [(file, re.findall(r"`([^`]+)`", functions)) for file, functions in ROW.findall(page)]


def names(source: str) -> set[str]:
    """The functions, classes and methods of a source."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def missing(page: str) -> list[str]:
    """The files and functions of the page that do not exist."""
    lost = [file for file, _functions in rows(page) if not (UTILS / file).is_file()]
    for file, functions in rows(page):
        if file not in lost:
            lost += [f"{file}: {name}" for name in functions if name not in names((UTILS / file).read_text("utf-8"))]
    return lost


def test_the_way_of_a_request_exists_and_is_short():
    page = (ROOT / "docs" / "way-of-a-request.md").read_text("utf-8")
    assert missing(page) == []
    assert 15 <= len({file for file, _functions in rows(page)}) <= MOST_FILES


def test_what_does_not_exist_is_noticed():
    page = "| a | `model/nowhere.py` | `f` |\n| b | `model/reasons.py` | `Reason.text`, `Reason.song` |\n"
    assert missing(page) == ["model/nowhere.py", "model/reasons.py: Reason.song"]


@pytest.mark.parametrize("place", sorted(set(PLACE.findall((ROOT / "docs" / "extending.md").read_text("utf-8")))))
def test_what_the_page_about_additions_names_exists(place):
    if "/" in place and "NAME" not in place:
        assert (ROOT / place).exists() or (UTILS / place).exists()
