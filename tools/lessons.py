# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of lessons in docs/designs: which test holds each row, and whether those tests have run and passed.

    python -m tools.lessons FOLDER RESULTS ...

FOLDER is the folder of tests that ran, RESULTS are what pytest wrote with ``--junitxml``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
FIXES, REPORTS = PAGES = ("docs/designs/032-lessons.md", "docs/designs/033-field-reports.md")
VERDICTS = ("holds", "mended here", "does not apply")
_TEST = re.compile(r"`([^`:\s]+\.py)::(test_\w+)`")


@dataclass(frozen=True)
class Lesson:
    """One row of a table."""

    page: str
    line: int
    cells: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """What stands before the colon in the last cell."""
        return self.cells[-1].partition(":")[0]

    @property
    def tests(self) -> tuple[tuple[str, str], ...]:
        """File below tests/ and function of each test that the last cell names."""
        return tuple((path, name) for path, name in _TEST.findall(self.cells[-1]))


def lessons(page: str, text: str) -> list[Lesson]:
    """The rows of all tables of a page, without their heads."""
    rows, before = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("| ") and before.startswith("|") and not line.startswith("| ---"):
            rows.append(Lesson(page, number, tuple(cell.strip() for cell in line.strip("|").split(" | "))))
        before = line
    return rows


def all_lessons() -> list[Lesson]:
    """The rows of all pages."""
    return [row for page in PAGES for row in lessons(page, (ROOT / page).read_text(encoding="utf-8"))]


def functions(path: Path) -> dict[str, bool]:
    """Each test function of a file, and whether it is never run because it is marked so."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {one.name: any(_skips(mark) for mark in one.decorator_list) for one in found if one.name.startswith("test_")}


def _skips(mark: ast.expr) -> bool:
    return ast.unparse(mark).partition("(")[0] in {"pytest.mark.skip", "pytest.mark.xfail"}


def passed(results: Iterable[Path]) -> set[tuple[str, str]]:
    """File below tests/ and function of each test of which a case has passed."""
    found = set()
    for path in results:
        # What pytest has written a moment ago on this machine.
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if not {child.tag for child in case} & {"failure", "error", "skipped"}:
                parts = [part for part in case.get("classname", "").split(".") if not part.startswith("Test")]
                found.add(("/".join(parts[1:]) + ".py", case.get("name", "").partition("[")[0]))
    return found


def missing(folder: str, rows: Iterable[Lesson], results: set[tuple[str, str]]) -> list[str]:
    """A line for each test of a folder that a row names and that has not passed.

    :param folder: relative to the root, such as "tests/unit".
    """
    inside = folder.removeprefix("tests/") + "/"
    return [
        f"{row.page}:{row.line}: {path}::{name} did not run or did not pass"
        for row in rows
        for path, name in row.tests
        if path.startswith(inside) and (path, name) not in results
    ]


def main() -> int:
    """Print what is missing; 0 when nothing is."""
    folder, *results = sys.argv[1:]
    lines = missing(folder, all_lessons(), passed(Path(name) for name in results if Path(name).exists()))
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
