# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Auxiliary calls of a provider: calls that no decision needs, with threads and a budget of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....model.api_timeouts import AUXILIARY_SECONDS, MOST_AUXILIARY, ApiTimeouts
from ....model.errors import CloudError
from ...frame.inbox import Inbox
from ...frame.workers import Done, WorkerSet


class AuxiliaryLane:
    """The auxiliary calls of one provider. Their answers say nothing about the health of its API.

    No call waits for another one: a launch that failed must not wait long for the console of its server.
    """

    def __init__(self, name: str, inbox: Inbox, timeouts: ApiTimeouts, waited: Callable[[int], float]) -> None:
        self.seconds = min(AUXILIARY_SECONDS, timeouts.silence)
        """The limit for one call."""
        self.workers = WorkerSet(
            name, inbox, size=MOST_AUXILIARY, seconds=2 * self.seconds, spare=MOST_AUXILIARY, waited=waited
        )
        self._unanswered = 0

    def ask(self, what: str, work: Callable[[], Any], done: Done) -> bool:
        """Make a call; return False, and make none, if as many as allowed have no answer yet."""
        if self._unanswered >= MOST_AUXILIARY or self.workers.exhausted:
            return False

        def answered(result: Any, error: CloudError | None) -> None:
            self._unanswered -= 1
            done(result, error)

        self._unanswered += 1
        self.workers.submit(what, work, answered)
        return True
