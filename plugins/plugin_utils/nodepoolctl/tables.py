# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a module as a table in the style of Nodepool's command line, as JSON, or as ids."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.fields import age_text
from ansible_collections.stackci.nodepool.plugins.module_utils.web.text_table import text_table

from .shapes import Column, Table


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _span(value: Any) -> str | None:
    return age_text(max(0.0, value)) if isinstance(value, int | float) else None


def _moment(value: Any) -> str | None:
    if not isinstance(value, int | float):
        return None
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))


def decided_lines(said: str, result: Mapping[str, Any]) -> list[str]:
    """Return what a decision about a build of a disk image means: for which build, from when on, and for which nodes.

    :param said: what was done, in a word.
    """
    verdict = result["verdict"]
    if not verdict["state"]:
        return [said]
    announced = verdict["used"] and verdict["state"] != "approved"
    when = f", from {_moment(verdict['since'])} on" if announced else ""
    lines = [f"{said}: build {result['build_id']} of {result['image']}{when}"]
    for what, nodes in (("ready nodes that the launcher deletes", "deleted"), ("nodes in use, which stay", "in_use")):
        ids = [node["id"] for node in result[nodes]]
        lines += [f"{what}: {', '.join(ids)}"] if ids else []
    return lines


FORMS: Mapping[str, Callable[[Any], Any]] = {
    "plain": _plain,
    "locked": lambda value: "locked" if value else "unlocked",
    "span": _span,
    "moment": _moment,
    "ids": lambda value: [part.get("id") or "" for part in value or ()],
}
"""The forms of a column: how a value of a row becomes a cell."""


def table_text(table: Table, result: Mapping[str, Any], *, detail: bool) -> str:
    """Return the rows of a result as a table.

    :param detail: True: with all columns.
    """
    columns = (*table.columns, *table.wide) if detail else table.columns
    found = result.get(table.rows, ())
    columns = tuple(
        item for item in columns if not item.optional or any(row.get(item.key) is not None for row in found)
    )
    titles = {f"{number}": column.title for number, column in enumerate(columns)}
    rows = [_cells(columns, row) for row in found]
    return text_table(titles, rows, 0.0)


def _cells(columns: Iterable[Column], row: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{number}": FORMS[column.form](row.get(column.key)) for number, column in enumerate(columns)}


def id_lines(table: Table, result: Mapping[str, Any]) -> list[str]:
    """Return the value of the first column of each row."""
    key = table.columns[0].key
    return [str(row[key]) for row in result.get(table.rows, ()) if row.get(key) is not None]


def json_text(result: Mapping[str, Any]) -> str:
    """Return the result as JSON."""
    return json.dumps(result, indent=2, ensure_ascii=False)
