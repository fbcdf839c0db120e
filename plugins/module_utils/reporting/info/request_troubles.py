# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests that failed or wait for long: a row for each cause."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...clients.zookeeper.tree_reading import TreeReading
from ...model import reasons
from ...model.config.types import NodepoolConfig
from ...model.documents import text, whole
from ...model.lines import amount, few
from ...model.owner import IMAGE
from ...model.request import RequestState
from .build_figures import figures_of_failures
from .causes import aside, row_about
from .expecting import deleted_lately
from .explain import UNSAID, reasons_of_pools
from .providers import used_of
from .request_rows import WAITS

LONG_WAIT = 600.0
"""Seconds after which a request that waits needs attention."""
MOST_BUILDS = 3
"""Most builds whose figures a row has."""
MOST_POOLS = 8
"""Most pools whose reasons about the oldest request are told; the others are counted."""
_OF_TROUBLE = {reasons.FROZEN: "freeze", reasons.BREAKER: "breaker", reasons.PROVIDER_TROUBLE: "provider"}
"""Code of a reason → cause of the row about the trouble that it tells."""
_WHAT = ("what", "resource", "label", "image", "tenant")
"""Fields of a reason that tell one shortage from another in the same place."""
_OF_ONE_NODE = re.compile(
    r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}|\b\d{1,3}(?:\.\d{1,3}){3}\b|\d{6,}", re.IGNORECASE
)
"""Ids of servers, addresses and numbers of nodes in the words of a failure: they do not tell one cause from another."""
MOST_NODES = 10_000
"""Highest plausible number of failed nodes of a request."""
Rows = Sequence[Mapping[str, Any]]


def request_troubles(
    reading: TreeReading, requests: Rows, providers: Rows, now: float, config: NodepoolConfig | None
) -> Iterator[dict[str, Any]]:
    """Yield requests that failed, or wait for long, a row for each cause.

    The row with the oldest request that waits has what each pool says of it.

    :param providers: tell how full a pool is.
    """
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    stored = {found.name: found.document for found in reading.below(WAITS)}
    for row in requests:
        failed, waits = (
            row["state"] == RequestState.FAILED,
            row["state"] in (RequestState.REQUESTED, RequestState.PENDING),
        )
        if failed or (waits and (row["created_age"] or 0.0) >= LONG_WAIT):
            groups[failed, *_why(stored.get(row["id"]) or {}, row)].append(row)
    waiting = [row for key, rows in groups.items() if not key[0] for row in rows]
    first = max(waiting, key=lambda row: row["created_age"] or 0.0, default=None)
    for (failed, code, where, _what, owner), rows in groups.items():
        oldest = max(rows, key=lambda row: row["created_age"] or 0.0)
        told = said = (oldest["reason"] or {}).get("text") or "no launcher has given a reason"
        labels = few({label for row in rows for label in row["labels"]}, "label") or "no label"
        verb = "failed" if failed else "waits" if len(rows) == 1 else "wait"
        nodes = _failed_nodes(rows, stored) if failed and code == reasons.LAUNCH_FAILED else 0
        of_nodes = f"{amount(nodes, 'node')} of " if nodes else ""
        if failed and code == reasons.LAUNCH_FAILED and config is not None:
            verb += aside(_builds_of(reading, rows, where, owner, config))
        elif code == reasons.NO_ROOM:
            use = used_of(providers, where, text(stored[oldest["id"]].get("resource")) or "")
            told += aside(", ".join(filter(None, (use, deleted_lately(reading, where, now)))))
        yield row_about(
            "requests-failed" if failed else "requests-wait",
            where or "requests",
            f"{of_nodes}{amount(len(rows), 'request')} for {labels} {verb}: {told}",
            age=oldest["age"] if failed else oldest["created_age"],
            count=nodes or len(rows),
            provider=where.partition("/")[0],
            owner=owner or None,
            subject=oldest["id"],
            code=code,
            pools=_said_by_pools(reading, oldest, said, now) if oldest is first else (),
        )


def _failed_nodes(rows: Rows, stored: Mapping[str, Mapping[str, Any]]) -> int:
    """Return how many nodes of requests failed; 0 when a record does not tell it."""
    counts = [whole(_first_reason(stored[row["id"]].get("reasons")).get("nodes")) or 0 for row in rows]
    return sum(counts) if all(0 < count <= MOST_NODES for count in counts) else 0


def _builds_of(reading: TreeReading, rows: Rows, where: str, owner: str, config: NodepoolConfig) -> str:
    """Return the figures of the builds from which launches of requests failed.

    :param where: the pool that failed them.
    """
    provider, _slash, pool = where.partition("/")
    there = config.providers.get(provider)
    offered = there.pools[pool].labels if there is not None and pool in there.pools else {}
    images = sorted({offered[label].image_name for row in rows for label in row["labels"] if label in offered})
    told = (figures_of_failures(reading, image, provider, of_image=owner == IMAGE) for image in images)
    return ", ".join([text for text in told if text][:MOST_BUILDS])


def _said_by_pools(reading: TreeReading, row: Mapping[str, Any], known: str, now: float) -> list[str]:
    """Return a sentence for each pool with a reason about a request; nothing for a request in work.

    :param known: the reason that is told already.
    """
    if row["state"] != RequestState.REQUESTED:
        return []
    pools = [pool for pool in reasons_of_pools(reading, row, now) if pool["text"] != known and pool["code"] != UNSAID]
    told = [
        pool["text"] if pool["pool"] in pool["text"] else f"{pool['pool']}: {pool['text']}"
        for pool in pools[:MOST_POOLS]
    ]
    rest = len(pools) - MOST_POOLS
    return [*told, *([f"and {amount(rest, 'other pool')}"] if rest > 0 else [])]


def _why(document: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Return code, place, resource, label or tenant, and owner of a stored reason: what is equal has one cause."""
    if document.get("code") == RequestState.FAILED:
        told = (row["reason"] or {}).get("text") or ""
        document = {**_first_reason(document.get("reasons")), "what": _OF_ONE_NODE.sub("?", told)}
    what = next(filter(None, (text(document.get(key)) for key in _WHAT)), "")
    code, where, owner = (text(document.get(key)) or "" for key in ("code", "where", "owner"))
    return code, where, what, owner


def _first_reason(told: Any) -> Mapping[str, Any]:
    """Return the reason that decided the failure of a request; others may have written anything there."""
    usable = (
        [item for item in told if isinstance(item, dict) and text(item.get("code"))] if isinstance(told, list) else []
    )
    return next(iter(reasons.causes_first(usable)), {})


def with_requests(rows: list[dict[str, Any]], requests: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all rows; requests that wait for the end of a trouble that has a row are counted there."""
    apart = []
    for row in requests:
        places = (_OF_TROUBLE.get(row["code"]), {row["where"], row["provider"]})
        trouble = next((one for one in rows if one["cause"] == places[0] and one["where"] in places[1]), None)
        if row["cause"] != "requests-wait" or trouble is None:
            apart.append(row)
        else:
            waits = "waits" if row["count"] == 1 else "wait"
            trouble["text"] += f"; {amount(row['count'], 'request')} {waits} for this, among them {row['subject']}"
            trouble["count"] += row["count"]
            trouble["pools"] += row["pools"]
    return [*rows, *apart]
