# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of a day: node-hours and waits by tenant, project, job, label, provider and pool. Amounts are whole
milliseconds, so that sums are the same in any order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from .stored import BadDocument, is_number

USED, IDLE, BUILDING, THROWN, HELD, DELETING = "used", "idle", "building", "thrown_away", "held", "deleting"
PARTS = (USED, IDLE, BUILDING, THROWN, HELD, DELETING)
"""What a server is at a time, in milliseconds: in use, ready for nobody, being launched, of an attempt that failed,
held, being deleted."""
COUNTS = ("nodes", "servers", "warm", "warm_wait", "cold", "cold_wait")
"""Nodes and servers that are gone; nodes that were given to a request, ready before it (warm) or launched for it
(cold), and the milliseconds that the request had waited for them."""
AMOUNTS = (*PARTS, *COUNTS)
FIELDS = ("tenant", "project", "job", "label", "provider", "pool")
MOST_ROWS = 600
"""Largest number of rows of a day. What comes beyond them is counted for others."""
MOST_OTHERS = 200
"""Rows beyond MOST_ROWS for others, by label, provider and pool."""
OTHERS = "others"
DAY = 86400

Key = tuple[str, ...]
"""The values of FIELDS. Where nobody had the node, tenant, project and job are empty."""


def day_of(at: float) -> str:
    """Return the day (UTC) of a UNIX time, as ``2026-11-25``."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def start_of(day: str) -> float:
    """Return the UNIX time at which a day begins.

    :raises ValueError: *day* is no day.
    """
    return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()


@dataclass
class Usage:
    """Amounts by key, of a day or of several."""

    rows: dict[Key, list[int]] = field(default_factory=dict)

    def add(self, key: Key, **amounts: int) -> None:
        """Add amounts, by their names in AMOUNTS."""
        row = self.rows.setdefault(key, [0] * len(AMOUNTS))
        for name, amount in amounts.items():
            row[AMOUNTS.index(name)] += amount

    def merge(self, other: Usage) -> None:
        """Add all rows of *other*."""
        for key, amounts in other.rows.items():
            row = self.rows.setdefault(key, [0] * len(AMOUNTS))
            for place, amount in enumerate(amounts):
                row[place] += amount

    def bounded(self) -> Usage:
        """Return the same amounts in at most MOST_ROWS + MOST_OTHERS + 1 rows; those that came first stay."""
        if len(self.rows) <= MOST_ROWS:
            return self
        made = Usage()
        for place, (key, amounts) in enumerate(self.rows.items()):
            kept = key if place < MOST_ROWS else (OTHERS, OTHERS, OTHERS, *key[3:])
            if kept not in made.rows and len(made.rows) >= MOST_ROWS + MOST_OTHERS:
                kept = (OTHERS,) * len(FIELDS)
            made.merge(Usage({kept: amounts}))
        return made

    def by(self, *names: str) -> Usage:
        """Return the usage by some of FIELDS; the others are left out of the keys."""
        places, made = [FIELDS.index(name) for name in names], Usage()
        for key, amounts in self.rows.items():
            made.merge(Usage({tuple(key[place] for place in places): amounts}))
        return made

    def total(self, *names: str) -> int:
        """Return the sum of the named amounts of all rows."""
        places = [AMOUNTS.index(name) for name in names]
        return sum(row[place] for row in self.rows.values() for place in places)

    def document(self) -> dict[str, Any]:
        """Return the usage as it is stored."""
        return {"amounts": list(AMOUNTS), "rows": [[list(key), amounts] for key, amounts in self.rows.items()]}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Usage:
        """Read a stored day; amounts of another version that this one does not know are left out.

        :raises BadDocument: it does not have the form that :meth:`document` writes.
        """
        names, rows = document.get("amounts"), document.get("rows")
        if not isinstance(names, list) or not isinstance(rows, list):
            raise BadDocument("'amounts' or 'rows' is not a list")
        usage = cls()
        for key, amounts in _checked(names, rows):
            usage.rows[key] = [0] * len(AMOUNTS)
            usage.add(key, **{name: amount for name, amount in amounts.items() if name in AMOUNTS})
        return usage


def _checked(names: list[Any], rows: list[Any]) -> Iterator[tuple[Key, dict[str, int]]]:
    for row in rows:
        if not isinstance(row, list) or len(row) != 2 or not all(isinstance(part, list) for part in row):
            raise BadDocument("a row is not a list of names and a list of amounts")
        key, amounts = row
        if len(key) != len(FIELDS) or not all(isinstance(name, str) for name in key):
            raise BadDocument(f"a row does not have the names {', '.join(FIELDS)}")
        if len(amounts) != len(names) or not all(is_number(amount) and amount >= 0 for amount in amounts):
            raise BadDocument("a row does not have an amount of at least 0 for each name")
        yield tuple(key), {str(name): int(amount) for name, amount in zip(names, amounts, strict=True)}


def merged(many: Iterable[Usage]) -> Usage:
    """Return the sum of several usages."""
    made = Usage()
    for usage in many:
        made.merge(usage)
    return made
