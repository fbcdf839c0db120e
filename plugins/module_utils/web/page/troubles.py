# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows about problems for the page: those that need attention, recent failures with the clouds' messages, and leaks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model.documents import seconds, text
from ...model.request import RequestState
from ...reporting.info.causes import BAD, UNTOLD, WARN, ends
from ...reporting.info.explain import DECLINES, LAUNCHES
from ...reporting.info.fields import age
from ...reporting.info.providers import name_of

MANUAL = "https://github.com/stackci/ansible-collection-nodepool/blob/main/docs/operating.md"
"""The manual for operators, which the service does not have itself."""
Rows = Sequence[Mapping[str, Any]]


def quoted(name: str) -> str:
    """Quote any name as a part of a URL."""
    return quote(name, safe="", errors="replace")


def node_path(node_id: str) -> str:
    """Return the path of a node's page, below that of the first page."""
    return f"nodes/{quoted(node_id)}"


def request_path(request_id: str) -> str:
    """Return the path of a request's page, below that of the first page."""
    return f"requests/{quoted(request_id)}"


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading: small letters, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _row(
    level: str,
    where: str,
    told: str | None,
    since: float | None = None,
    href: str = "",
    *,
    ends_in: float | None = None,
    provider: str = "",
) -> dict[str, Any]:
    return {
        "level": level,
        "where": where,
        "text": told or UNTOLD,
        "age": since,
        "href": href,
        "ends_in": ends_in,
        "provider": provider,
    }


# -- attention -------------------------------------------------------------------------------------------------------

Place = Callable[[Mapping[str, Any]], str]


def _provider_place(row: Mapping[str, Any]) -> str:
    return f"?q={quoted(row['provider'])}"


_PLACES: Mapping[str, Place] = {
    **dict.fromkeys(("clock", "configuration", "metrics"), lambda row: ""),
    **dict.fromkeys(
        ("label-unserved", "min-ready"), lambda row: f"?q={quoted(row['subject'])}" if row["subject"] else "#h-labels"
    ),
    "no-upload": lambda row: f"images?q={quoted(row['subject'] or row['provider'])}",
    "requests-failed": lambda row: f"requests?state={RequestState.FAILED}",
    "requests-wait": lambda row: f"requests?state={RequestState.REQUESTED}",
    "stuck": lambda row: "#leaks",
    **dict.fromkeys(
        (
            "build",
            "build-unused",
            "gate-flaky",
            "gate-inconclusive",
            "gate-rejected",
            "stale",
            "upload",
        ),
        lambda row: f"images?q={quoted(row['subject'])}",
    ),
}
"""Cause → function that returns the path of the page about a row. All others are about a provider."""


def troubles(rows: Rows) -> list[dict[str, Any]]:
    """Return the rows of :func:`attention` with the path of the page and of the manual's section about each."""
    return [
        {
            **row,
            "href": _PLACES.get(row["cause"], _provider_place)(row),
            "ends": ends(row),
            "manual": f"{MANUAL}#{anchor(row['section'])}",
        }
        for row in rows
    ]


# -- failures --------------------------------------------------------------------------------------------------------


def failures(reading: TreeReading, requests: Rows, images: Rows, now: float) -> list[dict[str, Any]]:
    """Return the failures that are still stored, the latest first; those without a time come last."""
    rows = [*_of_launches(reading, now), *_of_requests(reading, requests), *_of_builds(images)]
    return sorted(rows, key=lambda row: (row["age"] is None, row["age"]))


def _of_launches(reading: TreeReading, now: float) -> Iterator[dict[str, Any]]:
    for found in reading.below(LAUNCHES):
        if told := found.fact(_failures_of):
            provider, since = text(found.document.get("provider")) or "", age(seconds(found.document.get("since")), now)
            last = f"{told[-1]}" + (f" (the last of {len(told)})" if len(told) > 1 else "")
            yield _row(WARN, f"node {found.name}", last, since, node_path(found.name), provider=provider)


def _failures_of(launch: Found) -> list[Any]:
    told = launch.document.get("failures")
    return told if isinstance(told, list) else []


def _of_requests(reading: TreeReading, requests: Rows) -> Iterator[dict[str, Any]]:
    for row in requests:
        if row["state"] == RequestState.FAILED:
            told = row["reason"]["text"] if row["reason"] else _declines(reading, row["id"])
            yield _row(BAD, f"request {row['id']}", told, row["age"], request_path(row["id"]))


def _declines(reading: TreeReading, request_id: str) -> str | None:
    """Return the reasons of the pools that declined a request."""
    found = reading.one(f"{DECLINES}/{request_id}")
    reasons = found.document.get("reasons") if found is not None else None
    documents = [item for item in reasons if isinstance(item, dict)] if isinstance(reasons, list) else []
    return "; ".join(dict.fromkeys(str(item.get("text")) for item in documents)) or None


def _of_builds(images: Rows) -> Iterator[dict[str, Any]]:
    for row in images:
        where, href = f"image {row['image']}", f"images?q={quoted(row['image'])}"
        if row["failures"]:
            yield _row(BAD, where, f"build: {row['last_error'] or UNTOLD}", row["failed_age"], href)
        for item in row["providers"]:
            if item["failures"]:
                told = f"upload: {item['last_error'] or UNTOLD}"
                yield _row(BAD, where, told, item["failed_age"], href, provider=item["provider"])


# -- leaks -----------------------------------------------------------------------------------------------------------


def stuck_rows(providers: Rows) -> list[dict[str, Any]]:
    """Return the deletions that make no progress, the oldest first."""
    rows = [
        {**item, "what": name_of(item), "answer": item["answer"] or UNTOLD}
        for row in providers
        for item in row["stuck"]
    ]
    return sorted(rows, key=lambda row: -(row["age"] or 0.0))


def odd_rows(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the records that have problems."""
    return ({"id": row["id"], "text": "; ".join(row["problems"])} for row in rows if row["problems"])
