# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Strict reading of the collection's own documents by the types of a dataclass: an invalid one is reported, not used.

An operator, another version or a broken disk may have written anything into them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

from .documents import whole

T = TypeVar("T")
_LARGEST_WHOLE = 2**63


class BadDocument(ValueError):
    """A document cannot be used; the message says why."""


def is_number(value: Any) -> bool:
    """Return True for a finite number; False for a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _is_whole(value: Any) -> bool:
    return is_number(value) and whole(value) == value and abs(value) < _LARGEST_WHOLE


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_KINDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "a text"),
    "float": (is_number, "a finite number"),
    "int": (_is_whole, "a whole number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "list[str]": (lambda value: isinstance(value, list) and all(map(_is_text, value)), "a list of texts"),
    "list[float]": (lambda value: isinstance(value, list) and all(map(is_number, value)), "a list of finite numbers"),
}


@cache
def _rules(cls: Any) -> tuple[tuple[str, Callable[[Any], bool] | None, str, bool, bool], ...]:
    """Return for each field: name, check (None: any value), its words, whether it may be null, or may be missing."""
    rules = []
    for item in fields(cls):
        kind, _bar, rest = str(item.type).partition(" | ")
        check, words = _KINDS.get(kind, (None, ""))
        optional = item.default is not MISSING or item.default_factory is not MISSING
        rules.append((item.name, check, words, rest == "None", optional))
    return tuple(rules)


def made(cls: type[T], document: Any, **readers: Callable[[Any], Any]) -> T:
    """Return an object of the dataclass *cls* from a stored document; ignores the unknown keys of another version.

    :param readers: field → reader, for fields of another type than text, number, boolean or a list of texts or numbers.
    :raises BadDocument: the document is not a JSON object, lacks a key, or has a value of a wrong type.
    """
    if not isinstance(document, Mapping):
        raise BadDocument(f"it is {kind_of(document)}, not a JSON object")
    values: dict[str, Any] = {}
    for name, check, words, nullable, optional in _rules(cls):  # type: ignore[arg-type]  # every class can be a key
        if name not in document:
            if not optional:
                raise BadDocument(f"it has no {name!r}")
            continue
        value = document[name]
        if name in readers:
            value = readers[name](value)
        elif check is not None and not (value is None and nullable) and not check(value):
            raise BadDocument(f"{name!r} is {kind_of(value)}, not {words}")
        values[name] = value
    return cls(**values)


class Stored:
    """The base of dataclasses that are stored as the collection's own documents."""

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """Field → reader, as for :func:`made`."""

    def document(self) -> dict[str, Any]:
        """Return the object as it is stored and as modules return it."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # only dataclasses inherit from it

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Read a stored document; keys of a newer version are ignored.

        :raises BadDocument: the document cannot be used.
        """
        return made(cls, document, **cls.READERS)


def all_made(read: Callable[[Any], T]) -> Callable[[Mapping[str, Any]], dict[str, T]]:
    """Return a reader for documents whose values are documents of one kind, by name."""

    def read_all(document: Mapping[str, Any]) -> dict[str, T]:
        found = {}
        for name, item in document.items():
            try:
                found[name] = read(item)
            except BadDocument as problem:
                raise BadDocument(f"in {name!r} {problem}") from problem
        return found

    return read_all


def kind_of(value: Any) -> str:
    """Return the type of a JSON value, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number" if is_number(value) else "a number out of range"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def believed(moment: float, now: float, longest: float) -> float:
    """Return a stored moment if it is plausible, or else 0: it is over.

    A moment that is too far in the future was stored by a clock that was ahead, or this clock has been set back: such a
    moment would delay work for hours or years. It is not replaced by *now*: it would be read as another moment each
    time, a little later than the one with which a decision compares it, and would never be over.

    :param moment: UNIX time until which some work is delayed.
    :param longest: the maximum seconds by which such work is ever delayed.
    """
    return moment if moment <= now + longest else 0.0
