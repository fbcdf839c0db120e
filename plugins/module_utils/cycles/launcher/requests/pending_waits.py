# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stores why requests that a launcher has accepted make no progress, and removes the reason when they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ....model.own_tree import WAITS
from ....model.reasons import Reason
from ..context.context import Context
from .waits import WAIT_NEWS_EVERY, forget_wait, write_reason

LOOK_EVERY = 5.0
"""Seconds between two looks. A reason is stored when two looks in a row have found it."""

Hindrances = Callable[[float], Mapping[str, "Reason | None"]]
_Kind = tuple[str, object]


@dataclass
class _Known:
    """What was seen of a request. *kind*: code and place of its reason; *written*: when it was stored, None: never."""

    kind: _Kind | None = None
    written: float | None = None


class PendingWaits:
    """The reasons of the requests that this cycle has accepted.

    :param hindrances: returns each accepted request with the reason why it makes no progress; None if it does.
    """

    def __init__(self, context: Context, hindrances: Hindrances) -> None:
        self._context = context
        self._hindrances = hindrances
        self._known: dict[str, _Known] = {}
        self._looked = float("-inf")

    def step(self, now: float) -> None:
        """Look at all accepted requests, once in a few seconds."""
        if 0 <= now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        found = self._hindrances(now)
        for request_id in [key for key in self._known if key not in found]:
            known = self._known.pop(request_id)
            # The reason of a request that waits again is that of the latest plan.
            if known.written is not None and request_id not in self._context.account.waiting_for:
                forget_wait(self._context, request_id)
        for request_id, reason in found.items():
            self._follow(request_id, reason, now)

    def next_due(self, now: float) -> float:
        """Return the seconds until the next look, while there is a reason that may end or must be stored."""
        if all(known.kind is None for known in self._known.values()):
            return float("inf")
        return self._looked + LOOK_EVERY - now

    def drop(self) -> None:
        """Forget everything, as the session is lost or the cycle ends."""
        self._known.clear()
        self._looked = float("-inf")

    def _follow(self, request_id: str, reason: Reason | None, now: float) -> None:
        known = self._known.get(request_id)
        if known is None:
            # An earlier cycle that had accepted the request may have left a reason.
            left = self._context.store.own.get(f"{WAITS}/{request_id}") is not None
            known = self._known[request_id] = _Known(written=0.0 if left else None)
        kind = None if reason is None else (reason.code, reason.figures.get("where"))
        before, known.kind = known.kind, kind
        if reason is None:
            if known.written is not None:
                known.written = None
                forget_wait(self._context, request_id)
        elif before != kind:
            return
        elif known.written is None or now - known.written >= WAIT_NEWS_EVERY:
            known.written = now
            write_reason(self._context, request_id, reason, (), now)
