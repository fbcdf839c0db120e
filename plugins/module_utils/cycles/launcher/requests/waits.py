# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stores why requests wait or were declined; the explanation of a request reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....launching.actions import PoolReason, Wait
from ....model import reasons
from ....model.lines import Line, Subject, Trouble
from ....model.own_tree import DECLINES, WAITS
from ....model.reasons import Reason
from ....model.request import NodeRequest, RequestState
from ....model.stored import BadDocument, is_number
from ....model.subjects import subject_of_request
from ..context.context import Context
from ..provider.usage import SECOND_READING

MOST_TAKEN_BACK = 10
"""Largest number of stored entries about pools from which one request was taken back; the oldest are dropped first."""
WAIT_NEWS_EVERY = 60.0
"""Seconds after which changed figures of the same reason are written again."""
OTHERS_REASON_HOLDS = 3 * WAIT_NEWS_EVERY
"""Seconds for which a launcher that does not act for a request keeps the reason that an acting launcher has stored."""
FOR_ROOM = frozenset({reasons.NO_ROOM, reasons.FROZEN, reasons.TENANT_LIMIT})
PASSING = frozenset({reasons.FACTS_UNREAD, reasons.STARTING})
"""Reasons that mostly last only a moment. They are not stored before they have lasted."""
LASTS = 5.0
"""Seconds after which such a reason is stored: an older one that is stored is not true any more."""
NO_ANSWER_YET = frozenset({reasons.NOT_ACTING, reasons.FACTS_UNREAD})
"""Reasons that tell less than what another launcher has stored."""
FIRST_WORDS = frozenset({reasons.FACTS_UNREAD, reasons.UNCONFIRMED})
"""Reasons of a pool that are stored again at once when they end; figures of other reasons may be older."""


class Waits:
    """The reasons why the requests of this cycle wait, by the latest plan.

    :ivar for_room: True while one of them waits for room.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._news: dict[str, float] = {}
        self._first_words: dict[str, set[tuple[str, str]]] = {}
        """By request: which pools these are stored of."""
        self._passing: dict[str, float] = {}
        """By request: since when it waits for a reason that mostly lasts only a moment."""
        self.for_room = False

    def publish(self, waits: Sequence[Wait], now: float) -> set[str]:
        """Take the waits of a new plan; a change of the reason is stored at once, changed figures only rarely.

        :return: ids of the pools that have no room for the waiting requests.
        """
        context = self._context
        current = {wait.request_id for wait in waits}
        for request_id in [key for key in context.account.waiting_for if key not in current]:
            forget_wait(context, request_id)
        self.for_room = any(wait.reason.code in FOR_ROOM for wait in waits)
        paused: set[str] = set()
        for wait in waits:
            stored = self._is_stored(wait, now)
            news = context.account.wait(wait.request_id, wait.reason, stored=stored)
            if wait.reason.code == reasons.UNCONFIRMED:
                context.actors[wait.reason.figures["where"]].capacity.want(now, SECOND_READING)
            elif wait.reason.code == reasons.NO_ROOM:
                where = wait.reason.figures["where"]
                paused.update(key for (p, n), key in context.pool_ids.items() if f"{p}/{n}" == where)
            if stored:
                self._write(wait, news, now)
        self._passing = {key: since for key, since in self._passing.items() if key in current}
        return paused

    def _is_stored(self, wait: Wait, now: float) -> bool:
        """Return True unless the reason is one that mostly lasts only a moment, and has not lasted longer so far."""
        if wait.reason.code in PASSING:
            return now - self._passing.setdefault(wait.request_id, now) >= LASTS
        self._passing.pop(wait.request_id, None)
        return True

    def _write(self, wait: Wait, news: bool, now: float) -> None:
        first = {(where, reason.code) for where, reason in wait.pools if reason.code in FIRST_WORDS}
        over = self._first_words.get(wait.request_id, set()) - first
        if not news and not over and now - self._news.get(wait.request_id, 0.0) < WAIT_NEWS_EVERY:
            return
        self._first_words[wait.request_id] = first
        self._news[wait.request_id] = now
        write_reason(self._context, wait.request_id, wait.reason, wait.pools, now)
        if news:
            self._say(wait)

    def _say(self, wait: Wait) -> None:
        request = self._context.store.requests.get(wait.request_id)
        provider, _slash, pool = str(wait.reason.figures.get("where") or "").partition("/")
        event = request.event_id if request is not None else None
        about = Subject(request=wait.request_id, event_id=event, provider=provider, pool=pool)
        self._context.account.say(Line(f"request {wait.request_id} waits: {wait.reason.text()}", **about))

    def forget(self) -> None:
        """Remove the reasons of requests that are gone."""
        store = self._context.store
        known = store.requests.view().records
        for folder in (WAITS, DECLINES):
            for request_id in store.own.children(folder):
                # Another launcher may have stored the reasons of a new request before this one knows the request.
                if request_id not in known and store.requests.read(request_id) is None:
                    store.own.delete(f"{folder}/{request_id}")


def write_reason(context: Context, request_id: str, why: Reason, pools: Sequence[PoolReason], now: float) -> None:
    """Store why a request waits, unless its failure is stored, or a launcher that acts for it has told more."""

    def renewed(found: Mapping[str, Any] | None) -> dict[str, Any] | None:
        before = found or {}
        if _has_failed(before) or (why.code in NO_ANSWER_YET and _is_told_better(context, before, now)):
            return None
        reason = why.document()
        same = all(before.get(key) == reason.get(key) for key in ("code", "where")) and is_number(before.get("since"))
        told = [{**item.document(), "pool": where} for where, item in pools]
        return {**reason, "pools": told, "since": before["since"] if same else now, "at": now}

    context.store.own.change(f"{WAITS}/{request_id}", renewed)


def _has_failed(before: Mapping[str, Any]) -> bool:
    """Return True for the reason of a failure, which stays until the request is gone."""
    return before.get("code") == RequestState.FAILED


def _is_told_better(context: Context, before: Mapping[str, Any], now: float) -> bool:
    """Return True if a launcher has recently stored more: one that acts for another provider, or what a cloud lacks."""
    at: Any = before.get("at")
    told = before.get("code") != reasons.NOT_ACTING and is_number(at) and now - at < OTHERS_REASON_HOLDS
    others = str(before.get("where")).partition("/")[0] not in context.actors
    return told and (others or before.get("code") == reasons.PROVIDER_TROUBLE)


def forget_wait(context: Context, request_id: str) -> None:
    """Remove the reason of a request that does not wait any more, but not the reason of its failure."""
    context.account.forget_wait(request_id)
    own, path = context.store.own, f"{WAITS}/{request_id}"
    if not _has_failed(own.get(path) or {}):
        own.delete_as_known(path)


def _past_reasons(document: Mapping[str, Any]) -> list[Any]:
    found = document.get("reasons", [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise BadDocument("'reasons' is not a list of objects")
    return found


def all_reasons(context: Context, request_id: str, why: Iterable[Reason]) -> list[dict[str, Any]]:
    """Return why a request is declined, together with why others have declined it; causes come first."""
    past = context.store.own.understood(f"{DECLINES}/{request_id}", _past_reasons) or []
    return _joined(past, why)


def store_reasons(context: Context, request_id: str, why: Sequence[Reason]) -> list[dict[str, Any]]:
    """Add to the stored reasons of a request; return all of them as documents.

    Launchers on several hosts may decline it at the same time: each keeps the reasons that others have stored.
    """
    documents: list[dict[str, Any]] = []

    def add(before: dict[str, Any] | None) -> dict[str, Any]:
        try:
            past = _past_reasons(before or {})
        except BadDocument:
            past = []
        documents[:] = _joined(past, why)
        return {**(before or {}), "reasons": documents}

    context.store.own.change(f"{DECLINES}/{request_id}", add)
    return documents


def _joined(past: Iterable[dict[str, Any]], why: Iterable[Reason]) -> list[dict[str, Any]]:
    return reasons.causes_first([*past, *(reason.document() for reason in why)])


def store_taken_back(context: Context, request_id: str, where: str, thrown: int, attempts: int) -> None:
    """Store that a request was taken back from a pool that made no progress with it.

    :param thrown: how many creates or servers of it were given up.
    :param attempts: how many attempts its launches made there.
    """
    now = context.now()

    def add(document: dict[str, Any] | None) -> dict[str, Any]:
        before = (document or {}).get("taken_back")
        item = {"where": where, "at": now, "thrown": thrown, "attempts": attempts}
        told = [*(before if isinstance(before, list) else ()), item]
        return {**(document or {}), "taken_back": told[-MOST_TAKEN_BACK:]}

    context.store.own.change(f"{DECLINES}/{request_id}", add)


def moves_of(context: Context, request_id: str) -> list[float]:
    """Return the UNIX times at which a request was taken back and servers were given up."""
    return [at for _where, at in _moves(context, request_id)]


def departures_of(context: Context, provider: str) -> list[float]:
    """Return the UNIX times at which open requests were taken back from a provider and servers were given up."""
    moves = (move for request_id in context.store.own.children(DECLINES) for move in _moves(context, request_id))
    return [at for where, at in moves if where.partition("/")[0] == provider and at <= context.now()]


def _moves(context: Context, request_id: str) -> list[tuple[str, float]]:
    document = context.store.own.get(f"{DECLINES}/{request_id}") or {}
    found = document.get("taken_back")
    items = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return [
        (str(item.get("where")), float(item["at"]))
        for item in items
        if item.get("thrown") and is_number(item.get("at"))
    ]


def store_end(context: Context, request: NodeRequest, outcome: str, documents: list[dict[str, Any]]) -> None:
    """Store why a request was declined or has failed: its own document has no field for a reason."""
    text = reasons.cause(documents) or "no pool offers its labels"
    context.store.own.put(f"{WAITS}/{request.id}", {"code": outcome, "text": text, "reasons": documents})
    context.account.say(Trouble(f"request {request.id}: {outcome}: {text}", **subject_of_request(request)))
