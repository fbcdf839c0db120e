# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of a configuration, and how they are put into words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Path = tuple["str | int", ...]
"""Keys and list indices from the top of a file to the place that is meant."""

NAME_KEYS = ("name", "tenant-name", "host")
"""What names an item of a list, in this order."""

PRIVATE_SECTIONS = frozenset(
    (
        "env-vars",
        "userdata",
        "metadata",
        "meta",
        "instance-properties",
        "dynamic-instance-properties",
        "node-attributes",
    )
)
"""Sections whose values are never shown: they are free-form and may hold secrets."""

LONGEST_VALUE = 60
_PLAIN_KEY = re.compile(r"[\w-]+\Z")


@dataclass(frozen=True)
class Problem:
    """Something wrong at *path*.

    *severity*: ``error``; ``warning``; ``lenient``, which is a warning that ``strict`` turns into an error.
    """

    path: Path
    message: str
    severity: str = "error"
    line: int | None = None
    """Line of the text that was read, where *path* does not lead to it."""


@dataclass(frozen=True)
class Place:
    """Where a value stands in its file: *line* (from 1) of its key or list item, and the places inside it."""

    line: int
    entries: Mapping[str | int, Place] = field(default_factory=dict)

    def line_of(self, path: Path) -> int:
        """The line of *path*, or of the innermost part of it that exists."""
        place = self
        for step in path:
            inner = place.entries.get(step)
            if inner is None:
                break
            place = inner
        return place.line


def shown(text: str) -> str:
    """*text* for a sentence: one line, not too long, nothing that a terminal would act upon."""
    flat = "".join(character if character.isprintable() else "?" for character in text)
    return flat if len(flat) <= LONGEST_VALUE else flat[: LONGEST_VALUE - 1] + "…"


def item_name(item: Any) -> str | None:
    """The name of a list's item, when it has one."""
    if isinstance(item, Mapping):
        for key in NAME_KEYS:
            name = item.get(key)
            if isinstance(name, str) and name:
                return name
    return None


def path_text(data: Any, path: Path) -> str:
    """``providers[rax-dfw].pools[main].labels[3].min-ram``: names where list items have one, counting from 0 else."""
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
    """True for places whose values must not be shown."""
    return any(step in PRIVATE_SECTIONS for step in path)


@dataclass(frozen=True)
class Source:
    """A file that was read: its data and where each piece of it stands.

    *secret*: none of its values may be shown. *hidden*: texts that came from the environment, not shown either.
    """

    name: str
    data: Any
    places: Place
    lines: tuple[int, ...] = ()
    """For each line of the text that was read the line of the file."""
    secret: bool = False
    hidden: frozenset[str] = frozenset()

    def may_show(self, path: Path, value: Any) -> bool:
        """Whether *value* may stand in a message."""
        if self.secret or is_private(path):
            return False
        return not any(text in str(value) for text in self.hidden)

    def value_at(self, path: Path) -> Any:
        """What stands at *path*; None when nothing does."""
        place = self.data
        for step in path:
            place = _inner(place, step)
        return place

    def line_of(self, path: Path, line: int | None = None) -> int:
        """The line of the file where *path* stands.

        :param line: that of the text that was read, where it is known.
        """
        line = line or self.places.line_of(path)
        return self.lines[line - 1] if line <= len(self.lines) else line

    def sentence(self, problem: Problem) -> str:
        """``file:line: path: what is wrong``."""
        line = self.line_of(problem.path, problem.line)
        # Without data there are no names, only indices.
        where = path_text(None if self.secret else self.data, problem.path)
        return f"{self.name}:{line}: {where}: {problem.message}" if where else f"{self.name}:{line}: {problem.message}"


def split(source: Source, problems: Sequence[Problem], *, strict: bool) -> tuple[list[str], list[str]]:
    """Errors and warnings as sentences, in the order of the file, each once."""
    errors: dict[str, None] = {}
    warnings: dict[str, None] = {}
    for problem in sorted(problems, key=lambda one: one.line or source.places.line_of(one.path)):
        fatal = problem.severity == "error" or (strict and problem.severity == "lenient")
        (errors if fatal else warnings)[source.sentence(problem)] = None
    return list(errors), list(warnings)
