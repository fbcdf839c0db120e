# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of options: each function declares an attribute of a section as an option of that kind.

The keyword arguments *inherits*, *files*, *key*, *private*, *shown*, *read* and *derive* are those of
:class:`.options.Option`; others are rules of JSON Schema.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from .options import (
    LONGEST_NAME,
    MOST,
    MOST_SECONDS,
    OPTION,
    Option,
    Raw,
    Schema,
    options_of,
)

SCALAR: Schema = {"type": ["string", "number", "boolean"]}
PORT: Schema = {"minimum": 1, "maximum": 65535}
ZNODE_NAME: Schema = {
    "pattern": "^(?!\\.{1,2}$)(?![\\s\\S]*[/\\u0000-\\u001f\\u007f-\\u009f])",
    "errorMessage": "cannot be a part of a ZooKeeper path: leave out slashes and control characters",
    "maxLength": LONGEST_NAME,
}
SERVER_NAME: Schema = {"maxLength": LONGEST_NAME}
WITHOUT_EFFECT = "Accepted by Nodepool and here, without any effect."
_OF_THE_OPTION = {item.name for item in dataclasses.fields(Option)}


def _declared(schema: Schema | None, default: Any, more: Mapping[str, Any], required: bool = False) -> Any:
    """Return the attribute of a dataclass with its option."""
    own = {name: value for name, value in more.items() if name in _OF_THE_OPTION}
    rules = {name: value for name, value in more.items() if name not in _OF_THE_OPTION}
    full = None if schema is None else {**schema, **rules}
    option = Option(**{"key": "", **own}, schema=full, default=default, required=required)
    start: dict[str, Any] = {} if required else {"default": default}
    if isinstance(default, dict):
        start = {"default_factory": dict}
    # pylint: disable-next=invalid-field-call  # the attribute of the dataclass that calls this
    return dataclasses.field(**start, repr=not option.private, metadata={OPTION: option})


def _value(kind: str, meaning: str, default: Any, more: Mapping[str, Any], **rules: Any) -> Any:
    return _declared({"description": meaning, "type": [kind, "null"], **rules}, default, more)


def needed_text(meaning: str, **more: Any) -> Any:
    """Declare a text that must be given."""
    return _declared({"description": meaning, "type": "string", "minLength": 1}, None, more, required=True)


def text(meaning: str, default: str | None = None, **more: Any) -> Any:
    """Declare a text."""
    return _value("string", meaning, default, more)


def switch(meaning: str, default: bool | None = None, **more: Any) -> Any:
    """Declare a choice between true and false."""
    return _value("boolean", meaning, default, more)


def seconds(meaning: str, default: int | None, *, least: int = 0, **more: Any) -> Any:
    """Declare a whole number of seconds."""
    rules: Schema = {"minimum": least, "maximum": MOST_SECONDS, "x-unit": "seconds"}
    return _value("integer", meaning, default, more, **rules)


def count(meaning: str, default: Any = None, *, least: int | None = 0, unit: str | None = None, **more: Any) -> Any:
    """Declare a whole number.

    :param least: its lower bound; None for none.
    """
    rules: Schema = {"minimum": -MOST if least is None else least, "maximum": MOST}
    return _value("integer", meaning, default, more, **rules, **({"x-unit": unit} if unit else {}))


def fraction(meaning: str, default: float, *, least: float, **more: Any) -> Any:
    """Declare a time in seconds that may have a fraction, an hour at most."""
    rules: Schema = {"minimum": least, "maximum": 3600, "x-unit": "seconds"}
    return _value("number", meaning, default, {"read": float, **more}, **rules)


def port(meaning: str, default: int | None, **more: Any) -> Any:
    """Declare a number of a TCP port."""
    return _value("integer", meaning, default, more, **PORT)


def texts(meaning: str, **more: Any) -> Any:
    """Declare a list of texts."""
    return _value("array", meaning, (), more, items={"type": "string", "minLength": 1})


def mapping(meaning: str, values: Schema, default: Any = None, **more: Any) -> Any:
    """Declare a mapping with any keys."""
    return _value("object", meaning, {} if default is None else default, more, additionalProperties=values)


def properties(meaning: str, **more: Any) -> Any:
    """Declare properties of an image, whose key ``tags`` is a list."""
    tags = {
        "description": "Tags of the image in glance.",
        "type": ["array", "string", "number", "boolean", "null"],
        "items": {"type": "string", "minLength": 1, "maxLength": 255},
    }
    return mapping(meaning, SCALAR, private=True, read=_without_tags, properties={"tags": tags}, **more)


def tags_of(key: str) -> Any:
    """Declare the attribute for ``tags`` of the properties at *key*.

    The SDK, to which Nodepool hands the properties, makes glance's tags of it.
    """

    def read(item: Raw) -> tuple[str, ...]:
        found = (item.get(key) or {}).get("tags") or []
        return tuple(found if isinstance(found, list) else [str(found)])

    return _declared(None, (), {"derive": read})


def anything(meaning: str, **more: Any) -> Any:
    """Declare a value of any type."""
    return _declared({"description": meaning}, None, more)


def choice(meaning: str, values: list[str | None], default: str) -> Any:
    """Declare one of some texts."""
    return _declared({"description": meaning, "enum": values}, default, {})


def part(meaning: str, cls: type, default: Any = None, **more: Any) -> Any:
    """Declare a section that is the value of a key."""
    return _declared({"description": meaning, "type": ["object", "null"]}, default, {"part": cls, **more})


def parts(meaning: str, cls: type, **more: Any) -> Any:
    """Declare a list of sections, in memory a mapping by their names if they have names."""
    named = "name" in options_of(cls)
    schema: Schema = {"description": meaning, "type": ["array", "null"]}
    return _declared(schema, {} if named else (), {"part": cls, "many": True, **more})


def joined(cls: type) -> Any:
    """Declare a section whose keys are written beside the others."""
    return _declared({}, cls(), {"part": cls, "joined": True})


def derived(derive: Callable[[Raw], Any]) -> Any:
    """Declare an attribute that is made of keys without an attribute of their own."""
    option = Option(key="", schema=None, default=None, derive=derive)
    # pylint: disable-next=invalid-field-call  # as above
    return dataclasses.field(default_factory=lambda: derive({}), metadata={OPTION: option})


def at_least(least: int) -> Callable[[Any], int]:
    """Return a reader of whole numbers that takes smaller ones for *least*."""
    return lambda value: max(least, int(value))


def positive_or_endless(value: Any) -> float:
    """Read a maximum that 0 and less switch off."""
    return int(value) if value > 0 else math.inf


def as_texts(values: Raw) -> dict[str, str]:
    """Read a mapping whose values become texts."""
    return {key: str(value) for key, value in values.items()}


def _without_tags(values: Raw) -> dict[str, str]:
    return as_texts({key: value for key, value in values.items() if key != "tags"})
