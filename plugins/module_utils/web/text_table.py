# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Format rows as a text table in the style of Nodepool's command line and web service."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from ..model.bounded_text import printable
from ..reporting.info.fields import age, age_text

_INVISIBLE = {"Mn", "Me", "Cf"}


def text_table(titles: Mapping[str, str], rows: Iterable[Mapping[str, Any]], now: float) -> str:
    """Return the table, left aligned and framed, without a line break at its end.

    :param titles: key of a row → title of its column.
    :param rows: a number under a key ``age`` or ``…_age`` is a UNIX time, and is shown as an age.
    """
    shown = list(rows)
    columns = [[title, *(_cell(key, row[key], now) for row in shown)] for key, title in titles.items()]
    widths = [max(map(_width, column)) for column in columns]
    rule = f"+{'+'.join('-' * (width + 2) for width in widths)}+"
    header, *body = [f"| {' | '.join(map(_padded, cells, widths))} |" for cells in zip(*columns, strict=True)] or [""]
    return "\n".join(filter(None, [rule, header, rule, *body, rule]))


def _cell(key: str, value: Any, now: float) -> str:
    """Return the text of a cell, printable and on one line."""
    if value is None:
        return ""
    if (key == "age" or key.endswith("_age")) and isinstance(value, int | float):
        return age_text(age(value, now)) or ""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return printable(text)


def _padded(text: str, width: int) -> str:
    return text.ljust(width) if text.isascii() else text + " " * (width - _width(text))


def _width(text: str) -> int:
    """Return the columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.category(letter) in _INVISIBLE else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )
