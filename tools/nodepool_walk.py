# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The walk through the fixes of Nodepool: whether each title of its ChangeLog that may be a fix has an answer.

    python -m tools.nodepool_walk CHANGELOG

CHANGELOG is the file of that name in the source distribution of Nodepool. The answers are in docs/designs: rows of the
table of lessons that quote the title, and the lists of the walk.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.lessons import FIXES, ROOT, Lesson, lessons

WALK = "docs/designs/037-nodepool-walk.md"
_WORDS = """
abort\\w* avoid\\w* bad before better block\\w* break\\w* broken bug\\w* catch\\w* change\\w* check\\w* clean
cleanup\\w* clear\\w* consistent consistency correct\\w* crash\\w* deadlock\\w* declin\\w* delay\\w*
delete\\w* do\\snot don.?t double duplicate\\w* empty enforce\\w* ensure\\w* errors? escap\\w* exceptions?
fail\\w* fix\\w* guard\\w* handles? handling hang\\w* honou?r\\w* ignor\\w* increase\\w* instead invalid
kill\\w* leak\\w* less limit\\w* lock\\w* loses? lost make missing more never always only optimi\\w*
orphan\\w* paus\\w* prevent\\w* proper properly protect\\w* quota\\w* races? racey rate reconnect\\w*
reduce\\w* refresh\\w* reload\\w* reset\\w* resilien\\w* respect\\w* restores? restored restoring
retr(?:y|ies) retrying revert robust\\w* safe\\w* sanit\\w* set skip\\w* stale stop\\w* time\\sout timeouts?
unknown unless unlock\\w* validat\\w* verif\\w* wait\\w* work\\s?around wrong zombie
"""
_SPEAKS_OF_A_FIX = re.compile(rf"\b(?:{'|'.join(_WORDS.split())})\b", re.IGNORECASE)
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_LISTED = re.compile(r"- (?P<version>\d\S*) `(?P<title>[^`]+)`")
_POINTER = re.compile(r"(?P<version>\d\S*) `(?P<title>[^`]+)`")
_MISSPELT = {"Accomodate": "Accommodate", "timeeouts": "timeouts", "arguemnts": "arguments"}  # codespell:ignore
"""Words of titles that 032 quotes as they were meant."""
_QUOTED = re.compile(r'Nodepool (?P<version>\d\S*) "(?P<title>.+)"')


@dataclass(frozen=True, order=True)
class Fix:
    """A change of Nodepool that may be a fix: the release that brought it and the title of the change."""

    version: str
    title: str


def candidates(changelog: str) -> set[Fix]:
    """The titles of a ChangeLog that have a word of a fix or of a changed behaviour, with the release of each."""
    version, titles = "", list[list[str]]()
    for line in changelog.replace("\\", "").splitlines():
        if _VERSION.fullmatch(line):
            version = line
        elif line.startswith("* "):
            titles.append([version, line[2:]])
        elif line.startswith("  ") and titles:
            titles[-1][1] += " " + line.strip()
    return {_fix(version, title) for version, title in titles if _SPEAKS_OF_A_FIX.search(title)}


def own_rows(rows: list[Lesson]) -> dict[Fix, Lesson]:
    """The rows of the table of lessons that are about one fix of Nodepool each."""
    found = ((row, _QUOTED.fullmatch(row.cells[0])) for row in rows)
    return {_fix(match["version"], match["title"]): row for row, match in found if match}


def pointers(walk: str) -> dict[Fix, str]:
    """What the walk answers with a row about another fix, and the first cell of that row."""
    found = ((_POINTER.fullmatch(row.cells[0]), row.cells[1]) for row in lessons(WALK, walk))
    return {_fix(match["version"], match["title"]): row for match, row in found if match}


def left_out(walk: str) -> list[Fix]:
    """What the walk says does not apply; a title that stands twice is there twice."""
    found = (_LISTED.fullmatch(line) for line in walk.splitlines())
    return [_fix(match["version"], match["title"]) for match in found if match]


def _fix(version: str, title: str) -> Fix:
    """The form in which titles are compared: by their words alone, as the walk puts them between backticks."""
    return Fix(version, " ".join(_MISSPELT.get(word, word) for word in re.findall(r"\w+", title)))


def answered() -> set[Fix]:
    """All that has an answer."""
    walk = (ROOT / WALK).read_text(encoding="utf-8")
    rows = lessons(FIXES, (ROOT / FIXES).read_text(encoding="utf-8"))
    return {*own_rows(rows), *pointers(walk), *left_out(walk)}


def main() -> int:
    """Print the candidates of a ChangeLog without an answer; 0 when there are none."""
    (changelog,) = sys.argv[1:]
    found = candidates(Path(changelog).read_text(encoding="utf-8"))
    missing = sorted(found - answered())
    print(*(f"{fix.version} {fix.title}" for fix in missing), sep="\n", end="\n" if missing else "")
    print(f"{len(found)} titles may be fixes, {len(missing)} of them have no answer")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
