# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read values of a service's JSON, which may be of any type, and say in our words which one cannot be used. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from ...model.bounded_text import bounded, is_printable
from ...model.foreign import LARGEST

T = TypeVar("T")
Json = Mapping[str, Any]

UNUSABLE = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
"""What code raises that meets JSON of another shape than it expects."""
_LONGEST_ID = 255
_SHOWN = 60


class Unreadable(ValueError):
    """A value in an answer is not of the type that the API promises; the message names it."""


def read(make: Callable[[Any], T], document: Any) -> T:
    """Return ``make(document)``.

    :raises Unreadable: *make* cannot read the document.
    """
    try:
        return make(document)
    except Unreadable:
        raise
    except UNUSABLE as problem:
        raise Unreadable(f"it does not match the API ({type(problem).__name__}: {problem})") from problem


def wrong(what: str, value: Any, wanted: str) -> Unreadable:
    """Return the error for a *value* where *wanted* ("a number") belongs; *what* names the value."""
    return Unreadable(f"{what} is {_described(value)} where {wanted} belongs")


def mapping(document: Any, key: str | None = None) -> Json:
    """Return the object below *key*, or *document* itself when *key* is None."""
    value = document if key is None else _below(document, key)
    if not isinstance(value, Mapping):
        raise wrong(key or "the answer", value, "an object")
    return value


def optional_mapping(document: Json, key: str) -> Json:
    """Return the object below *key*, an empty one when it is absent or null."""
    return {} if document.get(key) is None else mapping(document, key)


def sequence(document: Any, key: str) -> list[Any]:
    """Return the list below *key*."""
    value = _below(document, key)
    if not isinstance(value, list):
        raise wrong(key, value, "a list")
    return value


def optional_sequence(document: Json, key: str) -> list[Any]:
    """Return the list below *key*, an empty one when it is absent or null."""
    return [] if document.get(key) is None else sequence(document, key)


def ident(document: Any, key: str = "id") -> str:
    """Return the id below *key*: a text, or a number as in the ids of old flavors."""
    value = _below(document, key)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value:
        raise wrong(key, value, "an id")
    if len(value) > _LONGEST_ID or not is_printable(value):
        raise Unreadable(f"{key} is a text of {len(value)} characters where an id belongs")
    return value


def text(document: Json, key: str) -> str:
    """Return the text below *key*, bounded."""
    value = _below(document, key)
    if not isinstance(value, str):
        raise wrong(key, value, "a text")
    return bounded(value)


def optional_text(document: Json, key: str) -> str:
    """Return the text below *key*, bounded; "" when it is absent or null. A number or flag is returned as text."""
    value = document.get(key)
    if value is None:
        return ""
    if isinstance(value, (list, Mapping)):
        raise wrong(key, value, "a text")
    return bounded(str(value))


def whole_text(document: Json, key: str) -> str:
    """Return the text below *key* as it is, "" when it is null."""
    value = _below(document, key)
    if value is not None and not isinstance(value, str):
        raise wrong(key, value, "a text")
    return value or ""


def number(document: Any, key: str) -> int:
    """Return the whole number of at most 64 bits below *key*, which may be written as a text."""
    value = _below(document, key)
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            found = int(value)
            if -LARGEST <= found <= LARGEST:
                return found
    raise wrong(key, value, "a number")


def texts(document: Json, key: str) -> dict[str, str]:
    """Return the object of texts below *key*, each bounded; values that are no texts as text. Absent or null: none."""
    found = optional_mapping(document, key)
    return {
        bounded(str(name)): bounded(value if isinstance(value, str) else str(value)) for name, value in found.items()
    }


def readable(items: list[Any], make: Callable[[Any], T]) -> Iterator[T]:
    """Yield what *make* returns for each of *items* that it can read."""
    for item in items:
        try:
            yield read(make, item)
        except Unreadable:
            continue


def _below(document: Any, key: str) -> Any:
    if not isinstance(document, Mapping):
        raise wrong(f"the object with {key!r}", document, "an object")
    if key not in document:
        raise Unreadable(f"{key} is missing")
    return document[key]


def _described(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f"the text {bounded(value, _SHOWN)!r}" if value else "an empty text"
    return f"the number {value}" if not isinstance(value, int) or abs(value) < 10**_SHOWN else "a number"
