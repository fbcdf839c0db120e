# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bound for texts that come from outside: a printable text on one line of at most 2 kB. Pure.

Clouds answer with texts of any size: a fault of 560 kB has been seen. Such a text would fill records, lines and labels,
so each text is bounded where it enters the collection.
"""

from __future__ import annotations

import re

LONGEST = 2000
"""Largest size of a bounded text in bytes of UTF-8."""
GAP = " … "
"""Stands for the middle of a text that is cut out. The end is kept: it often has the cause."""
_ODD = "\N{REPLACEMENT CHARACTER}"
_CONTROL_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-_])")


def bounded(text: str, longest: int = LONGEST) -> str:
    """Return *text* unchanged if it is printable and short enough, else a printable text of one line that is.

    :param longest: largest size of the result in bytes of UTF-8.
    """
    if text.isprintable() and (4 * len(text) <= longest or _size(text) <= longest):
        return text
    # Most of a large text is not looked at: cleaning 64 MB takes seconds.
    flat = " ".join(_printable(part) for part in _ends(text, 4 * longest))
    if _size(flat) <= longest:
        return flat
    half = (longest - _size(GAP)) // 2
    encoded = flat.encode()
    # A letter that is cut in two is dropped.
    return f"{encoded[:half].decode(errors='ignore').rstrip()}{GAP}{encoded[-half:].decode(errors='ignore').lstrip()}"


def printable_lines(text: str) -> list[str]:
    """Return the lines of *text* that have words, each bounded; for the output of a console."""
    return [line for line in (bounded(line.strip()) for line in text.splitlines()) if line]


def _ends(text: str, size: int) -> tuple[str, ...]:
    return (text,) if len(text) <= 2 * size else (text[:size] + GAP, text[-size:])


def _printable(text: str) -> str:
    flat = " ".join(_CONTROL_SEQUENCES.sub("", text).split())
    return flat if flat.isprintable() else "".join(letter if letter.isprintable() else _ODD for letter in flat)


def _size(text: str) -> int:
    return len(text.encode())
