# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of nodes and requests: filtered, in pages of fixed length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ...reporting.info.nodes import NodeFilter
from ...reporting.info.requests import RequestFilter
from .overview import code_of, matches

Row = Mapping[str, Any]
PAGE = 100
"""Rows of a page."""
LONGEST_SEARCH = 200
"""Characters of a search; what is beyond them is not looked at."""
_NODE_FIELDS = ("id", "labels", "provider", "pool", "state", "allocated_to", "public_ipv4", "public_ipv6", "server_id")
_REQUEST_FIELDS = ("id", "labels", "requestor", "tenant", "provider", "state", "reason", "nodes", "event_id")


@dataclass(frozen=True)
class Query:
    """What a visitor asked for: filter fields that are not empty, a search, a page (from 1)."""

    filters: Mapping[str, str]
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, arguments: Mapping[str, str], names: Sequence[str]) -> Query:
        """From a query string; what is no page number is page 1."""
        digits = arguments.get("page", "1")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 7 else 1
        filters = {name: arguments[name].strip() for name in names if arguments.get(name, "").strip()}
        return cls(filters, arguments.get("q", "").strip()[:LONGEST_SEARCH], max(1, number))

    def link(self, **changes: Any) -> str:
        """The query string of another page of the same list."""
        fields = {**self.filters, "q": self.search, "page": self.page if self.page > 1 else "", **changes}
        return "?" + urlencode({key: str(value) for key, value in fields.items() if value}, errors="replace")


@dataclass(frozen=True)
class Listed:
    """A page of rows: how many match, how many there are, the number of this page and of the last one."""

    rows: Sequence[Row]
    count: int
    total: int
    page: int
    pages: int


def nodes_listed(rows: Sequence[Row], query: Query) -> Listed:
    """The nodes of a page by id."""
    filters = query.filters
    wanted = NodeFilter(
        providers=_one(filters, "provider"), pools=_one(filters, "pool"), labels=_one(filters, "label"),
        states=_one(filters, "state"),
    )  # fmt: skip
    return _listed(rows, query, wanted.takes, _NODE_FIELDS)


def requests_listed(rows: Sequence[Row], query: Query) -> Listed:
    """The requests of a page in the order in which they are served."""
    filters = query.filters
    wanted = RequestFilter(labels=_one(filters, "label"), states=_one(filters, "state"))

    def takes(row: Row) -> bool:
        return wanted.takes(row) and filters.get("reason") in (None, code_of(row))

    return _listed(rows, query, takes, _REQUEST_FIELDS)


def _one(filters: Mapping[str, str], name: str) -> tuple[str, ...]:
    return (filters[name],) if name in filters else ()


def _listed(rows: Sequence[Row], query: Query, takes: Callable[[Row], bool], keys: Sequence[str]) -> Listed:
    search = query.search.casefold()
    found = [row for row in rows if takes(row) and (not search or matches(row, search, keys))]
    pages = max(1, -(-len(found) // PAGE))
    page = min(query.page, pages)
    return Listed(found[(page - 1) * PAGE : page * PAGE], len(found), len(rows), page, pages)


def choices(rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[str]]:
    """The values that the rows have of each field (of *label* those of *labels*), for the lists of a form."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for row in rows:
        for name in names:
            if name == "label":
                found[name].update(row["labels"])
            elif name == "reason":
                found[name].add(code_of(row))
            elif row[name]:
                found[name].add(row[name])
    return {name: sorted(values) for name, values in found.items()}
