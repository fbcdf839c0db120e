# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How documents of our own are read: by the types of a dataclass, so that an odd one is told and not worked with.

An operator, another version or a broken disk may have written anything there.
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
    """A document that cannot be used; the sentence says why."""


def is_number(value: Any) -> bool:
    """True for what can be reckoned with: finite, and not a truth value."""
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
    """Of each field: name, check (None: any), its words, whether it may be null, whether it may be missing."""
    rules = []
    for item in fields(cls):
        kind, _bar, rest = str(item.type).partition(" | ")
        check, words = _KINDS.get(kind, (None, ""))
        optional = item.default is not MISSING or item.default_factory is not MISSING
        rules.append((item.name, check, words, rest == "None", optional))
    return tuple(rules)


def made(cls: type[T], document: Any, **readers: Callable[[Any], Any]) -> T:
    """An object of the dataclass *cls* from what is stored; keys that it does not have are those of another version.

    :param readers: field → reader, for fields of another type than text, number, truth value or a list of them.
    :raises BadDocument: it is no JSON object, lacks a key, or has a value of a wrong type.
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
    """A dataclass that is stored as a document of our own."""

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}
    """Field → reader, as for :func:`made`."""

    def document(self) -> dict[str, Any]:
        """As it is stored and returned."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]  # only dataclasses inherit from it

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From what is stored; keys of a newer version are ignored.

        :raises BadDocument: it is something else.
        """
        return made(cls, document, **cls.READERS)


def all_made(read: Callable[[Any], T]) -> Callable[[Mapping[str, Any]], dict[str, T]]:
    """A reader of documents that hold one document of the same kind by name."""

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
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number" if is_number(value) else "a number beyond all bounds"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"


def believed(moment: float, now: float, longest: float) -> float:
    """A moment that was stored, as far as it can be meant; *now* where it cannot.

    What is later than it is ever set was stored by a clock that was ahead, or this one has been set back: it
    would hold something up for hours or years.

    :param moment: UNIX seconds until which something was to be left alone.
    :param longest: seconds; the longest that it is ever set to.
    """
    return moment if moment <= now + longest else now
