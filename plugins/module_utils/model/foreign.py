# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make values harmless that others wrote: documents in ZooKeeper, answers of clouds. Pure."""

from __future__ import annotations

import math
import re
from typing import Any

from .bounded_text import LONGEST, is_printable, marked, printable

FIRST, LAST = -62_135_596_800.0, 253_402_300_799.0
"""The UNIX times that a clock can show: from the year 1 to the year 9999."""
LONGEST_TEXT = 2 * LONGEST
"""Largest size of a stored text in bytes of UTF-8; a public host key of 16,384 bits has 2,750."""
LARGEST = 2**63
"""Larger numbers are read as this one: sums of them stay finite, and Python writes whole numbers of any length."""

_LINES = re.compile(r"[^\n\t]+")
_PRINTABLE = bytes(range(ord(" "), ord("~") + 1))
_ESCAPE = re.compile(rb'\\[^"\\/]')
"""An escape of something else than a quote or slash, which may be a control character or a letter beyond ASCII."""


def has_clean_texts(data: bytes) -> bool:
    """Return True when :func:`cleaned` certainly changes no text of the JSON in *data*; much faster than cleaning."""
    if data.translate(None, _PRINTABLE) or (b"\\" in data and _ESCAPE.search(data) is not None):
        return False
    return len(data) <= LONGEST_TEXT or max(map(len, data.split(b'"'))) <= LONGEST


def cleaned(value: Any) -> Any:
    """Return a JSON value with printable, bounded texts and with numbers of at most 64 bits.

    The value itself is returned when there is nothing to clean. Keys are cleaned like all texts; of two keys that look
    alike then, the first one counts.
    """
    if isinstance(value, str):
        return marked(value, LONGEST_TEXT)
    if isinstance(value, dict):
        made: dict[Any, Any] = {}
        for key, item in value.items():
            made.setdefault(cleaned(key), cleaned(item))
        return made if any(made.get(key, made) is not item for key, item in value.items()) else value
    if isinstance(value, list):
        items = [cleaned(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if isinstance(value, int | float) and not -LARGEST <= value <= LARGEST:
        return type(value)(LARGEST if value > 0 else -LARGEST)
    return value


def returned(value: Any) -> Any:
    """Return a JSON value whose texts are printable line by line; for what a module returns.

    Line breaks and tabs stay, because diffs have them: those of others were taken out where their texts came in. Texts
    keep their length.
    """
    if isinstance(value, str):
        return value if is_printable(value) else _LINES.sub(lambda part: printable(part.group()), value)
    if isinstance(value, dict):
        return {returned(key): returned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [returned(item) for item in value]
    return value


def number(value: Any) -> float | None:
    """Return a finite number; a text that is one counts; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def moment(at: float) -> float:
    """Return a UNIX time that a clock can show: *at*, or the nearest one."""
    return min(max(at, FIRST), LAST)
