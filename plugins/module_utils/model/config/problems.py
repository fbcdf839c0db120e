# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of a configuration, and their sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..bounded_text import printable
from .types import PRIVATE_SECTIONS

Path = tuple["str | int", ...]
"""Keys and list indices from the top of a file to a value."""

NAME_KEYS = ("name", "tenant-name", "host")
"""Keys that may hold the name of a list item, in this order."""

LONGEST_VALUE = 60
_PLAIN_KEY = re.compile(r"[\w-]+\Z")


@dataclass(frozen=True)
class Problem:
    """A problem at *path*.

    *severity*: ``error``; ``warning``; ``lenient``, which is a warning that ``strict`` turns into an error.
    """

    path: Path
    message: str
    severity: str = "error"
    line: int | None = None
    """Line of the text that was read, when *path* does not give it."""


@dataclass(frozen=True)
class Place:
    """The place of a value in its file: *line* (from 1) of its key or list item, and the places inside it."""

    line: int
    entries: Mapping[str | int, Place] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """Return the line of *path*, or of its longest part that exists."""
        place = self
        for step in path:
            inner = place.entries.get(step)
            if inner is None:
                break
            place = inner
        return place.line


def shown(text: str) -> str:
    """Return *text* for a sentence: on one line, shortened, without control characters."""
    flat = printable(text)
    return flat if len(flat) <= LONGEST_VALUE else flat[: LONGEST_VALUE - 1] + "…"


def item_name(item: Any) -> str | None:
    """Return the name of a list item; None when it has no name."""
    if isinstance(item, Mapping):
        for key in NAME_KEYS:
            name = item.get(key)
            if isinstance(name, str) and name:
                return name
    return None


def path_text(data: Any, path: Path) -> str:
    """Return a path as text: ``providers[rax-dfw].pools[main].labels[3].min-ram``.

    List items appear by name, or by index (from 0) when they have no name.
    """
    text = ""
    place = data
    for step in path:
        place = _inner(place, step)
        if isinstance(step, int):
            text += f"[{shown(item_name(place) or str(step))}]"
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shown(step)!r}]"
    return text


def _inner(place: Any, step: str | int) -> Any:
    if isinstance(step, int):
        inside = isinstance(place, Sequence) and not isinstance(place, str) and step < len(place)
    else:
        inside = isinstance(place, Mapping) and step in place
    return place[step] if inside else None


def is_private(path: Path) -> bool:
    """Return True for a path whose value must not be shown."""
    return any(step in PRIVATE_SECTIONS for step in path)


@dataclass(frozen=True)
class Source:
    """A file that was read: its data and the place of each value.

    *secret*: no value of the file may be shown. *hidden*: texts from the environment, which may not be shown either.
    *ours*: only this collection reads the file, so a key that it does not know is an error.
    """

    name: str
    data: Any
    places: Place
    lines: tuple[int, ...] = ()
    """The line of the file for each line of the text that was read."""
    secret: bool = False
    hidden: frozenset[str] = frozenset()
    ours: bool = False

    def may_show(self, path: Path, value: Any) -> bool:
        """Return True when a message may show *value*."""
        if self.secret or is_private(path):
            return False
        return not any(text in str(value) for text in self.hidden)

    def value_at(self, path: Path) -> Any:
        """Return the value at *path*; None when there is none."""
        place = self.data
        for step in path:
            place = _inner(place, step)
        return place

    def line_of(self, path: Path, line: int | None = None) -> int:
        """Return the line of *path* in the file.

        :param line: its line in the text that was read, when it is known.
        """
        line = line or self.places.line_of(path)
        return self.lines[line - 1] if line <= len(self.lines) else line

    def sentence(self, problem: Problem) -> str:
        """Return a problem as ``file:line: path: what is wrong``."""
        line = self.line_of(problem.path, problem.line)
        # Without the data, the path shows indices instead of names, which may be secret.
        where = path_text(None if self.secret else self.data, problem.path)
        return f"{self.name}:{line}: {where}: {problem.message}" if where else f"{self.name}:{line}: {problem.message}"


def split(source: Source, problems: Sequence[Problem], *, strict: bool) -> tuple[list[str], list[str]]:
    """Return errors and warnings as sentences, in the order of the file, each once."""
    errors: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for problem in sorted(problems, key=lambda one: one.line or source.places.line_of(one.path)):
        fatal = problem.severity == "error" or (strict and problem.severity == "lenient")
        (errors if fatal else warnings)[source.sentence(problem)] = None
    return list(errors), list(warnings)
