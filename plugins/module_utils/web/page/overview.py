# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a tree for the first page; with a search only the rows that match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...imaging.notes import BuilderNote
from ...model.config.types import NodepoolConfig
from ...model.documents import text, words
from ...model.node import NodeState
from ...model.own_tree import BUILDER_NOTES
from ...model.request import RequestState
from ...reporting.info.attention import RowsOf, attention
from ...reporting.info.causes import BAD
from ...reporting.info.fields import age, known_state
from ...reporting.info.image_list import image_rows
from ...reporting.info.labels import label_rows
from ...reporting.info.leak_rows import leak_rows
from ...reporting.info.node_rows import ageless_row
from ...reporting.info.providers import provider_rows
from ...reporting.info.request_rows import request_rows
from ...reporting.info.usage_budgets import budget_rows
from .cloud_waits import oldest_waits
from .troubles import failures, odd_rows, stuck_rows, troubles

Row = Mapping[str, Any]
MOST = 15
"""Most rows of a part; the others are counted, and the part has a link to all."""
MANY_PROVIDERS = 5
"""Largest number of providers that are shown in full; more are shown with a line each, which opens."""
MOST_PROVIDERS = 60
FEWEST_SQUARES, MOST_SQUARES = 21, 200
"""From how many providers on each of them has a square above the table, and the largest number of squares."""
SHOWN_STATES = (NodeState.IN_USE, NodeState.READY, NodeState.BUILDING, NodeState.HOLD)
"""Node states with a column of their own; the others are counted together."""


@dataclass(frozen=True)
class Part:
    """The rows that are shown, and the count of all rows."""

    rows: Sequence[Row]
    count: int

    @property
    def more(self) -> int:
        """Number of rows that are not shown."""
        return self.count - len(self.rows)


@dataclass(frozen=True)
class Overview:
    """All rows; they are the same for every visitor."""

    providers: Sequence[Row]
    requests: Sequence[Row]
    labels: Sequence[Row]
    images: Sequence[Row]
    node_states: Mapping[str, int]
    nodes: Sequence[Row]
    troubles: Sequence[Row]
    failures: Sequence[Row]
    stuck: Sequence[Row]
    leaks: Sequence[Row]
    odd: Sequence[Row]
    builders: Sequence[Row]
    squares: Sequence[Row]


def overview(
    config: NodepoolConfig,
    reading: TreeReading,
    now: float,
    file_problems: Sequence[str] = (),
    budgets: Sequence[Row] | None = None,
) -> Overview:
    """Return everything that the page can show of a tree.

    :param file_problems: what is wrong with the files of the web service itself.
    :param budgets: the rows of the budgets, when the caller already has them.
    """
    reading = reading.kept()
    requests, providers = request_rows(reading, now), provider_rows(config, reading, now)
    images, nodes = image_rows(config, reading, now), _nodes(reading)
    labels = label_rows(config, reading, now, requests)
    budgets = budget_rows(config, reading, now) if budgets is None else budgets
    wrong = attention(reading, now, RowsOf(providers, images, labels, requests, budgets), file_problems, config)
    waits = oldest_waits(providers, requests, nodes)
    return Overview(
        providers=[{**row, "oldest_wait": waits.get(row["name"])} for row in _ordered(providers, wrong)],
        requests=requests,
        labels=[_label(row) for row in labels],
        images=images,
        node_states=dict(sorted(Counter(known_state(row["state"], NodeState.ALL) for row in nodes).items())),
        nodes=nodes,
        troubles=troubles(wrong),
        failures=failures(reading, requests, images, now),
        stuck=stuck_rows(providers),
        leaks=leak_rows(reading, now),
        odd=[*odd_rows(nodes), *odd_rows(requests)],
        builders=_builders(reading, now),
        squares=_squares(providers, wrong),
    )


def _squares(providers: Sequence[Row], wrong: Sequence[Row]) -> list[dict[str, Any]]:
    """Return name, level and the worst trouble of many providers, by name: each keeps its place; none of few."""
    worst: dict[str, Row] = {}
    for row in wrong:
        worst.setdefault(row["provider"], row)
    return [
        {"name": name, "level": found["level"] if found else "calm", "text": found["text"] if found else "no trouble"}
        for name in sorted(row["name"] for row in providers)[:MOST_SQUARES]
        for found in [worst.get(name)]
        if len(providers) >= FEWEST_SQUARES
    ]


def _ordered(providers: Sequence[Row], wrong: Sequence[Row]) -> Sequence[Row]:
    """Return many providers with those in trouble first, a few by name."""
    if len(providers) <= MANY_PROVIDERS:
        return providers
    worst: dict[str, int] = {}
    for row in wrong:
        worst[row["provider"]] = min(worst.get(row["provider"], 2), 0 if row["level"] == BAD else 1)
    return sorted(providers, key=lambda row: (worst.get(row["name"], 2), row["name"]))


def _nodes(reading: TreeReading) -> list[dict[str, Any]]:
    """Return the fields that a search uses; the other fields are made only for the few nodes that are shown."""
    return [found.fact(_node) for found in reading.below(paths.NODES)]


def _node(found: Found) -> dict[str, Any]:
    document = found.document
    state, labels, provider = text(document.get("state")), words(document.get("type")), text(document.get("provider"))
    problems = []
    if state not in NodeState.ALL or not labels or not provider:
        problems = ageless_row(found)[0]["problems"]
    return {
        "id": found.name,
        "state": state or "unknown",
        "labels": labels,
        "provider": provider,
        "request": text(document.get("allocated_to")),
        "problems": problems,
    }


def _label(row: Row) -> dict[str, Any]:
    other = sum(count for state, count in row["nodes"].items() if state not in SHOWN_STATES)
    return {**row, "other": other, "total": sum(row["nodes"].values())}


def _builders(reading: TreeReading, now: float) -> list[dict[str, Any]]:
    """Return the builders, sorted by host."""
    notes = [BuilderNote.from_document(found.document) for found in reading.below(f"{paths.OWN}/{BUILDER_NOTES}")]
    rows = [
        {"id": note.builder_id, "host": note.host, "seen_age": age(note.seen, now)}
        for note in notes
        if note is not None
    ]
    return sorted(rows, key=lambda row: (row["host"], row["id"]))


def parts(found: Overview, search: str = "") -> dict[str, Any]:
    """Return the parts with the rows that are shown.

    :param search: text that a row must contain, in any case of letters; "" for all rows.
    """
    wanted = search.casefold()
    waiting = [row for row in found.requests if row["state"] == RequestState.REQUESTED]
    busy = [row for row in found.labels if row["nodes"] or row["wanted"] or row["min_ready"]]
    states = Counter(known_state(row["state"], RequestState.ALL) for row in found.requests)
    return {
        "troubles": _part(found.troubles, wanted, ("where", "text", "provider", "subject", "remedy")),
        "providers": _part(found.providers, wanted, ("name", "cloud", "acted_for_by", "pools"), MOST_PROVIDERS),
        "compact": len(found.providers) > MANY_PROVIDERS,
        "squares": found.squares if not wanted else (),
        "queue": _part(waiting, wanted, ("id", "labels", "requestor", "tenant", "reason")),
        "labels": _part(busy if not wanted else found.labels, wanted, ("label", "pools")),
        "idle_labels": len(found.labels) - len(busy) if not wanted else 0,
        "images": _part(found.images, wanted, ("image", "providers")),
        "failures": _part(found.failures, wanted, ("where", "text", "provider")),
        "stuck": _part(found.stuck, wanted, ("provider", "what", "node", "answer")),
        "leaks": _part(found.leaks, wanted, ("provider", "what", "answer")),
        "odd": _part(found.odd, wanted, ("id", "text")),
        "builders": found.builders,
        "nodes": _part(found.nodes, wanted, ("id", "labels", "provider")) if wanted else Part([], 0),
        "requests": _part(found.requests, wanted, ("id", "labels", "requestor", "tenant")) if wanted else Part([], 0),
        "node_states": found.node_states,
        "node_count": len(found.nodes),
        "request_states": states,
        "reasons": Counter(code_of(row) for row in waiting).most_common(8),
        "oldest_wait": max((row["created_age"] or 0.0 for row in waiting), default=None),
        "stale": sum(1 for row in found.images if row["stale"]),
    }


def code_of(row: Row) -> str:
    """Return the code of the reason why a request waits; ``unsaid`` when no launcher has stored a reason."""
    return (row["reason"]["code"] if row["reason"] else "") or "unsaid"


def _part(rows: Sequence[Row], wanted: str, keys: Sequence[str], most: int = MOST) -> Part:
    found = [row for row in rows if matches(row, wanted, keys)] if wanted else rows
    return Part(found[:most], len(found))


def matches(row: Row, wanted: str, keys: Iterable[str]) -> bool:
    """True when one of the fields contains *wanted*, which must be casefolded."""
    return any(wanted in told.casefold() for key in keys for told in _texts(row.get(key)))


def _texts(value: Any) -> Iterable[str]:
    """Yield the texts in a field: each item of a list, code and text of a reason, the name of a pool or provider."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("name", "provider", "code", "text", "labels"):
            yield from _texts(value.get(key))
