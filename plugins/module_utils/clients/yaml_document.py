# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of YAML text into plain data, with the line of every value.

Unlike with ``yaml.safe_load``, the result is always JSON-like (keys are text as they are written, dates stay text, no
``.nan``), and a key that is written twice is reported. Aliases of aliases may stand for more values than a machine
can read, so their number has a limit.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

try:
    import yaml
except ImportError:
    YAML_IMPORT_ERROR: str | None = traceback.format_exc()
else:
    YAML_IMPORT_ERROR = None

from ..model.config.problems import Place, Problem
from ..model.errors import MissingLibraryError

DEEPEST = 64
"""Maximum number of levels of lists and mappings; the code that reads the result is recursive."""
MOST_VALUES = 1_000_000
"""Maximum number of values, those counted again that an alias repeats: the code that reads the result visits each."""

_TAG = "tag:yaml.org,2002:"
_TEXT_TAGS = frozenset(_TAG + kind for kind in ("str", "timestamp", "value", "merge"))
_SWITCHES = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}

_CONFLICT = re.compile(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
"""A line by which git marks a conflict; a text of YAML that goes over lines is indented."""
_REMEDIES = (
    ("tab", "indent with spaces, not with tabs"),
    ("mapping values are not allowed", "put a text that contains ': ' in quotes, and check the indentation"),
    ("undefined alias", "define the anchor (&name) above its first use, or put a text that begins with * in quotes"),
    ("duplicate anchor", "give each anchor its own name"),
    ("found another document", "keep one document: remove the second ---"),
    ("cannot start any token", "put a text that begins with @, `, % or a tab in quotes"),
    ("quoted scalar", "close the quotes, or double the backslash"),
    ("end of stream", "close the quotes"),
    ("flow", "close the bracket or brace, and put commas between the items"),
    ("block", "check the indentation of this line and of those above it"),
)


@dataclass(frozen=True)
class Document:
    """The content of a text. *data* is None when the text is empty or when a problem is fatal."""

    data: Any
    places: Place
    problems: tuple[Problem, ...]


class _Refused(Exception):
    """The text cannot be read at all. Its arguments are the sentence and the line."""


def read_yaml(text: str, *, secret: bool = False) -> Document:
    """Read one YAML document. Never raises because of the content of *text*; the problems have line numbers.

    :param secret: True when no message may quote the text.
    :raises MissingLibraryError: PyYAML is not installed.
    """
    if YAML_IMPORT_ERROR is not None:
        raise MissingLibraryError("PyYAML", YAML_IMPORT_ERROR)
    try:
        _check_characters(text)
        root = yaml.compose(text, Loader=_loader())
        if root is None:
            return Document(None, Place(1), ())
        reader = _Reader(secret)
        data, place = reader.build(root)
        return Document(data, replace(place, line=1), tuple(reader.problems))
    except yaml.YAMLError as error:
        problem = _syntax_problem(error, text)
    except _Refused as refusal:
        message, line = refusal.args
        problem = Problem((), message, line=line)
    return Document(None, Place(1), (problem,))


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _check_characters(text: str) -> None:
    """Refuse surrogates, which Python uses for bytes of an environment variable that are not UTF-8.

    :raises _Refused: a line has such a character.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        if not _encodable(line):
            raise _Refused(
                "has a character that is not UTF-8, from an environment variable: correct the variable", number
            )


def _syntax_problem(error: Any, text: str) -> Problem:
    conflict = _CONFLICT.search(text)
    if conflict is not None:
        line = text.count("\n", 0, conflict.start()) + 1
        return Problem((), "is not valid YAML: resolve the conflict that git has marked there", line=line)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    position = getattr(error, "position", None)
    if mark is None and isinstance(position, int):
        line = text.count("\n", 0, position) + 1
        return Problem((), "has a control character that YAML does not allow: remove it", line=line)
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    words = " ".join(part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part)
    lines = text.splitlines()
    if "cannot start any token" in words and line <= len(lines) and lines[line - 1][column - 1 : column] == "\t":
        words = "tab"
    remedy = next((remedy for sign, remedy in _REMEDIES if sign in words), "check quotes, colons and indentation")
    return Problem((), f"is not valid YAML (column {column}): {remedy}", line=line)


@dataclass
class _Reader:
    """A converter of yaml's nodes to data; it converts a node that several aliases share once."""

    secret: bool
    problems: list[Problem] = field(default_factory=list)
    _done: dict[int, tuple[Any, Place]] = field(default_factory=dict)
    _values: dict[int, int] = field(default_factory=dict)
    """How many values each converted collection stands for."""
    _tables: dict[int, dict[str, tuple[Any, Any]]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)

    def build(self, node: Any) -> tuple[Any, Place]:
        """Return the data of a node, and the lines of the node and its parts."""
        if id(node) in self._done:
            return self._done[id(node)]
        if id(node) in self._open:
            raise _Refused("an alias refers to a mapping or list that contains it: remove it", _line(node))
        if len(self._open) > DEEPEST:
            raise _Refused(f"is nested more than {DEEPEST} levels deep: check the brackets", _line(node))
        self._open.add(id(node))
        is_scalar = isinstance(node, yaml.ScalarNode)
        built = self._done[id(node)] = (self._scalar(node), Place(_line(node))) if is_scalar else self._collection(node)
        self._open.discard(id(node))
        return built

    def _collection(self, node: Any) -> tuple[Any, Place]:
        """Return a mapping or a list. The value of a key has the line of the key, even when the value is an alias."""
        is_mapping = isinstance(node, yaml.MappingNode)
        self._check_tag(node, "map" if is_mapping else "seq")
        parts = self._table(node) if is_mapping else {index: (item, item) for index, item in enumerate(node.value)}
        data: dict[Any, Any] = {}
        entries: dict[Any, Place] = {}
        values = 1
        for step, (named, value) in parts.items():
            data[step], place = self.build(value)
            entries[step] = replace(place, line=_line(named))
            values += self._values.get(id(value), 1)
        if values > MOST_VALUES:
            raise _Refused(f"aliases (*name) stand for more than {MOST_VALUES:,} values: remove some", _line(node))
        self._values[id(node)] = values
        return data if is_mapping else list(data.values()), Place(_line(node), entries)

    def _check_tag(self, node: Any, kind: str) -> None:
        if node.tag != _TAG + kind:
            self._complain(node, "has a YAML tag (!…) that is not supported here: remove the tag")

    def _complain(self, node: Any, message: str, severity: str = "error") -> None:
        self.problems.append(Problem((), message, severity, line=_line(node)))

    def _table(self, node: Any) -> dict[str, tuple[Any, Any]]:
        """Return the keys of a mapping and those that ``<<`` merges into it; the mapping's own keys take precedence."""
        if id(node) in self._tables:
            return self._tables[id(node)]
        own: dict[str, tuple[Any, Any]] = {}
        merged: dict[str, tuple[Any, Any]] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _TAG + "merge":
                for other in self._merged(value_node):
                    merged.update(other)
            elif not isinstance(key_node, yaml.ScalarNode):
                self._complain(key_node, "has a list or a mapping as a key: use a text as the key")
            else:
                self._add(own, key_node, value_node)
        table = self._tables[id(node)] = {**merged, **own}
        return table

    def _add(self, own: dict[str, tuple[Any, Any]], key_node: Any, value_node: Any) -> None:
        key = key_node.value
        if not _encodable(key):
            self._complain(key_node, "has an incomplete character in a key: remove the \\u escape")
            return
        if key in own:
            name = "a key" if self.secret else repr(key)
            first = _line(own[key][0])
            self._complain(
                key_node,
                f"{name} is repeated (first in line {first}); the last one is used: remove one",
                "lenient",
            )
        own[key] = (key_node, value_node)

    def _merged(self, node: Any) -> Iterator[dict[str, tuple[Any, Any]]]:
        """Yield the tables that a ``<<`` names; one that is yielded later takes precedence."""
        if id(node) in self._open:
            raise _Refused("a merge (<<) refers to a mapping that contains it: remove it", _line(node))
        self._open.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield self._table(node)
        elif isinstance(node, yaml.SequenceNode) and all(isinstance(item, yaml.MappingNode) for item in node.value):
            for item in reversed(node.value):
                yield from self._merged(item)
        else:
            self._complain(node, "a merge (<<) needs a mapping or a list of mappings, such as *name")
        self._open.discard(id(node))

    def _scalar(self, node: Any) -> Any:
        kind = node.tag.removeprefix(_TAG)
        if node.tag in _TEXT_TAGS:
            if _encodable(node.value):
                return node.value
            self._complain(node, "has an incomplete character in a text: remove the \\u escape")
        elif kind == "null":
            return None
        elif kind == "bool" and node.value.lower() in _SWITCHES:
            return _SWITCHES[node.value.lower()]
        elif kind in ("int", "float"):
            return self._number(node, kind)
        else:
            self._complain(node, "has a YAML tag (!…) that is not supported here: remove the tag")
        return ""

    def _number(self, node: Any, kind: str) -> int | float:
        reader = yaml.constructor.SafeConstructor()
        try:
            number = reader.construct_yaml_int(node) if kind == "int" else reader.construct_yaml_float(node)
            if math.isfinite(number):
                return number
        except (ValueError, OverflowError, IndexError):
            pass
        self._complain(node, "is not a valid number: write digits, or put a text in quotes")
        return 0


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
