# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of AWX's API: what is asked for by fields, page by page."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

PAGE_SIZE = 25
"""As in AWX's settings."""
WAYS = ("in", "startswith")


class UnknownField(Exception):
    """There is no such field."""


def page(
    views: list[dict[str, Any]], path: str, query: Mapping[str, str], known: Collection[str] = ()
) -> dict[str, Any]:
    """The part of *views* that is asked for.

    :param known: fields that some of them might have, were they there.
    :raises UnknownField: a field that none of them has is asked for.
    """
    asked = dict(query)
    number, size = int(asked.pop("page", 1)), int(asked.pop("page_size", PAGE_SIZE))
    fields = {name for view in views for name in view}.union(known)
    found = [view for view in views if _fits(view, asked, fields)]
    first = (number - 1) * size
    more = first + size < len(found)
    following = f"{path}?{urlencode({**query, 'page': number + 1})}" if more else None
    return {"count": len(found), "next": following, "previous": None, "results": found[first : first + size]}


def _fits(view: Mapping[str, Any], asked: Mapping[str, str], fields: Collection[str]) -> bool:
    musts = [_matches(view, key, value, fields) for key, value in asked.items() if not key.startswith("or__")]
    mays = [_matches(view, key[4:], value, fields) for key, value in asked.items() if key.startswith("or__")]
    return all(musts) and (any(mays) or not mays)


def _matches(view: Mapping[str, Any], key: str, value: str, fields: Collection[str]) -> bool:
    field, _dashes, way = key.partition("__")
    if (way and way not in WAYS) or field not in fields:
        raise UnknownField(f"{key}: there is no such field")
    text = str(view.get(field))
    if way == "in":
        return text in value.split(",")
    return text.startswith(value) if way else text == value
