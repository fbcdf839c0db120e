# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows as a table of text, as Nodepool's command line and its web service write it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from ..reporting.info.fields import age, age_text

_INVISIBLE = {"Mn", "Me", "Cf"}


def text_table(titles: Mapping[str, str], rows: Iterable[Mapping[str, Any]], now: float) -> str:
    """The table, left aligned and framed, without a line break at its end.

    :param titles: key of a row → title of its column.
    :param rows: what has a key ``age`` or ``…_age`` with a number is a UNIX time, and shown as an age.
    """
    cells = [[_lines(_cell(key, row[key], now)) for key in titles] for row in rows]
    header = [_lines(title) for title in titles.values()]
    widths = [
        max((_width(line) for row in (header, *cells) for line in row[place]), default=0)
        for place in range(len(header))
    ]
    rule = f"+{'+'.join('-' * (width + 2) for width in widths)}+"
    body = [line for row in cells for line in _row(row, widths)]
    return "\n".join([rule, *_row(header, widths), rule, *body, rule])


def _cell(key: str, value: Any, now: float) -> str:
    if (key == "age" or key.endswith("_age")) and isinstance(value, int | float):
        return age_text(age(value, now)) or ""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else str(value)


def _lines(text: str) -> list[str]:
    """The lines of a cell, without anything that a terminal would act upon."""
    return ["".join(letter if letter.isprintable() else "?" for letter in line) for line in text.split("\n")]


def _row(cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    lines = zip_longest(*cells, fillvalue="")
    return [f"|{'|'.join(map(_padded, line, widths))}|" for line in lines]


def _padded(text: str, width: int) -> str:
    return f" {text}{' ' * (width - _width(text))} "


def _width(text: str) -> int:
    """Columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(letter) in _INVISIBLE else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
