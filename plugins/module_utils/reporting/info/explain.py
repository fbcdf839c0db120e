# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Explain one request: its place, each pool's reason, the requests ahead, what ends the wait, and its history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import own_tree, owner, reasons
from ...model.documents import seconds, text, whole, words
from ...model.image import build_of_path
from ...model.launch import IN_FLIGHT, Launch
from ...model.lines import amount, joined, part_of, word_for
from ...model.reasons import Reason
from ...model.request import RequestState
from ...model.stored import BadDocument, is_number
from . import build_figures, gate_rows
from .expecting import PROVIDERS, expected_wait
from .fields import age, age_text
from .image_reading import changes_of
from .names import pool_documents
from .node_rows import adoption_text
from .request_rows import WAITS, said_now

DECLINES = paths.own(own_tree.DECLINES)
LAUNCHES = paths.own(own_tree.LAUNCHES)
BUILD_NOTES = paths.own(own_tree.BUILD_NOTES)
ROOTS = (paths.NODES, paths.IMAGES, WAITS, DECLINES, PROVIDERS, BUILD_NOTES, *build_figures.ROOTS, *gate_rows.ROOTS)
MOST_AHEAD = 10
UNSAID = "unsaid"
"""The code of a pool of this collection that has no reason about a request."""
OURS = "stackci-PoolWorker."
"""The prefix of the ids of pools of this collection's launchers."""

_NOBODY = "no launcher serves it now"
_RAISED = "its limit in tenant-resource-limits is raised"
ENDS = {
    reasons.NO_ROOM: "nodes are released, or the limit of the pool or the quota of the cloud is raised",
    reasons.TENANT_LIMIT: f"nodes of the tenant are released, or {_RAISED}",
    reasons.CONCURRENCY: "launches in progress end, or max-concurrency of the provider is raised",
    reasons.BUILDING: "servers that the cloud is building become ACTIVE",
    reasons.IMAGE_BUILDING: "the builder finishes the build or the upload of the image",
    reasons.IMAGE_GONE: "the image is reactivated or uploaded again (uploads.yml)",
    reasons.BUILD_UNUSED: "another build is uploaded, or the decision is undone (state=restored of dib_image)",
    reasons.FOREIGN_FIRST: "the launcher of the other pool serves or declines it, or its pool pauses",
    reasons.FROZEN: "the freeze ends, or room is seen in the cloud",
    reasons.NOT_ACTING: "a launcher that serves the provider is started",
    reasons.FACTS_UNREAD: "the first answers of the cloud arrive",
    reasons.UNCONFIRMED: "a second reading of the limits of the cloud",
    reasons.PROVIDER_TROUBLE: "the API of the cloud works again",
    reasons.STARTING: "earlier launches reach the cloud",
    reasons.BREAKER: "the breaker closes: the image and the flavor can be launched again",
    reasons.UNANSWERED: "nova answers the create, or lists its server",
    reasons.SLOW_BOOT: "nova makes its server ACTIVE, or launch-timeout ends the attempt",
    reasons.RETRYING: "the next attempt succeeds",
}
"""Reason of a wait → what ends it."""


def explanation(reading: TreeReading, rows: Sequence[Mapping[str, Any]], request_id: str, now: float) -> dict[str, Any]:
    """Return everything that is known about a request.

    :param rows: all requests in the order in which they are served.
    """
    row = next(item for item in rows if item["id"] == request_id)
    wait, nodes = reading.one(f"{WAITS}/{request_id}"), nodes_of(reading, request_id)
    reason = row["reason"] if row["state"] != RequestState.FULFILLED else None
    launches = [_launch_row(reading, node, now) for node in nodes]
    waiting, unserved = row["state"] == RequestState.REQUESTED, row["state"] not in RequestState.FINISHED
    figures = wait.document if wait is not None else {}
    if row["state"] == RequestState.PENDING and reason is None:
        reason, figures = _failed_attempt(launches)
    pools = [_pool_row(pool, reading, row, figures, now) for pool in _pools(reading)]
    moves = _past(reading, request_id, "taken_back")
    seconds_left, basis = expected_wait(row, rows, reason, launches, reading, now)
    return {
        "id": request_id,
        "state": row["state"],
        "summary": _summary(row, reason, launches),
        "place": row["place"],
        "ahead": [item["id"] for item in rows if waiting and _is_ahead(item, row)][:MOST_AHEAD],
        "ahead_count": sum(1 for item in rows if waiting and _is_ahead(item, row)),
        "behind": _behind(reading, rows, row, figures) if waiting else [],
        "waits_for": reason["text"] if unserved and reason else None,
        "since": reason["since"] if unserved and reason else None,
        "owner": _owner(reason, figures) if reason else None,
        "providers": sorted({launch["provider"] for launch in launches if launch["provider"]}),
        "attempts": sum(launch["attempt"] or 0 for launch in launches) + _sum(moves, "attempts"),
        "moves": len(moves),
        "thrown_away": sum(launch["thrown_away"] for launch in launches) + _sum(moves, "thrown"),
        "unblocked_by": _end(reason["code"], figures, pools) if unserved and reason else None,
        "pools": pools,
        "nodes": launches,
        "history": _history(row, reading, reason, launches, now),
        "builds": _builds(reading, nodes, now),
        "expected_seconds": seconds_left,
        "expected": basis,
    }


def _failed_attempt(launches: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any] | None, Mapping[str, Any]]:
    """Return the reason and its figures by the first launch whose latest attempt failed and that has no other yet."""
    launch = next((item for item in launches if item["trouble"] and item["in_flight"]), None)
    if launch is None:
        return None, {}
    figures = {"where": launch["provider"] or "?", "text": launch["trouble"], "owner": launch["owner"]}
    why = Reason(reasons.RETRYING, figures)
    reason = {"code": why.code, "text": why.text(), "since": None, "age": None}
    return reason, why.document()


def _builds(reading: TreeReading, nodes: Iterable[Found], now: float) -> list[str]:
    """Return a sentence about each build in trouble where nodes of the request are made: of those that they are made
    from, of those that are not used for them, and of the newest one when it is tested."""
    found: dict[str, None] = {}
    for node in nodes:
        place, provider = build_of_path(text(node.document.get("image_id"))), text(node.document.get("provider"))
        if place is not None and provider:
            trouble = build_figures.trouble_with(reading, *place, provider, now)
            changes = changes_of(reading, *place) if trouble else None
            found[f"{trouble}; {changes}" if changes else trouble] = None
            found |= dict.fromkeys(build_figures.troubles_at(reading, place[0], provider, now))
            found[gate_rows.gate_sentence(reading, provider, place[0])] = None
    return [told for told in found if told]


def _sum(items: Iterable[Mapping[str, Any]], key: str) -> int:
    return sum(int(item[key]) for item in items if is_number(item.get(key)))


def _owner(reason: Mapping[str, Any], figures: Mapping[str, Any]) -> str | None:
    """Return whose fault it is that the request waits or has failed; None if nothing stored tells it."""
    told = [Reason(str(item.get("code")), item) for item in (*_documents(figures.get("reasons")), figures)]
    # That other pools do not offer the label is nobody's fault if one does.
    offering = [item for item in told if item.code != reasons.LABEL_UNKNOWN] or told
    known = [item.owner for item in offering if item.owner is not None]
    return owner.foremost(known) if known else Reason(reason["code"]).owner


def _end(code: str, figures: Mapping[str, Any], pools: Iterable[Mapping[str, Any]]) -> str | None:
    """Return what would end the wait, the start of a launcher included when no launcher acts."""
    ends = _end_of_reason(code, figures)
    able = [pool for pool in pools if not pool["declined"] and pool["code"] != reasons.LABEL_UNKNOWN]
    if ends is None or code == reasons.NOT_ACTING or not able or any(pool["registered"] for pool in able):
        return ends
    return f"a launcher is started; then: {ends}"


def _end_of_reason(code: str, figures: Mapping[str, Any]) -> str | None:
    needed: Any = figures.get("needed")
    limit: Any = figures.get("limit")
    if code == reasons.TENANT_LIMIT and is_number(needed) and is_number(limit) and needed > limit:
        return _RAISED
    return ENDS.get(code)


def nodes_of(reading: TreeReading, request_id: str) -> list[Found]:
    """Return the nodes that belong to a request."""
    return [found for found in reading.below(paths.NODES) if found.document.get("allocated_to") == request_id]


def launch_path(node_id: str) -> str:
    """Return the path of a node's launch record."""
    return f"{LAUNCHES}/{paths.segment(node_id)}"


def _is_ahead(item: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return item["place"] is not None and row["place"] is not None and item["place"] < row["place"]


def _summary(row: Mapping[str, Any], reason: Mapping[str, Any] | None, launches: Sequence[Mapping[str, Any]]) -> str:
    state = row["state"]
    if state == RequestState.REQUESTED:
        why = f": {reason['text']}" if reason else "; no launcher has given a reason"
        return f"it waits at place {row['place']} in the queue{why}"
    if state == RequestState.PENDING:
        ready = sum(1 for launch in launches if launch["state"] == "ready")
        why = f"; {reason['text']}" if reason else ""
        return f"a launcher works on it: {part_of(ready, len(row['labels']), 'node')} ready{why}"
    if state == RequestState.FULFILLED:
        nodes = row["nodes"]
        them = word_for(len(nodes), "it", "them")
        named = f"{word_for(len(nodes), 'node')} {joined(nodes)}"
        return f"it is fulfilled with {named if nodes else 'no node'}; its requestor has not locked {them} yet"
    if state == RequestState.FAILED:
        return "it failed" + (f": {reason['text']}" if reason else "")
    return "its record has no state"


# -- the pools -------------------------------------------------------------------------------------------------------


def _pools(reading: TreeReading) -> list[Mapping[str, Any]]:
    """Return all known pools, sorted by id, with *registered*: whether they are registered now."""
    known: dict[str, Mapping[str, Any]] = {}
    for found, registered in pool_documents(reading):
        pool_id = text(found.document.get("id")) if registered else found.name
        if pool_id and not found.problem:
            known[pool_id] = {**found.document, "id": pool_id, "registered": registered}
    return [known[pool_id] for pool_id in sorted(known)]


def reasons_of_pools(reading: TreeReading, row: Mapping[str, Any], now: float) -> list[dict[str, Any]]:
    """Return what each pool that offers the labels of a request says about it.

    :param row: the row of the request.
    """
    wait = reading.one(f"{WAITS}/{row['id']}")
    figures = wait.document if wait is not None else {}
    rows = [_pool_row(pool, reading, row, figures, now) for pool in _pools(reading)]
    return [pool for pool in rows if pool["code"] != reasons.LABEL_UNKNOWN]


def _pool_row(
    pool: Mapping[str, Any], reading: TreeReading, row: Mapping[str, Any], wait: Mapping[str, Any], now: float
) -> dict[str, Any]:
    """Return the row of a pool: its reason about a request."""
    where = f"{text(pool.get('provider_name')) or '?'}/{text(pool.get('name')) or '?'}"
    code, said, figures = _verdict(pool, where, reading, row, wait, now)
    return {
        "id": pool["id"],
        "pool": where,
        "registered": pool["registered"],
        "declined": pool["id"] in row["declined_by"],
        "code": code,
        "text": said,
        "figures": figures,
        "as_of": age(seconds(wait.get("at")), now) if figures else None,
    }


def _verdict(
    pool: Mapping[str, Any],
    where: str,
    reading: TreeReading,
    row: Mapping[str, Any],
    wait: Mapping[str, Any],
    now: float,
) -> tuple[str, str, dict[str, Any]]:
    """Return code, sentence and figures of a pool's reason."""
    if pool["id"] in row["declined_by"]:
        declined = [item for item in _past(reading, row["id"], "reasons") if item.get("where") == where]
        why = "; ".join(str(item.get("text")) for item in declined) or "it declined without a reason"
        return next((str(item.get("code")) for item in declined), "declined"), why, {}
    lacking = sorted(set(row["labels"]) - set(words(pool.get("supported_labels"))))
    if lacking:
        return reasons.LABEL_UNKNOWN, f"{where} does not offer {', '.join(lacking)}", {}
    for item in (*_documents(wait.get("pools")), wait):
        if item.get("pool", item.get("where")) == where and item.get("code"):
            figures = {key: value for key, value in item.items() if is_number(value) and key not in ("since", "at")}
            said = said_now(item, age(seconds(wait.get("at")), now))
            return str(item["code"]), said if pool["registered"] else f"{said}; {_NOBODY}", figures
    if not pool["registered"]:
        return "absent", f"no launcher serves {where} now", {}
    if not pool["id"].startswith(OURS):
        paused = ", and is paused" if pool.get("paused") is True else ""
        return "foreign", f"{where} belongs to another launcher, which stores no reasons{paused}", {}
    return UNSAID, f"{where} has stored nothing about it", {}


def _past(reading: TreeReading, request_id: str, key: str) -> list[dict[str, Any]]:
    """Return the stored entries of pools that declined the request (*reasons*) or made no progress (*taken_back*)."""
    found = reading.one(f"{DECLINES}/{request_id}")
    return _documents(found.document.get(key)) if found is not None else []


def _documents(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _behind(
    reading: TreeReading, rows: Iterable[Mapping[str, Any]], row: Mapping[str, Any], wait: Mapping[str, Any]
) -> list[str]:
    """Return the earlier requests that wait for the same pool or tenant."""
    key = "tenant" if wait.get("code") == reasons.TENANT_LIMIT else "where"
    wanted = wait.get(key)
    found = []
    for item in rows:
        other = reading.one(f"{WAITS}/{item['id']}") if _is_ahead(item, row) else None
        if wanted and other is not None and other.document.get(key) == wanted:
            found.append(str(item["id"]))
    return found[:MOST_AHEAD]


# -- what happened ----------------------------------------------------------------------------------------------------


def _launch_row(reading: TreeReading, node: Found, now: float) -> dict[str, Any]:
    """Return the row of a node of the request with its launch."""
    found = reading.one(launch_path(node.name))
    try:
        launch = Launch.from_document(found.document) if found is not None else None
    except BadDocument:
        launch = None
    return {
        "id": node.name,
        "provider": text(node.document.get("provider")),
        "state": text(node.document.get("state")),
        "phase": launch.phase if launch else None,
        "phase_age": age(launch.since, now) if launch else None,
        "attempt": launch.attempt if launch else None,
        "failures": list(launch.failures) if launch else [],
        "trouble": launch.trouble or None if launch else None,
        "owner": launch.owner or None if launch and launch.trouble else None,
        "thrown_away": launch.thrown if launch else 0,
        "created_at": launch.created_at if launch else None,
        "in_flight": launch.phase in IN_FLIGHT if launch else False,
        "adopted": launch.adopted if launch else 0,
        "adopted_at": launch.adopted_at if launch else None,
    }


def _history(
    row: Mapping[str, Any],
    reading: TreeReading,
    reason: Mapping[str, Any] | None,
    launches: Iterable[Mapping[str, Any]],
    now: float,
) -> list[dict[str, Any]]:
    """Return the events, the earliest first. An event without a time stays with those that it belongs to."""
    ordered: list[tuple[float, list[dict[str, Any]]]] = []
    for group in _events(row, reading, reason, launches, now):
        before = ordered[-1][0] if ordered else math.inf
        ordered.append((max((item["age"] for item in group if item["age"] is not None), default=before), group))
    return [event for _age, group in sorted(ordered, key=lambda item: -item[0]) for event in group]


def _events(
    row: Mapping[str, Any],
    reading: TreeReading,
    reason: Mapping[str, Any] | None,
    launches: Iterable[Mapping[str, Any]],
    now: float,
) -> Iterator[list[dict[str, Any]]]:
    """Yield the events that belong together, in the usual order."""

    def event(name: str, since: float | None, sentence: str) -> dict[str, Any]:
        return {"event": name, "age": since, "age_text": age_text(since), "text": sentence}

    yield [event("requested", row["created_age"], f"requested by {row['requestor'] or 'a requestor without a name'}")]
    for item in _past(reading, row["id"], "reasons"):
        yield [event("declined", None, str(item.get("text")))]
    for item in _past(reading, row["id"], "taken_back"):
        since = age(seconds(item.get("at")), now)
        thrown = whole(item.get("thrown")) or 0
        lost = f"; {amount(thrown, 'create or server', 'creates or servers')} of it abandoned" if thrown else ""
        yield [event("taken back", since, f"the launcher took it back from {text(item.get('where')) or '?'}{lost}")]
    if reason is not None and row["state"] not in RequestState.FINISHED:
        yield [event("waits", age(reason["since"], now), reason["text"])]
    if row["state"] == RequestState.PENDING:
        yield [event(RequestState.PENDING, row["age"], "its record says pending")]
    for launch in launches:
        told = [event("attempt failed", None, f"node {launch['id']}: {failure}") for failure in launch["failures"]]
        if launch["adopted"]:
            since, often = age(launch["adopted_at"], now), adoption_text(launch["adopted"])
            told.append(event("adopted", since, f"node {launch['id']}: {often}"))
        phase = f", phase {launch['phase']}" if launch["phase"] not in (None, launch["state"]) else ""
        attempt = f", attempt {launch['attempt']}" if launch["phase"] else ""
        since = launch["phase_age"]
        now_is = event("node", since, f"node {launch['id']} is {launch['state']}{phase}{attempt}")
        # An adoption comes after the failures before it, and before or after the phase began.
        if since is not None and told and told[-1]["age"] is not None and told[-1]["age"] < since:
            told.insert(-1, now_is)
        else:
            told.append(now_is)
        yield told
    if row["state"] not in (RequestState.REQUESTED, RequestState.PENDING):
        yield [event(str(row["state"]), row["age"], f"its record says {row['state']}")]
