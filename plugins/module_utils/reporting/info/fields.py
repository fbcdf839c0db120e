# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields of documents that anybody may have written, as fields of rows: a wrong one is told, and the row goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...model.documents import (
    anything,
    mapping,
    seconds,
    text,
    whole,
    words,
)
from ...model.errors import ConfigError
from ...model.similar import hint
from ...model.stored import kind_of

Reader = Callable[[Any], Any]


def items(value: Any) -> list[Any] | None:
    """A list of anything, or None."""
    return value if isinstance(value, list) else None


_WORDS: Mapping[Reader, str] = {
    text: "a text",
    seconds: "a finite number",
    whole: "a whole number",
    words: "a list of texts",
    mapping: "an object",
    items: "a list",
}
EARLIEST, LATEST = 0.0, 4e9
"""UNIX times of documents; beyond these a time is none."""


class Fields:
    """Reads the fields of one document.

    :param document: the JSON object.
    :param problem: why there is none, None when there is one.
    :ivar problems: a sentence's part about each field that cannot be used.
    """

    def __init__(self, document: Mapping[str, Any], problem: str | None = None) -> None:
        self._document = document
        self.problems: list[str] = [problem] if problem else []

    def need(self, *keys: str) -> None:
        """Tell of those of *keys* that are missing, unless there is no document at all."""
        if not self.problems:
            absent = [key for key in keys if not self._document.get(key) and self._document.get(key) in (None, "", [])]
            self.problems += [f"it has no {key!r}" for key in absent]

    def read(self, key: str, reader: Reader = text) -> Any:
        """The value of *key*: None where it is null or missing, and, with a problem, where it is of a wrong type.

        :param reader: of :mod:`model.documents`. A list is never None, but empty.
        """
        value = self._document.get(key)
        if reader is text and value.__class__ is str:
            return value
        if value is None:
            return [] if reader is words else None
        if reader is anything:
            return value
        read = reader(value)
        if read is None or (reader is words and not (isinstance(value, str) or read == value)):
            self.problems.append(f"{key!r} is {kind_of(value)}, not {_WORDS[reader]}")
        return read

    def moment(self, key: str) -> float | None:
        """A UNIX time."""
        value = self._document.get(key)
        if value.__class__ is not float:
            value = self.read(key, seconds)
        if value is None or EARLIEST <= value <= LATEST:
            return value
        self.problems.append(f"{key!r} is no UNIX time of this age")
        return None


def age(since: float | None, now: float) -> float | None:
    """Seconds that have passed since a UNIX time; 0 for one that is to come (a clock that is ahead)."""
    return None if since is None else round(max(0.0, now - since), 1)


def age_text(seconds_: float | None) -> str | None:
    """An age as Nodepool's command line shows it: ``DD:HH:MM:SS``."""
    if seconds_ is None:
        return None
    minutes, second = divmod(int(seconds_), 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{day:02d}:{hour:02d}:{minute:02d}:{second:02d}"


def refuse_unknown(option: str, asked: Iterable[str], names: Iterable[str], where: str) -> None:
    """Make sure that all names that were asked for exist.

    :param option: the module's option.
    :param where: what does not know the name, as the beginning of a sentence: ``ZooKeeper has no node``.
    :raises ConfigError: naming those that do not, with the nearest that do.
    """
    there = set(names)
    problems = [f"{option}: {where} {name!r}; {hint(name, there)}" for name in sorted(set(asked) - there)]
    if problems:
        raise ConfigError(problems)
