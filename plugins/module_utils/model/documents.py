# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and writing of JSON documents in ZooKeeper.

Other clients write these documents too, so reading never raises: a document that is not a JSON object, or is nested too
deeply, is read as None, and a field of a wrong type as its default. What is read is harmless (:mod:`foreign`). The
documents of other programs are written back as they were: unknown keys are kept in ``extra``, and a value that was
cleaned is stored as the other program wrote it, unless it was changed since.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import get_annotations
from typing import Any, ClassVar, Self

from .bounded_text import marked
from .foreign import FIRST, LAST, cleaned, has_clean_texts, moment, number

Reader = Callable[[Any], Any]

DEEPEST = 100
"""Maximum levels of a document. Copying and writing are recursive and must stay far below the interpreter's limit."""
_FAR = (FIRST, LAST)
LARGEST = 2.0**63 - 1024
"""Largest whole number that is used; the largest float below 2**63."""

LARGEST_DOCUMENT = 900_000
"""Largest number of bytes of a document that is used. ZooKeeper accepts no request of more than 1,048,575 bytes
(``jute.maxbuffer``) and ends the connection instead; a document must have room for what is added to it and for the lock
that is taken in the same request."""
_GROWTH = 6
"""By what factor a document is larger at most when :func:`dump` writes it: U+007F has one byte and then six, 1e15 four
and then eighteen."""


def parse(data: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object in *data*, cleaned; None when *data* is empty or holds anything else."""
    if not data:
        return None
    document, _problem, clean = _read(data)
    return document if document is None or clean else cleaned(document)


def why_unreadable(data: bytes | None) -> str | None:
    """Return why there is no JSON object in *data*; None when there is one, or *data* is empty."""
    return _read(data)[1] if data else None


def _read(data: bytes) -> tuple[dict[str, Any] | None, str | None, bool]:
    """Return the JSON object, None, and whether it is certainly clean; or None, the problem, and False."""
    if len(data) > LARGEST_DOCUMENT:
        return None, f"it has {len(data)} bytes, but only {LARGEST_DOCUMENT} can be changed safely", False
    clean = True
    try:
        try:
            document = _decoded(data, _DECODER)
        except _LargeNumber:
            document, clean = _decoded(data, _PATIENT_DECODER), False
    except RecursionError:
        return None, _TOO_DEEP, False
    except ValueError:
        return None, "it is not JSON", False
    if not isinstance(document, dict):
        return None, "it is not a JSON object", False
    # A document that is too deep has more than DEEPEST brackets, and counting them costs almost nothing.
    if data.count(b"{") + data.count(b"[") > DEEPEST and _is_too_deep(document):
        return None, _TOO_DEEP, False
    if len(data) * _GROWTH > LARGEST_DOCUMENT and (size := len(dump(document))) > LARGEST_DOCUMENT:
        told = f"it has {len(data)} bytes, and {size} when it is written again, but only {LARGEST_DOCUMENT} can be"
        return None, f"{told} changed safely", False
    return document, None, clean and has_clean_texts(data)


def _decoded(data: bytes, decoder: json.JSONDecoder) -> Any:
    """Decode *data*.

    :raises ValueError: *data* is not JSON.
    """
    if data[:1] == b"{" and data[1:2] != b"\0":  # UTF-8 without spaces around it, as in nearly all documents
        written = data.decode("utf-8", "surrogatepass")
        document, end = decoder.raw_decode(written)
        if end == len(written):
            return document
    return decoder.decode(data.decode(json.detect_encoding(data), "surrogatepass"))


_TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"


class _LargeNumber(Exception):
    """A number has more than 64 bits."""


def _finite(digits: str) -> float | str:
    found = float(digits)
    return found if math.isfinite(found) else digits


def _small(digits: str) -> float | None:
    found = float(digits)
    if -LARGEST <= found <= LARGEST:
        return found
    raise _LargeNumber


def _small_whole(digits: str) -> int:
    if len(digits) < _DIGITS:
        return int(digits)
    raise _LargeNumber


_DIGITS = 19
"""A whole number with fewer characters has fewer than 64 bits."""
_PATIENT_DECODER = json.JSONDecoder(parse_constant=str, parse_float=_finite)
"""Decoder that reads NaN, Infinity and 1e400 as texts: some clients write them, but they cannot be used as numbers.

A text is told as a wrong value where a number belongs. null would mean that nothing was written.
"""
_DECODER = json.JSONDecoder(parse_constant=str, parse_float=_small, parse_int=_small_whole)
"""The same for documents in which all numbers are small.

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


_ENCODER = json.JSONEncoder(separators=(",", ":"))
_SORTING_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
"""Encoders of :func:`dump`; json.dumps with separators makes one for each document."""


def dump(document: Mapping[str, Any], *, sort_keys: bool = False) -> bytes:
    """Return *document* as JSON in UTF-8.

    All characters beyond ASCII are escaped: a lone surrogate from another client's document could not be encoded.
    """
    return (_SORTING_ENCODER if sort_keys else _ENCODER).encode(document).encode("utf-8")


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
    """Return a UNIX time that a clock can show, or a duration, as a float; None for anything else.

    A time before the year 1 or after 9999 is the nearest one in them.
    """
    found = number(value)
    return None if found is None else moment(found)


def whole(value: Any) -> int | None:
    """Return a whole number of at most 64 bits; "22" and 22.0 count as 22; None for what is not a number."""
    found = number(value)
    return None if found is None else int(min(max(found, -LARGEST), LARGEST))


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
    remark: str = field(default="", compare=False)
    """What else is wrong with the document, which is used all the same: a sentence, or an empty text."""
    written: Mapping[str, tuple[Any, Any]] | None = field(default=None, compare=False, repr=False)
    """For each key whose value was cleaned: the value as it was read, and as the other program wrote it."""

    def __init_subclass__(cls) -> None:
        kinds: Mapping[str, str] = get_annotations(cls)
        keys = [key for key, kind in kinds.items() if not kind.startswith("ClassVar") and key not in cls.BESIDE]
        cls.KEYS = {**cls.KEYS, **{key: cls.READ.get(key) or _READERS[kinds[key]] for key in keys}}
        cls.ABSENT = {**{key: read(None) for key, read in cls.KEYS.items()}, **cls.ABSENT}
        cls.NESTED = ("extra", *(key for key, read in cls.KEYS.items() if read not in _SCALARS))

    @classmethod
    def from_bytes(cls, identifier: str, data: bytes | None, version: int = -1) -> Self | None:
        """Return the document in *data*; None when *data* is empty, not JSON, or not an object."""
        document, _problem, clean = _read(data) if data else (None, None, False)
        if document is None:
            return None
        return cls._made(identifier, document, document if clean else cleaned(document), version)

    @classmethod
    def from_document(cls, identifier: str, document: Mapping[str, Any], version: int = -1) -> Self:
        """Return the object that *document* describes. Values of unknown keys are shared with *document*."""
        return cls._made(identifier, document, cleaned(document), version)

    @classmethod
    def _made(cls, identifier: str, written: Mapping[str, Any], document: Mapping[str, Any], version: int) -> Self:
        """Return the object.

        :param written: the document as the other program wrote it.
        :param document: the same, cleaned.
        """
        made, absent, values = cls(id=identifier, version=version), cls.ABSENT, dict[str, Any]()
        changed = document is not written
        for key, read in cls.KEYS.items():
            value = read(document[key]) if key in document else absent.get(key)
            values[key] = copied(value) if isinstance(value, (dict, list)) else value
            changed = changed or (value.__class__ is float and value in _FAR)
        made.__dict__.update(values)  # setattr for each takes longer, and a cycle reads each document that changes.
        made.written = made._changed_values(written, document) if changed else None
        made.extra = {k: v for k, v in written.items() if k not in cls.KEYS and k not in cls.FORGOTTEN}
        made.broken = any(key not in document or cls.KEYS[key](document[key]) in (None, [], "") for key in cls.NEEDED)
        made.complete(document)
        return made

    def _changed_values(
        self, written: Mapping[str, Any], document: Mapping[str, Any]
    ) -> dict[str, tuple[Any, Any]] | None:
        values = {key: getattr(self, key) for key in self.KEYS if key in written}
        changed = {
            key: (copied(value), written[key])
            for key, value in values.items()
            if document[key] != written[key] or (isinstance(value, float) and value in _FAR)
        }
        return changed or None

    def lack(self) -> str:
        """Return the problem of a broken document, as a part of a sentence."""
        return f"it needs {' and '.join(self.NEEDED)}, but one of them is missing or has the wrong type"

    def complete(self, document: Mapping[str, Any]) -> None:
        """Set attributes that depend on more than one key of *document*."""

    def to_document(self) -> dict[str, Any]:
        """Return all keys of the schema, with null for missing values, and the unknown keys unchanged."""
        document = {key: getattr(self, key) for key in self.KEYS}
        for key, (read, written) in (self.written or {}).items():
            document[key] = _as_written(document[key], read, written)
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


def _as_written(value: Any, read: Any, written: Any) -> Any:
    """Return *value* for storing; what is still as it was *read* is stored as another program has *written* it."""
    if value == read:
        return written
    if isinstance(value, list) and isinstance(written, list):
        given = {marked(item): item for item in written if isinstance(item, str)}
        return [given.get(item, item) if isinstance(item, str) else item for item in value]
    return value


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
            raise ValueError(f"{state!r} is not a state of a {type(self).__name__}; use one of {known}")
        self.state = state
        self.state_time = now
