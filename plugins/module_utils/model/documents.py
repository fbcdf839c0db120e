# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and writing of JSON documents in ZooKeeper.

Other clients write these documents too, so reading never raises: a document that is not a JSON object, or is nested too
deeply, is read as None, and a field of a wrong type as its default. Unknown keys are kept in ``extra`` and written
back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, ClassVar, Self

Reader = Callable[[Any], Any]

DEEPEST = 100
"""Maximum levels of a document. Copying and writing are recursive and must stay far below the interpreter's limit."""


LARGEST_DOCUMENT = 900_000
"""Largest number of bytes of a document that is used. ZooKeeper accepts no request of more than 1,048,575 bytes
(``jute.maxbuffer``) and ends the connection instead; a document must have room for what is added to it and for the lock
that is taken in the same request."""


def parse(data: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object in *data*; None when *data* is empty or holds anything else."""
    document, _problem = _read(data) if data else (None, None)
    return document


def why_unreadable(data: bytes | None) -> str | None:
    """Return why there is no JSON object in *data*; None when there is one, or *data* is empty."""
    return _read(data)[1] if data else None


def _read(data: bytes) -> tuple[dict[str, Any] | None, str | None]:
    """Return the JSON object and None, or None and the problem."""
    if len(data) > LARGEST_DOCUMENT:
        return None, f"it has {len(data)} bytes, and more than {LARGEST_DOCUMENT} cannot be changed safely"
    try:
        document = _decoded(data)
    except RecursionError:
        return None, _TOO_DEEP
    except ValueError:
        return None, "it is not JSON"
    if not isinstance(document, dict):
        return None, "it is not a JSON object"
    # A document that is too deep has more than DEEPEST brackets, and counting them costs almost nothing.
    if data.count(b"{") + data.count(b"[") > DEEPEST and _is_too_deep(document):
        return None, _TOO_DEEP
    return document, None


def _decoded(data: bytes) -> Any:
    """Decode *data*.

    :raises ValueError: *data* is not JSON.
    """
    if data[:1] == b"{" and data[1:2] != b"\0":  # UTF-8 without spaces around it, as in nearly all documents
        written = data.decode("utf-8", "surrogatepass")
        document, end = _DECODER.raw_decode(written)
        if end == len(written):
            return document
    return _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))


_TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


_DECODER = json.JSONDecoder(parse_constant=lambda _name: None, parse_float=_finite)
"""Decoder that reads NaN, Infinity and 1e400 as None: some clients write them, but they cannot be used as numbers.

json.loads with these options makes a decoder for each document, which costs as much as decoding a small document.
"""


def _is_too_deep(document: dict[str, Any]) -> bool:
    level: list[Any] = [document]
    for _depth in range(DEEPEST):
        level = [
            inner
            for item in level
            for inner in (item.values() if isinstance(item, dict) else item)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def dump(document: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """Return *document* as JSON in UTF-8.

    All characters beyond ASCII are escaped: a lone surrogate from another client's document could not be encoded.
    """
    return json.dumps(document, sort_keys=sort_keys, separators=(",", ":")).encode("utf-8")


def copied(value: Any) -> Any:
    """Return a deep copy of a JSON value; much faster than copy.deepcopy."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def anything(value: Any) -> Any:
    """Return *value* unchanged: the collection does not use it."""
    return value


def text(value: Any) -> str | None:
    """Return a string; numbers are converted, everything else is None."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def words(value: Any) -> list[str]:
    """Return a list of strings. Old documents have a single string in place of a list."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [item for item in map(text, value) if item is not None]
    return []


def seconds(value: Any) -> float | None:
    """Return a UNIX time or a duration as a finite float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def whole(value: Any) -> int | None:
    """Return a whole number; "22" and 22.0 count as 22; None for anything that is not a number."""
    number = seconds(value)
    return None if number is None else int(number)


def whole_or_zero(value: Any) -> int:
    """Return a whole number, 0 for anything else."""
    return whole(value) or 0


def mapping(value: Any) -> dict[str, Any] | None:
    """Return a JSON object or None."""
    return value if isinstance(value, dict) else None


def text_or_empty(value: Any) -> str:
    """Return the result of :func:`text`, "" for None."""
    return text(value) or ""


_SCALARS = (text, text_or_empty, seconds, whole, whole_or_zero)
_READERS: Mapping[str, Reader] = {
    "str": text_or_empty,
    "str | None": text,
    "float | None": seconds,
    "int": whole_or_zero,
    "int | None": whole,
    "list[str]": words,
    "dict[str, Any] | None": mapping,
    "Any": anything,
}
"""Type of an attribute → reader."""


@dataclass
class Document:
    """A znode that holds a JSON object.

    The attributes that a subclass adds, except those in ``BESIDE``, are the keys of the object, in the order in which
    they are written. Their types say how they are read; ``READ`` has readers for keys whose type does not say it. A
    missing key is read as null, unless ``ABSENT`` has it. A document without one of the keys in ``NEEDED`` is broken.
    """

    KEYS: ClassVar[Mapping[str, Reader]] = {}
    READ: ClassVar[Mapping[str, Reader]] = {}
    BESIDE: ClassVar[tuple[str, ...]] = ()
    ABSENT: ClassVar[Mapping[str, Any]] = {}
    NEEDED: ClassVar[tuple[str, ...]] = ()
    FORGOTTEN: ClassVar[frozenset[str]] = frozenset()
    """Keys that are not kept in ``extra``."""
    NESTED: ClassVar[tuple[str, ...]] = ()
    """The attributes that may be lists or dicts."""

    id: str = ""
    version: int = -1
    """The version of the znode at the last read or write; -1 before the first."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Unknown keys and their values."""
    broken: bool = field(default=False, compare=False)
    """True when a key in ``NEEDED`` is missing or has no usable value."""

    def __init_subclass__(cls) -> None:
        kinds: Mapping[str, str] = get_annotations(cls)
        keys = [key for key, kind in kinds.items() if not kind.startswith("ClassVar") and key not in cls.BESIDE]
        cls.KEYS = {**cls.KEYS, **{key: cls.READ.get(key) or _READERS[kinds[key]] for key in keys}}
        cls.ABSENT = {**{key: read(None) for key, read in cls.KEYS.items()}, **cls.ABSENT}
        cls.NESTED = ("extra", *(key for key, read in cls.KEYS.items() if read not in _SCALARS))

    @classmethod
    def from_bytes(cls, identifier: str, data: bytes | None, version: int = -1) -> Self | None:
        """Return the document in *data*; None when *data* is empty, not JSON, or not an object."""
        document = parse(data)
        return None if document is None else cls.from_document(identifier, document, version)

    @classmethod
    def from_document(cls, identifier: str, document: Mapping[str, Any], version: int = -1) -> Self:
        """Return the object that *document* describes. Values of unknown keys are shared with *document*."""
        made = cls(id=identifier, version=version)
        for key, read in cls.KEYS.items():
            value = read(document[key]) if key in document else cls.ABSENT.get(key)
            setattr(made, key, copied(value))
        made.extra = {k: v for k, v in document.items() if k not in cls.KEYS and k not in cls.FORGOTTEN}
        made.broken = any(key not in document or cls.KEYS[key](document[key]) in (None, [], "") for key in cls.NEEDED)
        made.complete(document)
        return made

    def lack(self) -> str:
        """Return the problem of a broken document, as a part of a sentence."""
        return f"it needs {' and '.join(self.NEEDED)}, and one of them is missing or of a wrong type"

    def complete(self, document: Mapping[str, Any]) -> None:
        """Set attributes that depend on more than one key of *document*."""

    def to_document(self) -> dict[str, Any]:
        """Return all keys of the schema, with null for missing values, and the unknown keys unchanged."""
        document = {key: getattr(self, key) for key in self.KEYS}
        for key, value in self.extra.items():
            document.setdefault(key, value)
        return document

    def to_bytes(self) -> bytes:
        """Return the document as it is stored."""
        return dump(self.to_document())

    def clone(self) -> Self:
        """Return an independent copy."""
        twin = object.__new__(type(self))
        values = self.__dict__.copy()
        for key in self.NESTED:
            if values[key]:
                values[key] = copied(values[key])
            elif values[key].__class__ in (list, dict):
                values[key] = values[key].__class__()
        twin.__dict__ = values
        return twin


@dataclass
class StatefulDocument(Document):
    """A document with ``state`` and ``state_time`` (UNIX seconds)."""

    STATES: ClassVar[frozenset[str]] = frozenset()

    state: str = ""
    state_time: float | None = None

    def set_state(self, state: str, now: float) -> None:
        """Set the state and its time; the time is renewed even when the state stays the same.

        :raises ValueError: the schema has no such state.
        """
        if state not in self.STATES:
            known = ", ".join(sorted(self.STATES))
            raise ValueError(f"{state!r} is no state of a {type(self).__name__}; there are {known}")
        self.state = state
        self.state_time = now
