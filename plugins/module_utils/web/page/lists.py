# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of nodes and requests: filtered, in pages of fixed length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from .overview import code_of, matches

Row = Mapping[str, Any]
PAGE = 100
"""Most rows of a page."""
LONGEST_SEARCH = 200
"""Characters of a search that are used; the rest is ignored."""
NODE_FIELDS = ("id", "labels", "provider", "pool", "state", "allocated_to", "public_ipv4", "public_ipv6", "server_id")
REQUEST_FIELDS = ("id", "labels", "requestor", "tenant", "provider", "state", "reason", "nodes", "event_id")


@dataclass(frozen=True)
class Query:
    """The query of a client: filter fields that are not empty, a search, a page (from 1)."""

    filters: Mapping[str, str]
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, arguments: Mapping[str, str], names: Sequence[str]) -> Query:
        """Parse a query string; an invalid page number counts as page 1."""
        digits = arguments.get("page", "1")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else 1
        filters = {name: arguments[name].strip() for name in names if arguments.get(name, "").strip()}
        return cls(filters, arguments.get("q", "").strip()[:LONGEST_SEARCH], max(1, number))

    def link(self, **changes: Any) -> str:
        """Return the query string of another page of the same list."""
        fields = {**self.filters, "q": self.search, "page": self.page if self.page > 1 else "", **changes}
        return "?" + urlencode({key: str(value) for key, value in fields.items() if value}, errors="replace")


@dataclass(frozen=True)
class Listed:
    """A page of rows. *count*: rows that match. *total*: all rows. *page*: its number. *pages*: the last number."""

    rows: Sequence[Row]
    count: int
    total: int
    page: int
    pages: int


def listed(rows: Sequence[Row], query: Query, keys: Sequence[str]) -> Listed:
    """Return a page of rows, in their order.

    :param keys: the fields that a search uses.
    """
    search = query.search.casefold()
    found = [row for row in rows if _is_chosen(row, query) and (not search or matches(row, search, keys))]
    pages = max(1, -(-len(found) // PAGE))
    page = min(query.page, pages)
    return Listed(found[(page - 1) * PAGE : page * PAGE], len(found), len(rows), page, pages)


def _is_chosen(row: Row, query: Query) -> bool:
    return all(value in _values(row, name) for name, value in query.filters.items())


def _values(row: Row, name: str) -> Sequence[str]:
    """Return the values of a field: for *label* those of *labels*, for *reason* its code."""
    if name == "label":
        labels: Sequence[str] = row["labels"]
        return labels
    value = code_of(row) if name == "reason" else row[name]
    return [value] if value else []


def choices(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the values that each field has in the rows, for the lists of a form."""
    return {name: sorted({value for row in rows for value in _values(row, name)}) for name in names}
