# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a tree as lines of plain text: an overview on one screen, or details of one request or node."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...launching.call_shares import flaps
from ...model.bounded_text import printable
from ...model.config.types import NodepoolConfig
from ...model.lines import amount, span, word_for
from ...model.node import NodeState
from ...model.owner import sentence_of
from ...model.request import RequestState
from ...model.resources import INSTANCES
from . import explain, image_list, labels, providers
from .attention import RowsOf, attention
from .causes import BAD, UNTOLD, ends
from .fields import known_state
from .image_lines import image_lines
from .image_list import image_rows
from .labels import label_rows
from .lease_rows import ROOT as LEASES
from .lease_rows import lease_rows
from .names import LAUNCHERS
from .node_rows import odd_row
from .providers import provider_rows
from .request_rows import request_rows
from .unused_files import ROOT as FILES
from .usage_budgets import budget_rows
from .usage_rows import ROOTS as USAGE

_OTHER_ROOTS = (paths.REQUESTS, *image_list.ROOTS, FILES, LEASES)
_ROOTS = (*providers.ROOTS, *explain.ROOTS, *LAUNCHERS, *_OTHER_ROOTS)
LOCKS: tuple[str, ...] = ()
"""The screen shows nothing that depends on the lock of a node or a request."""
BAR = 20
MOST_ROWS = 8
"""Number of rows shown in a part; the others are only counted."""
MOST_FAILED = 3
"""Number of failed requests shown, the latest ones."""


def roots_of(config: NodepoolConfig) -> list[str]:
    """Return the folders of the tree that the screen, and the text about a request or a node, are made from."""
    return list(dict.fromkeys((*_ROOTS, *(USAGE if config.usage_budgets else ()))))


def status_lines(
    config: NodepoolConfig, reading: TreeReading, now: float, width: int, file_problems: Sequence[str] = ()
) -> list[str]:
    """Return the overview on one screen.

    :param width: columns of the screen; no line is longer.
    :param file_problems: what is wrong with the files, while *config* is the last valid configuration.
    """
    leases = lease_rows(reading, now, config.max_hold_age)
    reading = reading.kept({paths.NODES: (providers.kind_of_node, labels.kind_of_node, _state, odd_row)})
    requests, known = request_rows(reading, now), provider_rows(config, reading, now)
    offered = label_rows(config, reading, now, requests)
    states = Counter(reading.facts(paths.NODES, _state))
    nothing = ["nothing"]
    images, budgets = image_rows(config, reading, now), budget_rows(config, reading, now)
    wrong = attention(reading, now, RowsOf(known, images, offered, requests, budgets), file_problems, config)
    # A title with counts needs no line that says there is nothing to show.
    parts = {
        f"ATTENTION {len(wrong) or 'none'}": _attention(wrong),
        "PROVIDERS (# ours, - others)": [line for row in known for line in _provider(row)] or nothing,
        f"NODES {_counts(states)}": _shortened(
            [f"{row['label']}: {_counts(row['nodes'])}" for row in offered if row["nodes"]]
        ),
        f"REQUESTS {_counts(Counter(known_state(row['state'], RequestState.ALL) for row in requests))}": [
            *_shortened([_waiting(row) for row in requests if row["state"] == RequestState.REQUESTED]),
            *_shortened([_failed(row) for row in _latest(requests, RequestState.FAILED)], MOST_FAILED),
        ],
        **({f"LEASES {len(leases)}": _shortened([_lease(row) for row in leases])} if leases else {}),
        "IMAGES": list(image_lines(config, reading, now)) or nothing,
        "STUCK": _shortened(
            [
                *_stuck(known),
                *_odd("node", filter(None, reading.facts(paths.NODES, odd_row))),
                *_odd("request", requests),
            ]
        )
        or nothing,
    }
    lines = [line for title, body in parts.items() for line in (title, *(f"  {item}" for item in body))]
    return wrapped(lines, width)


def _attention(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is wrong; below each row the remedy, the command, and what each pool says of the oldest request."""
    lines: list[str] = []
    for row in rows[:MOST_ROWS]:
        lines += [_wrong(row), f"  {_remedy(row)}", *(f"    {said}" for said in row["pools"])]
    return [*lines, *([f"and {len(rows) - MOST_ROWS} more"] if len(rows) > MOST_ROWS else [])]


def _wrong(row: Mapping[str, Any]) -> str:
    since = f", for {span(row['age'])}" if row["age"] is not None else ""
    left = f", {ends(row)} {span(row['ends_in'])}" if row["ends_in"] is not None else ""
    whose = f" [owner: {row['owner']}]" if row["owner"] else ""
    return f"{'!' if row['level'] == BAD else '-'} {row['where']}: {row['text']}{whose}{since}{left}"


def _remedy(row: Mapping[str, Any]) -> str:
    return f"{row['remedy']}: {row['command']}" if row["command"] else str(row["remedy"])


def _state(node: Found) -> str:
    return known_state(node.document.get("state"), NodeState.ALL)


def fitted(line: str, width: int) -> str:
    """Cut the line to *width* columns, and replace characters that would control a terminal."""
    flat = printable(line).rstrip()
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def wrapped(lines: Iterable[str], width: int) -> list[str]:
    """Wrap the lines to *width* columns, and replace characters that would control a terminal."""
    parts = []
    for line in lines:
        flat = fitted(line, len(line))
        indent = " " * (len(flat) - len(flat.lstrip()) + 2)
        parts += textwrap.wrap(flat, width, subsequent_indent=indent, break_on_hyphens=False)
    return parts


def _shortened(lines: Sequence[str], most: int = MOST_ROWS) -> list[str]:
    more = len(lines) - most
    return [*lines[:most], *([f"and {more} more"] if more > 0 else [])]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


def _lease(row: Mapping[str, Any]) -> str:
    """Return ``mine: 1 of 1 node, 58 min left; alice: bisects the boot failure``."""
    left = "" if row["expires_in"] is None else f", {span(row['expires_in'])} left"
    who = ": ".join(part for part in (row["owner"], row["reason"]) if part)
    return f"{row['name']}: {row['held']} of {amount(row['wanted'], 'node')}{left}{f'; {who}' if who else ''}"


# -- parts -----------------------------------------------------------------------------------------------------------


def _provider(row: Mapping[str, Any]) -> Iterator[str]:
    who = f"served by {', '.join(row['acted_for_by']) or 'a host that has registered no pool'}"
    nobody = "no launcher; commands with --launch serve it" if row["by_commands"] else "no launcher"
    other = f"served by another launcher on {', '.join(row['acted_for_by'])}" if row["acted_for_by"] else nobody
    notes = ["not in the configuration"] if not row["configured"] else []
    notes += ["draining"] if row["draining"] else []
    if row["standing_by"]:
        notes.append(f"{', '.join(row['standing_by'])} {word_for(len(row['standing_by']), 'stands', 'stand')} by")
    if not row["acting"] and row["reading_age"] is not None:
        notes.append(f"limits read {span(row['reading_age'])} ago")
    yield ", ".join([f"{row['name']}: {who if row['acting'] else other}", *notes, *_health(row)])
    yield from (f"  {_bar(item)}" for item in row["resources"] if _tells(item))
    for breaker in row["breakers"]:
        what = f"{breaker['image']} with {breaker['flavor']}, {amount(breaker['failures'], 'failure', 'failures')}"
        yield f"  breaker: {what}, next try in {span(breaker['ends_in'])}{_said(breaker)}"
    for pool in row["pools"]:
        yield f"  pool {pool['name']}: {_counts(pool['nodes'])}{', paused' if pool['paused'] else ''}"
        yield from (f"    {_bar(item)}" for item in pool["resources"] if _tells(item))
        for freeze in pool["freezes"]:
            yield f"    frozen: {freeze['resource']}, next try in {span(freeze['ends_in'])}{_said(freeze)}"


def _health(row: Mapping[str, Any]) -> Iterator[str]:
    health = row["health"]
    if flaps(row["calls"], row["failed_calls"]):
        yield f"{row['failed_calls']} of {amount(row['calls'], 'call')} of the last hour failed"
    if health is not None and health["state"] != "ok":
        since = f" for {span(health['age'])}" if health["age"] is not None else ""
        whose = f" ({health['owner']})" if health["owner"] else ""
        yield f"in trouble{since}{whose}{_said(health)}"


def _said(row: Mapping[str, Any]) -> str:
    return f": {row['text']}" if row["text"] else ""


def _tells(item: Mapping[str, Any]) -> bool:
    """True when a resource gets a bar: instances with a limit, and resources of which half or more is used."""
    limit = item["limit"]
    return limit is not None and (item["resource"] == INSTANCES or item["used"] + item["others"] >= limit / 2)


def _bar(item: Mapping[str, Any]) -> str:
    """``instances  [######----..........] 3+2 of 10``."""
    limit = item["limit"]
    ours, theirs = (
        round(BAR * min(1.0, max(0.0, item[key] / limit))) if limit > 0 else BAR for key in ("used", "others")
    )
    drawn = ("#" * ours + "-" * theirs)[:BAR].ljust(BAR, ".")
    others = f"+{item['others']:.12g}" if item["others"] else ""
    return f"{item['resource']:<12} [{drawn}] {item['used']:.12g}{others} of {limit:.12g}"


def _waiting(row: Mapping[str, Any]) -> str:
    waited = f" for {span(row['created_age'])}" if row["created_age"] is not None else ""
    return f"{row['place']}. {_request(row)}{waited}: {_why(row)}"


def _latest(rows: Iterable[Mapping[str, Any]], state: str) -> list[Mapping[str, Any]]:
    """Return the requests in that state, the one that entered it last first."""
    chosen = (row for row in rows if row["state"] == state)
    return sorted(chosen, key=lambda row: math.inf if row["age"] is None else row["age"])


def _failed(row: Mapping[str, Any]) -> str:
    since = f" {span(row['age'])} ago" if row["age"] is not None else ""
    return f"{_request(row)} failed{since}: {_why(row)}"


def _request(row: Mapping[str, Any]) -> str:
    return f"{row['id']} ({', '.join(row['labels'])})"


def _why(row: Mapping[str, Any]) -> str:
    return str(row["reason"]["text"]) if row["reason"] else "no launcher has given a reason"


def _stuck(known: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in known:
        for item in row["stuck"]:
            passed = f" for {span(item['age'])}" if item["age"] is not None else ""
            tries = amount(item["tries"], "try", "tries")
            what = f"{providers.name_of(item)} is not deleted{passed}, {tries}"
            yield f"{row['name']}: {what}: {item['answer'] or UNTOLD}"


def _odd(kind: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (f"record of {kind} {row['id']}: {'; '.join(row['problems'])}" for row in rows if row["problems"])


# -- one request or node ---------------------------------------------------------------------------------------------


def request_lines(told: Mapping[str, Any], width: int) -> list[str]:
    """Return an explanation of :mod:`explain` as text."""
    lines = [f"request {told['id']}: {told['summary']}"]
    over = told["state"] in RequestState.FINISHED
    if told["place"] is not None and told["waits_for"]:
        lines.append(
            f"before it in the queue: {told['ahead_count']}; for the same: {', '.join(told['behind']) or 'none'}"
        )
    if told["waits_for"]:
        lines.append(f"unblocked when: {told['unblocked_by'] or 'unknown'}")
    if told["owner"]:
        lines.append(f"responsible: {told['owner']}: {sentence_of(told['owner'], over=over)}")
    tries = [amount(told["attempts"], "attempt")] if told["attempts"] else []
    tries += [f"moved {amount(told['moves'], 'time')}"] if told["moves"] else []
    if tries or told["thrown_away"]:
        thrown = amount(told["thrown_away"], "create or server", "creates or servers")
        at = f"{', '.join(told['providers'])}: " if told["providers"] else ""
        lines.append(f"{at}{', '.join([*tries, f'{thrown} given up'])}")
    if not over:
        left = told["expected_seconds"]
        lines.append(f"expected wait: {span(left) + ', ' if left is not None else ''}{told['expected']}")
    open_or_failed = told["state"] in (RequestState.REQUESTED, RequestState.FAILED)
    pools = [f"  {pool['pool']}: {pool['text']}" for pool in told["pools"] if open_or_failed or pool["declined"]]
    lines += ["POOLS", *pools] if pools else []
    lines += ["BUILDS", *(f"  {text}" for text in told["builds"])] if told["builds"] else []
    lines += ["HISTORY", *(f"  {_ago(item)} {item['text']}" for item in told["history"])]
    return wrapped(lines, width)


def node_lines(row: Mapping[str, Any], life: Mapping[str, Any], width: int) -> list[str]:
    """Return a node's history as text."""
    where = "/".join(part for part in (row["provider"], row["pool"]) if part) or "an unknown provider"
    labels, lock = ", ".join(row["labels"]) or "unknown", "locked" if row["locked"] else "unlocked"
    lines = [
        f"node {row['id']}: {row['state'] or 'state unknown'} in {where}, labels {labels}, {lock}",
        f"server {life['server_id'] or 'none yet'}, attempt {life['attempt'] or '?'}, mark {life['mark'] or 'none'}",
        *(f"note: {told}" for told in row["problems"]),
    ]
    return wrapped([*lines, *_life(life)], width)


def gone_lines(node_id: str, life: Mapping[str, Any], width: int) -> list[str]:
    """Return the history of a deleted node as text."""
    lines = [f"node {node_id} is deleted", f"server {life['server_id'] or 'none'}, mark {life['mark'] or 'none'}"]
    return wrapped([*lines, *_life(life)], width)


def _life(life: Mapping[str, Any]) -> Iterator[str]:
    yield from [f"note: {life['problem']}"] if life["problem"] else []
    yield from (f"failed: {failure}" for failure in life["failures"])
    yield "LIFE"
    yield from (f"  {_ago(item)} {item['text']}" for item in life["steps"])


def _ago(item: Mapping[str, Any]) -> str:
    return f"{item['age_text'] or '':>11}"
