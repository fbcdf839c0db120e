# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read fields of documents that any client may have written. A wrong field is reported; the others are still read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from ...model.documents import (
    anything,
    mapping,
    seconds,
    text,
    whole,
    words,
)
from ...model.errors import UnknownName
from ...model.similar import hint
from ...model.stored import kind_of

Reader = Callable[[Any], Any]


def items(value: Any) -> list[Any] | None:
    """Return *value* when it is a list, or None."""
    return value if isinstance(value, list) else None


_WORDS: Mapping[Reader, str] = {
    text: "a text",
    seconds: "a finite number",
    whole: "a whole number",
    words: "a list of texts",
    mapping: "an object",
    items: "a list",
}
UNKNOWN = "unknown"
EARLIEST, LATEST = 0.0, 4e9
"""Bounds of valid UNIX times in documents."""


class Fields:
    """A reader of the fields of one document.

    :param document: the JSON object.
    :param problem: why there is no document, None when there is one.
    :ivar problems: part of a sentence about each field that cannot be used.
    """

    def __init__(self, document: Mapping[str, Any], problem: str | None = None) -> None:
        self._document = document
        self.problems: list[str] = [problem] if problem else []

    def need(self, *keys: str) -> None:
        """Report those of *keys* that are missing, unless there is no document at all."""
        if not self.problems:
            absent = [key for key in keys if not self._document.get(key) and self._document.get(key) in (None, "", [])]
            self.problems += [f"it has no {key!r}" for key in absent]

    def read(self, key: str, reader: Reader = text) -> Any:
        """Return the value of *key*; None when it is null, missing, or, with a problem reported, of a wrong type.

        :param reader: a function of :mod:`model.documents`. With ``words`` a missing value is an empty list.
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
        """Return the UNIX time of *key*; None when it is missing or, with a problem reported, not a valid time."""
        value = self._document.get(key)
        if value.__class__ is not float:
            value = self.read(key, seconds)
        if value is None or EARLIEST <= value <= LATEST:
            return value
        self.problems.append(f"{key!r} is not a plausible UNIX time")
        return None


def known_state(value: Any, states: Collection[str]) -> str:
    """Return a state for counting: one of *states*, or "unknown". Others may write any text, each time another one."""
    return value if isinstance(value, str) and value in states else UNKNOWN


def age(since: float | None, now: float) -> float | None:
    """Return the seconds since a UNIX time; 0 for a time in the future (a clock that is ahead)."""
    return None if since is None else round(max(0.0, now - since), 1)


def age_text(seconds_: float | None) -> str | None:
    """Format an age as Nodepool's command line does: ``DD:HH:MM:SS``."""
    if seconds_ is None:
        return None
    minutes, second = divmod(int(seconds_), 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{day:02d}:{hour:02d}:{minute:02d}:{second:02d}"


def refuse_unknown(option: str, asked: Iterable[str], names: Iterable[str], where: str) -> None:
    """Check that all names in *asked* exist.

    :param option: the module's option.
    :param where: the beginning of the error's sentence: ``ZooKeeper has no node``.
    :raises UnknownName: when names do not exist; the message has the most similar names that do.
    """
    there = set(names)
    problems = [f"{option}: {where} {name!r}; {hint(name, there)}" for name in sorted(set(asked) - there)]
    if problems:
        raise UnknownName(problems)
