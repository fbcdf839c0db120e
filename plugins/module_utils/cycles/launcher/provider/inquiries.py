# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls about single servers, for facts that nova's list does not show.

A call about one server costs nova more than its share of a list. It is made only where the list is not enough: for the
fault of a server in ERROR, which the list may leave out, for a server that the list should show but does not, and for
one whose guest is silent or fails its probe, before that is held against its image or its network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from ....model.backoff import backoff
from ....model.cloud import Server
from ....model.errors import CloudError

MOST_AT_ONCE = 4
MOST_A_MINUTE = 20
"""Largest number of calls per minute about servers that a list does not show: a whole burst may be missing."""
AGAIN = 10.0
"""Seconds from an answer to the next call about the same server; doubled each time, up to a minute."""
LONGEST_PAUSE = 60.0
RETRY = 5.0
"""Seconds from a first call without an answer to the next one; doubled each time, up to a minute."""
RETRY_SOON = 2.0
"""The same for a fault, for which a launch waits."""
TRIES = 2
"""Number of calls without an answer after which the fault of a server counts as unknown."""
KEPT = 600.0

Answered = Callable[["tuple[float, Server | None] | None", "CloudError | None"], None]
Ask = Callable[[str, Answered], None]


@dataclass(frozen=True)
class Told:
    """An answer. *asked_at*: when the call began; *server*: None if nova does not know it any more (404)."""

    asked_at: float
    server: Server | None


@dataclass(eq=False)
class _Question:
    told: Told | None = None
    asks: int = 0
    failures: int = 0
    """Number of calls in a row that were not answered."""
    not_before: float = 0.0
    busy: bool = False


class Inquiries:
    """The calls about single servers of one provider. Used by the cycle's thread only.

    :param ask: makes the call; it calls the given function with (when the call began, server) or the error.
    :param held_until: returns the UNIX time until which the API asked for a pause.
    """

    def __init__(self, ask: Ask, clock: Callable[[], float], held_until: Callable[[], float]) -> None:
        self._ask = ask
        self._clock = clock
        self._held_until = held_until
        self._questions: dict[str, _Question] = {}
        self._recent: deque[float] = deque(maxlen=MOST_A_MINUTE)

    def last(self, server_id: str) -> Told | None:
        """Return the latest answer, regardless of its age."""
        question = self._questions.get(server_id)
        return question.told if question is not None else None

    def want(self, server_id: str, since: float, now: float) -> Told | None:
        """Return the answer to a call that began after *since*; None until there is one.

        The calls are made after growing intervals, and not for all servers of a burst at once.
        """
        question = self._questions.setdefault(server_id, _Question())
        if question.told is not None and question.told.asked_at > since:
            return question.told
        crowded = len(self._recent) == MOST_A_MINUTE and now - self._recent[0] < 60.0
        if not crowded and self._put(server_id, question, now, RETRY):
            self._recent.append(now)
        return None

    def with_fault(self, server: Server, now: float) -> Server | None:
        """Return a server in ERROR with its fault, if nova shows it; None while nova is being asked."""
        question = self._questions.setdefault(server.id, _Question())
        told = question.told.server if question.told is not None else None
        if told is not None and told.status == server.status:
            return replace(server, fault=told.fault, fault_code=told.fault_code)
        if question.failures >= TRIES or (question.told is not None and question.told.server is None):
            return server
        self._put(server.id, question, now, RETRY_SOON)
        return None

    def prune(self, now: float) -> None:
        """Forget servers about which no call was made for KEPT seconds."""
        old = [key for key, question in self._questions.items() if not question.busy and self._is_old(question, now)]
        for key in old:
            del self._questions[key]

    @staticmethod
    def _is_old(question: _Question, now: float) -> bool:
        return now - question.not_before > KEPT

    def _put(self, server_id: str, question: _Question, now: float, retry: float) -> bool:
        under_way = sum(1 for other in self._questions.values() if other.busy)
        if question.busy or under_way >= MOST_AT_ONCE or now < max(question.not_before, self._held_until()):
            return False

        def answered(result: tuple[float, Server | None] | None, error: CloudError | None) -> None:
            question.busy = False
            if result is not None:
                question.told, question.failures = Told(*result), 0
                question.asks += 1
                pause = backoff(question.asks, first=AGAIN, most=LONGEST_PAUSE)
            else:
                question.failures += 1
                pause = backoff(question.failures, first=retry, most=LONGEST_PAUSE)
            question.not_before = self._clock() + pause

        question.busy = True
        self._ask(server_id, answered)
        return True
