# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer of a cloud for each row of the classifier's table: made from the row, so a new one needs no example."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import Answer, Rule

# The parser of the standard library has no public name.
_parser: Any = re._parser  # type: ignore[attr-defined]
_FILL = "x"


def answer_of(rule: Rule, call: str) -> Answer:
    """Return an answer to a call that the row knows: by its type if it has one, else by its words."""
    status = min(rule.statuses, default=500 if call == "fault" else 400)
    kind = min(rule.types, default="")
    return Answer(call, status, kind, "" if kind else text_of(rule.words), rule.foreign)


def text_of(pattern: str) -> str:
    """Return a text in which the pattern is found: its first alternatives, with as few repetitions as it needs."""
    text = _text(_parser.parse(pattern, re.IGNORECASE | re.DOTALL)).strip()
    assert re.search(pattern, text, re.IGNORECASE | re.DOTALL), (pattern, text)
    return text


def _text(parts: Iterable[Any]) -> str:
    return "".join(_one(str(name), value) for name, value in parts)


def _one(name: str, value: Any) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "ANY" or name == "NOT_LITERAL":
        return _FILL
    if name == "CATEGORY":
        return {"CATEGORY_SPACE": " ", "CATEGORY_DIGIT": "1"}.get(str(value), _FILL)
    if name == "IN":
        return _FILL if str(value[0][0]) == "NEGATE" else _one(str(value[0][0]), value[0][1])
    if name == "RANGE":
        return chr(value[0])
    if name == "BRANCH":
        return _text(value[1][0])
    if name == "SUBPATTERN":
        return _text(value[3])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        return _text(value[2]) * int(value[0])
    return " " if name == "AT" and "BOUNDARY" in str(value) else ""
