# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables on the screen, as the command line and the web service of Nodepool draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Cells = dict[str, str]


def tables(text: str) -> list[list[Cells]]:
    """The tables of a screen, each a list of rows: title of the column → cell."""
    found: list[list[Cells]] = []
    titles: list[str] = []
    rules = 0
    for line in text.splitlines():
        if line.startswith("+-"):
            rules = 1 if rules in (0, 3) else rules + 1
            if rules == 1:
                titles = []
                found.append([])
        elif line.startswith("|") and rules:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if rules == 1:
                titles = cells
            else:
                found[-1].append(dict(zip(titles, cells, strict=True)))
    return found


def seconds(age: str) -> int:
    """``DD:HH:MM:SS`` in seconds."""
    days, hours, minutes, rest = (int(part) for part in age.split(":"))
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


def differences(
    theirs: Iterable[Cells], before: Sequence[Cells], after: Sequence[Cells], key: Sequence[str], ages: Sequence[str]
) -> list[str]:
    """What differs between a table of theirs and our rows, one line each.

    :param before: our rows, read before theirs; *after*: our rows, read afterwards. An age lies between the two.
    :param key: the columns that name a row.
    """
    table = {_name(row, key): row for row in theirs}
    first, last = ({_name(row, key): row for row in rows} for rows in (before, after))
    found = [f"{name}: only theirs" for name in sorted(table.keys() - first.keys())]
    found += [f"{name}: only ours" for name in sorted(first.keys() - table.keys())]
    for name in sorted(table.keys() & first.keys() & last.keys()):
        found += [f"{name}: {line}" for line in _cells(table[name], first[name], last[name], ages)]
    return found


def _name(row: Mapping[str, str], key: Sequence[str]) -> str:
    return " ".join(row[column] for column in key)


def _cells(theirs: Cells, before: Cells, after: Cells, ages: Sequence[str]) -> Iterable[str]:
    for title in theirs.keys() | before.keys():
        said, ours = theirs.get(title), before.get(title)
        if title in ages and said and ours:
            # Nodepool cuts the fraction off the moment and then off the difference.
            if not seconds(ours) - 1 <= seconds(said) <= seconds(after[title]) + 1:
                yield f"{title}: theirs {said}, ours {ours} to {after[title]}"
        elif said != ours:
            yield f"{title}: theirs {said!r}, ours {ours!r}"
