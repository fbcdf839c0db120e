# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of the errors of a JSON Schema validator to sentences for the operator."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..lines import joined, word_for
from .drivers import OPTIONS_OF_OTHER_DRIVERS
from .former_keys import became_of
from .options import NODEPOOL, SETTINGS
from .problems import (
    Path,
    Problem,
    Source,
    shown,
)
from .schema import NODEPOOL_SCHEMA, SETTINGS_SCHEMA

SchemaError: TypeAlias = Any
"""``jsonschema.ValidationError``; this layer imports no library."""

_KINDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_ELSEWHERE = frozenset([("zookeeper-auth",)])
"""Keys that belong into secure.conf; :mod:`check` says so."""
_RULES = ("oneOf", "anyOf", "not", "pattern")
"""Rules without a readable text of their own; schemas have an ``errorMessage`` beside them."""

_SAME_KEY = 0.75
"""How similar a key must be to be meant: keys share words such as name and timeout, and mean different things."""
_MOST_PLACES = 2
"""A key that more sections have, such as name, says nothing about where it belongs."""

_HUGE = 10**9
"""Bounds of this size or more only exclude absurd numbers; a message names them only when a value exceeds them."""

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?\Z")
_SWITCH_WORDS = frozenset(("true", "false", "yes", "no", "on", "off"))


def problems_of(errors: Iterable[SchemaError], source: Source) -> list[Problem]:
    """Return the problems for the errors of the validator; unknown keys are *lenient*."""
    return [problem for error in errors for problem in _problems(error, source)]


def suggestion(word: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return ``did you mean x?`` or an empty text.

    :param least: how similar x must be, from 0 to 1.
    """
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=least)
    return f"did you mean {near[0]}?" if near else ""


@functools.cache
def _places(file: str) -> Mapping[str, Sequence[str]]:
    """Return for each key of a file the sections that have it, such as ``providers.pools``."""
    found: dict[str, list[str]] = {}

    def visit(schema: Mapping[str, Any], section: str) -> None:
        for key, inner in schema.get("properties", {}).items():
            if section not in found.setdefault(key, []):
                found[key].append(section)
            visit(inner, f"{section}.{key}".lstrip("."))
        for inner in (schema.get(part) for part in ("items", "then")):
            if isinstance(inner, Mapping):
                visit(inner, section)

    visit({NODEPOOL: NODEPOOL_SCHEMA, SETTINGS: SETTINGS_SCHEMA}[file], "")
    return found


def _place(key: str) -> str:
    """Return a sentence with the sections that have *key*; "" when it is in none, or in many."""
    nodepool = _places(NODEPOOL).get(key, ())
    settings = [section for section in _places(SETTINGS).get(key, ()) if section not in nodepool]
    found = [
        f"{' or '.join(section or 'the top' for section in sections)} of {file}"
        for file, sections in ((NODEPOOL, nodepool), (SETTINGS, settings))
        if 0 < len(sections) <= _MOST_PLACES
    ]
    return f"it belongs to {', or to '.join(found)}" if found else ""


def _problems(error: SchemaError, source: Source) -> Iterator[Problem]:
    path: Path = tuple(error.absolute_path)
    rule = str(error.validator)
    if rule == "additionalProperties":
        yield from _unknown_keys(error, path, source)
    elif rule == "required":
        # The validator reports each missing key separately, but names the key only in its English message.
        missing = [repr(key) for key in error.validator_value if key not in error.instance]
        yield Problem(path, f"lacks {joined(missing)}: add {word_for(len(missing), 'it', 'them')}")
    elif rule in _RULES:
        # A value that is not a mapping has its own message for that.
        if rule == "pattern" or isinstance(error.instance, Mapping):
            yield Problem(path, str(error.schema["errorMessage"]))
    elif rule == "enum":
        yield _not_allowed(error, path, source)
    elif rule == "type":
        yield _wrong_type(error, path, source)
    else:
        yield Problem(path, _out_of_range(error, path, source))


def _unknown_keys(error: SchemaError, path: Path, source: Source) -> Iterator[Problem]:
    known = list(error.schema.get("properties", {}))
    patterns = list(error.schema.get("patternProperties", {}))
    for key in error.instance:
        if key in known or (*path, key) in _ELSEWHERE or any(re.search(pattern, key) for pattern in patterns):
            continue
        remedy = suggestion(key, known, _SAME_KEY) or _place(key) or "remove it"
        if source.ours:
            yield Problem((*path, key), f"is not a known key here: {remedy}")
            continue
        drivers = OPTIONS_OF_OTHER_DRIVERS.get(key)
        former = became_of(path, key)
        if former:
            message = former
        elif drivers and path[:1] == ("providers",):
            message = f"is an option of the {_either(drivers)} driver and is ignored: remove it"
        else:
            message = f"is not a known key here and is ignored: {remedy}"
        yield Problem((*path, key), message, "lenient")


def _either(words: Sequence[str]) -> str:
    return joined(words, "or")


def _not_allowed(error: SchemaError, path: Path, source: Source) -> Problem:
    allowed = [value for value in error.validator_value if value is not None]
    hint = suggestion(error.instance, allowed) if isinstance(error.instance, str) else ""
    found = _value(error.instance, path, source)
    return Problem(path, f"is {found}; expected one of {_either(allowed)}{'; ' if hint else ''}{hint}")


def _wrong_type(error: SchemaError, path: Path, source: Source) -> Problem:
    wanted = _kinds(error.schema)
    if error.instance is None:
        return Problem(path, f"has no value; expected {_expected(error.schema)}: add one")
    remedy = _remedy(error.instance, wanted, error.schema)
    found = _value(error.instance, path, source)
    return Problem(path, f"is {found}; expected {_expected(error.schema)}{': ' if remedy else ''}{remedy}")


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return [kind for kind in kinds if kind != "null"]


def _remedy(found: Any, wanted: Sequence[str], schema: Mapping[str, Any]) -> str:
    numeric = "integer" in wanted or "number" in wanted
    if isinstance(found, bool | int | float) and "string" in wanted:
        return "put it in quotes"
    if isinstance(found, str) and numeric:
        if _NUMBER.match(found):
            return "write it without quotes"
        unit = schema.get("x-unit")
        return f"write the number alone, in {unit}" if unit else "write the number alone"
    if isinstance(found, str) and "boolean" in wanted and found.lower() in _SWITCH_WORDS:
        return "write it without quotes"
    if "array" in wanted:
        return "put '- ' before each entry" if isinstance(found, Mapping) else "write a list, [one, two]"
    if "object" in wanted:
        return "write 'key: value' lines below it"
    return ""


def _out_of_range(error: SchemaError, path: Path, source: Source) -> str:
    if error.validator == "minLength":
        return "is empty: write a text"
    if error.validator == "maxLength":
        return f"has {len(error.instance)} characters, but only {error.validator_value} are allowed: shorten it"
    if error.validator == "minItems":
        return "is an empty list: add at least one entry"
    if error.validator == "uniqueItems":
        twice = next(item for place, item in enumerate(error.instance) if item in error.instance[:place])
        return f"has {_value(twice, path, source)} more than once: remove one"
    return f"is {_value(error.instance, path, source)}; expected {_expected(error.schema, error.instance)}"


def _expected(schema: Mapping[str, Any], found: Any = None) -> str:
    text = " or ".join(_KINDS[kind] for kind in _kinds(schema))
    if "x-unit" in schema:
        text += f" of {schema['x-unit']}"
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None:
        return text
    if isinstance(found, int | float) and found > most:
        return f"{text}, {most} at most"
    if most < _HUGE:
        return f"{text} from {least} to {most}"
    return f"{text}, {least} or more" if least > -_HUGE else text


def _value(value: Any, path: Path, source: Source) -> str:
    """Return the type of a value in words, or the value itself, shortened, when it is a scalar and not secret."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    visible = source.may_show(path, value)
    if isinstance(value, bool):
        return str(value).lower() if visible else "true or false"
    if isinstance(value, str):
        return f"the text {shown(value)!r}" if visible else "a text"
    return f"the number {shown(str(value))}" if visible else "a number"
