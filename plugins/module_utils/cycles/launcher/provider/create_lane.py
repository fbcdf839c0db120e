# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The creates of one provider: their separate threads, their answers, and how many may be sent at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....launching.builds import Builds
from ....launching.create_answers import Answers
from ....launching.freezing import Window
from ....launching.moving import SLOWER
from ....model.api_timeouts import MOST_CREATES, ApiTimeouts
from ....model.errors import CloudError
from ...frame.inbox import Inbox
from ...frame.workers import Done, WorkerSet
from .health import CREATE

ANSWER_MARGIN = 15.0
OPENING_LOOK = 1.0

Heard = Callable[["CloudError | None", str], None]
Judge = Callable[[CloudError], CloudError]


class CreateLane:
    """Sends creates, which may take minutes, in separate threads, so that they do not delay other calls.

    :param client: returns the current client.
    :param heard: called with the error of each create (None: it was accepted) and the name of the call.
    """

    def __init__(
        self, name: str, inbox: Inbox, timeouts: ApiTimeouts, client: Callable[[], CloudClient], heard: Heard
    ) -> None:
        self._timeouts = timeouts
        self._client = client
        self._heard = heard
        self._clock = inbox.clock
        floor = self._floor
        self.answers = Answers(floor, timeouts.create_first(floor), timeouts.create_most(floor))
        self.builds = Builds()
        self.windows: dict[str, Window] = {}
        """Pool id → how many unanswered creates the pool may have."""
        self.workers = WorkerSet(
            name,
            inbox,
            size=MOST_CREATES,
            seconds=timeouts.job,
            spare=MOST_CREATES,
            waited=self.waited,
        )
        self.unanswered = 0
        """Number of creates whose answers are still awaited."""
        self.sent_at = -math.inf
        """UNIX time at which the latest create was sent."""
        self.in_flight = 0
        """Number of servers asked for and not yet ACTIVE, at the last look."""

    def waited(self, ident: int) -> float:
        """Return the seconds for which a thread has waited for the provider's rate."""
        return self._client().waited(ident)

    @property
    def _floor(self) -> float:
        return max(self._timeouts.silence, self._client().api_timeout)

    def renew(self) -> None:
        """Use the time-outs of a new client."""
        self.answers.floor = self._floor

    def send(self, work: Callable[[], Any], seconds: float, done: Done, judge: Judge = lambda error: error) -> None:
        """Send a create that may take *seconds*; the work before it may take as long as any job, in addition.

        :param judge: returns the error that counts instead of the create's error.
        """

        def answered(result: Any, error: CloudError | None) -> None:
            error = None if error is None else judge(error)
            self._heard(error, CREATE)
            try:
                done(result, error)
            finally:
                self.unanswered -= 1

        self.unanswered += 1
        self.sent_at = self._clock()
        self.workers.submit(CREATE, work, answered, changes=True, seconds=seconds + self._timeouts.job)

    def answered(self, seconds: float, beside: int = 0) -> None:
        """Note that a create was answered, or its server found, *seconds* after it was sent.

        :param beside: how many servers were in flight when it was sent.
        """
        self.answers.add(seconds, self.unanswered, max(self.unanswered, self.in_flight, beside))
        if self.answers.strained:
            self.builds.strain(self._clock())

    def has_room(self, more: int, most: float) -> bool:
        """Return True if a create may be sent after *more* that are about to be sent.

        :param most: the number of servers that the configuration allows to be in flight at the provider.
        """
        few_unanswered = self.unanswered + more < self.answers.at_once
        return few_unanswered and self.in_flight + more < self.builds.allowed(most)

    @property
    def settle(self) -> float:
        """Seconds after which a create whose answer is lost may still appear as a server.

        A cycle may end before any create was answered. Then the other calls tell whether the cloud is slow: creates
        take longer than they do.
        """
        counters = self._client().counters
        by_calls = SLOWER * max(counters.usual(but=CREATE), counters.lately(but=CREATE))
        return max(self.answers.settle, min(self.answers.most, by_calls))

    @property
    def _waited(self) -> float:
        return self._client().counters.longest_wait(only=CREATE)[1]

    @property
    def opened(self) -> float:
        """The factor by which more creates may be sent because the answers take so long."""
        # To look through the calls under way is expensive, and is done for each launch that waits.
        return self.answers.opened(self._waited) if self.answers.never_quick else 1.0

    @property
    def answer_bound(self) -> float:
        """Seconds after which no thread of ours can still wait for the answer to a create."""
        return max(self._timeouts.call, self.answers.patience) + ANSWER_MARGIN

    def opening_due(self) -> float:
        """Return the seconds until the window must be checked: while it opens with time, no event wakes the cycle."""
        opening = self.unanswered and self.answers.never_quick and self.opened < MOST_CREATES
        return OPENING_LOOK if opening else float("inf")

    def list_due(self, age_of_list: float) -> float:
        """Return the seconds until the server list must be read because a create is slow.

        The list shows whether the API works at all, and the server of a create whose answer is lost.
        """
        waited = self._waited
        if not waited:
            return float("inf")
        every = self._timeouts.suspect / 2
        return max(every - waited, every - age_of_list)

    # -- from cycle to cycle -------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """Return what the next cycle needs to know."""
        windows = {pool_id: window.size for pool_id, window in self.windows.items()}
        return {"creates": self.answers.document(), "builds": self.builds.document(), "windows": windows}

    def learn(self, document: Mapping[str, Any]) -> None:
        """Take over what an earlier cycle has stored."""
        self.answers.learn(document.get("creates"))
        self.builds.learn(document.get("builds"))
        windows = document.get("windows")
        for pool_id, size in windows.items() if isinstance(windows, dict) else ():
            self.windows.setdefault(pool_id, Window()).learn(size)
