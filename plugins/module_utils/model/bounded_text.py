# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The border for texts that come from outside: printable, on one line, of at most 2 kB. Pure.

Clouds answer with texts of any size (a fault of 560 kB has been seen), and everybody who may write to ZooKeeper can
store any letters there. Such a text would fill records, lines and labels, control a terminal, forge lines of a log, or
look like another text. So each text is bounded where it enters the collection. This is the only place that decides
which letters can be shown.
"""

from __future__ import annotations

import re

LONGEST = 2000
"""Largest size of a bounded text in bytes of UTF-8."""
GAP = " … "
"""Stands for the middle of a text that is cut out. The end is kept: it often has the cause."""
ODD = "\N{REPLACEMENT CHARACTER}"
"""Stands for a letter that cannot be shown: control characters, changes of the writing direction, lone surrogates,
letters without any width."""
_CONTROL_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[@-_])")
# Python counts these letters as printable although they have no ink: Unicode's Default_Ignorable_Code_Point without
# the categories Cf and Cn, and the empty braille pattern.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


class _Shown(dict[int, "int | str"]):
    """Number of a letter → what is shown of it; each letter is looked at once."""

    def __missing__(self, number: int) -> int | str:
        letter = chr(number)
        self[number] = number if is_printable(letter) else " " if letter.isspace() else ODD
        return self[number]


_SHOWN = _Shown()


def is_printable(text: str) -> bool:
    """Return True when each letter of *text* has ink or is a space."""
    return text.isprintable() and (text.isascii() or _INVISIBLE.search(text) is None)


def printable(text: str) -> str:
    """Return *text* on one line, letter by letter: white space becomes a space, other letters without ink become ODD.

    A name stays different from every other name, because nothing is taken away.
    """
    if is_printable(text):
        return text
    return text.translate(_SHOWN)


def marked(text: str, longest: int = LONGEST) -> str:
    """Return :func:`printable` of *text*; the middle of a long text is cut out. For names and other stored texts.

    :param longest: largest size of the result in bytes of UTF-8.
    """
    if is_printable(text) and (4 * len(text) <= longest or _size(text) <= longest):
        return text
    return _cut(" ".join(printable(part) for part in _ends(text, 4 * longest)), longest)


def bounded(text: str, longest: int = LONGEST) -> str:
    """Return *text* unchanged if it is printable and short enough, else a printable text of one line that is.

    For sentences: sequences that control a terminal are left out, and white space is one space.

    :param longest: largest size of the result in bytes of UTF-8.
    """
    if is_printable(text) and (4 * len(text) <= longest or _size(text) <= longest):
        return text
    # Most of a large text is not looked at: cleaning 64 MB takes seconds.
    parts = (" ".join(_CONTROL_SEQUENCES.sub("", part).split()) for part in _ends(text, 4 * longest))
    return _cut(" ".join(map(printable, parts)), longest)


def printable_lines(text: str) -> list[str]:
    """Return the lines of *text* that have words, each bounded; for the output of a console."""
    return [line for line in (bounded(line.strip()) for line in text.splitlines()) if line]


def _ends(text: str, size: int) -> tuple[str, ...]:
    return (text,) if len(text) <= 2 * size else (text[:size] + GAP, text[-size:])


def _cut(flat: str, longest: int) -> str:
    if _size(flat) <= longest:
        return flat
    half = (longest - _size(GAP)) // 2
    encoded = flat.encode()
    # A letter that is cut in two is dropped.
    return f"{encoded[:half].decode(errors='ignore').rstrip()}{GAP}{encoded[-half:].decode(errors='ignore').lstrip()}"


def _size(text: str) -> int:
    return len(text.encode())
