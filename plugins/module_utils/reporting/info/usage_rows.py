# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who used what: the usage of days as rows, as CSV, and what ready nodes cost and saved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.steady import Moves
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...launching.life_shares import shares
from ...model.bounded_text import printable
from ...model.day_usage import AMOUNTS, DAY, FIELDS, PARTS, Usage, day_of, merged, start_of
from ...model.launch import Launch
from ...model.node import Node
from ...model.node_use import NEEDED, NodeUse, name_of, use_of
from ...model.own_tree import LAUNCHES, USAGE_DAYS, USAGE_ENTRIES
from ...model.stored import BadDocument

T = TypeVar("T")
DAYS, ENTRIES, STARTED = (paths.own(name) for name in (USAGE_DAYS, USAGE_ENTRIES, LAUNCHES))
ROOTS = (DAYS, ENTRIES, paths.NODES, STARTED)
MOVES = Moves(sources=paths.NODES, entries=ENTRIES, sums=DAYS)
"""A deletion begins with an entry, which the document of a day takes over when the node is gone."""
HOUR = 3_600_000
MEANS = {"warm_wait": "warm", "cold_wait": "cold"}
"""Milliseconds of waits → the count of nodes that they belong to."""
_FORMULA = ("=", "+", "-", "@")
"""Beginnings of cells that a spreadsheet takes for a formula."""


@dataclass(frozen=True)
class Used:
    """The usage of each day, and what could not be read.

    :ivar days: day (``2026-11-25``, UTC) → usage, with the nodes that exist now.
    :ivar problems: a sentence for each document that cannot be used.
    """

    days: Mapping[str, Usage]
    problems: list[str] = field(default_factory=list)

    def between(self, first: str, last: str) -> Usage:
        """Return the sum of the days from *first* to *last*, both included."""
        return merged(usage for day, usage in self.days.items() if first <= day <= last)


def usage_by_day(reading: TreeReading, now: float, tenants: Collection[str] | None = None, since: str = "") -> Used:
    """Return the usage of the days that are kept.

    What no day has counted yet is added: lives of nodes that are gone or being deleted, and of those that exist.

    :param tenants: whose existing nodes are needed; those of others are left out, which saves most of the time. None
        for all nodes.
    :param since: the first day whose document is read.
    """
    days: dict[str, Usage] = {}
    problems: list[str] = []
    for found in filter(None, (reading.one(f"{DAYS}/{name}") for name in reading.names(DAYS) if name >= since)):
        usage, problem = found.fact(usage_of)
        if problem is not None:
            problems.append(f"{DAYS}/{found.name}: {problem}")
        elif _is_day(found.name):
            days[found.name] = merged([usage])
    entries = {found.name: found for found in reading.below(ENTRIES)}
    for name, found in entries.items():
        use = _understood(found, f"{ENTRIES}/{name}", NodeUse.from_document, problems)
        if use is not None:
            _add(days, use, now)
    launches = {found.name: found for found in reading.below(STARTED)}
    for found in reading.below(paths.NODES):
        if found.name in entries or found.problem is not None:
            continue
        if tenants is None or name_of(found.document.get("tenant_name")) in tenants:
            _add(days, _living(found, launches.get(found.name)), now)
    return Used(days, problems)


def usage_of(found: Found) -> tuple[Usage, str | None]:
    """Return the usage in the document of a day, which nobody may change, and why it cannot be used."""
    try:
        return (Usage(), found.problem) if found.problem is not None else (Usage.from_document(found.document), None)
    except BadDocument as problem:
        return Usage(), str(problem)


def _understood(found: Found, path: str, reader: Callable[[Mapping[str, Any]], T], problems: list[str]) -> T | None:
    try:
        if found.problem is None:
            return reader(found.document)
        problems.append(f"{path}: {found.problem}")
    except BadDocument as problem:
        problems.append(f"{path}: {problem}")
    return None


def _is_day(name: str) -> bool:
    try:
        return day_of(start_of(name)) == name
    except ValueError:
        return False


def _living(found: Found, started: Found | None) -> NodeUse:
    """Return the use of a node that exists. Its launch record is needed for the times; a broken one counts as none."""
    launch = None
    if started is not None:
        try:
            launch = Launch.from_document(started.document)
        except BadDocument:
            launch = None
    needed = {key: found.document[key] for key in NEEDED if key in found.document}
    return use_of(Node.from_document(found.name, needed), launch)


def _add(days: dict[str, Usage], use: NodeUse, now: float) -> None:
    for share in shares(use, now):
        days.setdefault(share.day, Usage()).merge(share.usage)


def rows_of(usage: Usage, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each value of the fields *names*, that with the most hours first; the other fields are null."""
    made = []
    for key, amounts in usage.by(*names).rows.items():
        fields = {**dict.fromkeys(FIELDS), **dict(zip(names, key, strict=True))}
        made.append({**fields, **figures(dict(zip(AMOUNTS, amounts, strict=True)))})
    return sorted(made, key=lambda row: (-row["hours"], *(row[name] for name in names)))


def figures(amounts: Mapping[str, int]) -> dict[str, Any]:
    """Return the figures of a row: hours, counts, and the mean waits in seconds (null where nobody waited)."""
    row: dict[str, Any] = {"hours": _hours(sum(amounts[part] for part in PARTS))}
    row |= {f"{part}_hours": _hours(amounts[part]) for part in PARTS}
    row |= {name: amounts[name] for name in ("nodes", "servers", "warm", "cold")}
    for name, counted in MEANS.items():
        row[f"{name}_seconds"] = round(amounts[name] / amounts[counted] / 1000, 1) if amounts[counted] else None
    return row


def _hours(milliseconds: int) -> float:
    return round(milliseconds / HOUR, 4)


def warmth_rows(usage: Usage, min_ready: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return for each label what its ready nodes cost and saved.

    ``saved_seconds`` is the time by which the nodes that were ready came sooner than those that were launched, all
    together; null where there is only one kind of them.
    """
    rows = []
    for row in rows_of(usage, ("label",)):
        warm, cold = row["warm_wait_seconds"], row["cold_wait_seconds"]
        saved = None if warm is None or cold is None else round(row["warm"] * max(0.0, cold - warm), 1)
        rows.append(
            {
                "label": row["label"],
                "min_ready": min_ready.get(row["label"]),
                "idle_hours": row["idle_hours"],
                **{name: row[name] for name in ("warm", "warm_wait_seconds", "cold", "cold_wait_seconds")},
                "saved_seconds": saved,
                "saved_per_idle_hour": round(saved / row["idle_hours"], 1) if saved and row["idle_hours"] else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["idle_hours"], row["label"]))


def csv_of(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Return the rows as CSV (RFC 4180) with a line of names, for a spreadsheet.

    A name that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    columns = [*names, *figures(dict.fromkeys(AMOUNTS, 0))]
    lines = [columns, *([_cell(row[name]) for name in columns] for row in rows)]
    return "".join(f"{','.join(map(_quoted, line))}\r\n" for line in lines)


def _cell(value: Any) -> str:
    text = "" if value is None else printable(str(value))
    return f"'{text}" if isinstance(value, str) and text.startswith(_FORMULA) else text


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(letter in text for letter in '",') else text


def period(now: float, days: int, first: str | None, last: str | None) -> tuple[str, str]:
    """Return the first and the last day (UTC): *days* of them up to *last*, which is today unless it is given.

    :raises ValueError: a day is none, or the first is after the last.
    """
    end = day_of(now) if last is None else day_of(start_of(last))
    begin = day_of(start_of(end) - (days - 1) * DAY) if first is None else day_of(start_of(first))
    if begin > end:
        raise ValueError(f"the first day {begin} is after the last day {end}")
    return begin, end


def only(usage: Usage, wanted: Mapping[str, Collection[str]]) -> Usage:
    """Return the rows of *usage* whose fields have one of the *wanted* values; an empty collection takes all."""
    places = {FIELDS.index(name): set(values) for name, values in wanted.items() if values}
    return Usage(
        {key: row for key, row in usage.rows.items() if all(key[place] in some for place, some in places.items())}
    )
