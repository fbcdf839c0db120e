# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of output: what they are about, how they count, and which of them tell of something wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Self, TypedDict, Unpack

ATTEMPT = re.compile(r"^attempt \d+: ")
"""How a failure in the record of a launch begins."""
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"))


class Subject(TypedDict, total=False):
    """What a line is about. Programs that read the lines rely on these names.

    *provider*, *pool*, *label* and *image* are names of the configuration. *request*, *node*, *build* and *upload* are
    ids of the records in ZooKeeper. *server* is an id of the cloud. *event_id* is the id that the requestor wrote into
    its request.
    """

    provider: str | None
    pool: str | None
    label: str | None
    request: str | None
    node: str | None
    event_id: str | None
    server: str | None
    image: str | None
    build: str | None
    upload: str | None


class Line(str):
    """A line of output.

    :ivar about: what it is about, without what is unknown.
    """

    __slots__ = ("about",)
    about: Subject

    def __new__(cls, text: str, **about: Unpack[Subject]) -> Self:
        line = super().__new__(cls, text)
        line.about = {key: value for key, value in about.items() if value}  # type: ignore[assignment]
        return line


class Trouble(Line):
    """A line that tells of something wrong; the journal shows it as a warning."""

    __slots__ = ()


def about(line: str) -> Subject:
    """Return what a line is about; nothing for a plain text."""
    return line.about if isinstance(line, Line) else {}


def collapsed(failures: Iterable[str]) -> str:
    """Attempts that failed in the same way are told once: ``fault: no host (3 attempts)``."""
    counts = Counter(ATTEMPT.sub("", failure) for failure in failures)
    return "; ".join(text if count == 1 else f"{text} ({count} attempts)" for text, count in counts.items())


def amount(number: float, noun: str, plural: str | None = None) -> str:
    """``1 request``, ``2 requests``."""
    return f"{number:.12g} {noun if number == 1 else plural or noun + 's'}"


def span(seconds: float) -> str:
    """A length of time: the two largest of its parts."""
    left = max(0, round(seconds))
    parts = []
    for size, unit in _UNITS:
        if left >= size:
            parts.append(f"{left // size} {unit}")
            left %= size
    if left or not parts:
        parts.append(f"{left} s")
    return " ".join(parts[:2])
