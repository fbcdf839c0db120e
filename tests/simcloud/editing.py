# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""True answers in which single values are other ones, as of a cloud that shows null or text where a number belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from tests.simcloud.answers import Answer

GONE = "<gone>"
"""Instead of a value: the key is left out."""


def edited(answer: Answer, changes: Mapping[str, Any]) -> Answer:
    """Return the answer with other values at some paths.

    :param changes: path → value. The parts of a path are separated by dots; ``*`` is each item of a list or each
        value of an object. What a path does not lead to stays as it is.
    """
    if answer.body is None or not 200 <= answer.status < 300:
        return answer
    body = orjson.loads(answer.body if isinstance(answer.body, bytes) else orjson.dumps(answer.body))
    for path, value in changes.items():
        _change(body, path.split("."), value)
    return Answer(answer.status, body, dict(answer.headers))


def _change(place: Any, path: list[str], value: Any) -> None:
    first, *rest = path
    for key in _keys(place, first, new=not rest):
        if rest:
            _change(place[key], rest, value)
        elif value == GONE:
            place.pop(key, None)
        else:
            place[key] = value


def _keys(place: Any, part: str, *, new: bool) -> list[Any]:
    """Return the keys in an object, or the places in a list, that a part of a path means."""
    if isinstance(place, list):
        return [number for number in range(len(place)) if part in ("*", str(number))]
    if not isinstance(place, dict):
        return []
    return list(place) if part == "*" else [part] if new or part in place else []
