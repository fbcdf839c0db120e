# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of a provider's API: its last error, since when it is in trouble, and until when it asked for a pause."""

from __future__ import annotations

import math
from typing import Any

from ....clients.openstack.counters import CallCounters
from ....launching.moving import PATIENT, WELL, Standing
from ....model import reasons
from ....model.api_timeouts import LONGEST_ABSENCE, ApiTimeouts
from ....model.backoff import backoff
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudUnavailable,
)
from ....model.reasons import Reason
from ....model.stored import is_number

CREATE = "POST /servers"
FIRST_PAUSE = 2.0
"""Seconds without a create after one that failed because of the API; doubled each time, up to one time-out."""
PROBE_AFTER = 15.0
"""Seconds after which an API that asked for a pause is tried nevertheless, with a single cheap call."""


class Health:
    """The health of one provider's API. The cycle's thread reports every answer and checks the health in every pass.

    An answer to any call shows that the API works. Only a create shows that creates work: after a failed create there
    is a pause, which grows until one succeeds.
    """

    def __init__(self, provider: str, counters: CallCounters, timeouts: ApiTimeouts | None = None) -> None:
        self._provider = provider
        self._counters = counters
        self._timeouts = timeouts or ApiTimeouts()
        self._error: CloudError | None = None
        self._silent = ("", 0.0)
        self._creates: CloudError | None = None
        self._creates_failures = 0
        self._creates_until = 0.0
        self._creates_since = 0.0
        self._heard_at = float("-inf")
        self.wait_until = 0.0
        """UNIX time until which no call is made because the API asked for a pause."""
        self._asked = 0.0
        self._probe_at = 0.0
        self.since: float | None = None
        """UNIX time since which the API is in trouble; None if it is not."""
        self._well_since = float("-inf")
        """UNIX time at which its last trouble ended."""

    def heard(self, error: CloudError | None, now: float, call: str = "") -> None:
        """Note an answer to a *call*, or that there was none. A refusal is an answer."""
        failed = isinstance(error, CloudUnavailable | CloudAuthError)
        if call != CREATE and (error is None or error.status is not None):
            self._heard_at = now
        if failed:
            self._error = error
        elif error is None or error.status is not None:
            self._error = None
        if failed and error is not None and error.retry_after is not None:
            self.wait_until = max(self.wait_until, now + min(LONGEST_ABSENCE, error.retry_after))
            self._asked, self._probe_at = error.retry_after, now + PROBE_AFTER
        if call == CREATE:
            self._heard_of_create(error if failed else None, now)

    def _heard_of_create(self, error: CloudError | None, now: float) -> None:
        if error is None:
            self._creates, self._creates_failures, self._creates_until = None, 0, 0.0
        elif now >= self._creates_until:
            # Creates that were under way at the same time count once.
            self._creates_since = self._creates_since if self._creates is not None else now
            self._creates = error
            self._creates_failures += 1
            self._creates_until = now + backoff(self._creates_failures, first=FIRST_PAUSE, most=self._timeouts.silence)

    def probe_due(self, now: float) -> bool:
        """Return True, once per interval, if an API that asked for a pause must be tried with one cheap call."""
        if not self._probe_at <= now < self.wait_until:
            return False
        self._probe_at = now + PROBE_AFTER
        return True

    def probed(self, error: CloudError | None, now: float) -> None:
        """Note the answer to that call: a success ends the pause for all calls."""
        self.heard(error, now)
        if error is None:
            self.wait_until = 0.0

    def follow(self, now: float) -> None:
        """Check whether calls wait too long for their answers; called once per pass.

        A create may take minutes while all other calls are answered: then it is only slow.
        """
        suspect = self._timeouts.suspect
        # A call that waits no longer than calls of its kind usually do shows nothing.
        kind, seconds = self._counters.overdue(suspect, PATIENT, but=CREATE)
        bound = max(suspect, PATIENT * self._counters.usual(but=CREATE))
        if not seconds and now - self._heard_at >= bound:
            # Time in which nothing was asked is no silence, so the call itself must have waited as long.
            kind, seconds = self._counters.longest_wait()
            seconds = seconds if seconds >= bound else 0.0
        self._silent = (kind, seconds) if seconds else ("", 0.0)
        if self.blocked(now) is None:
            if self.since is not None:
                self._well_since = now
            self.since = None
        elif self.since is None:
            self.since = now - self._silent[1]

    def blocked(self, now: float) -> Reason | None:
        """Return why no work may be given to the provider now; None if it may."""
        kind, seconds = self._silent
        if seconds:
            return self._trouble(f"no answer to {kind} for {seconds:.0f} s")
        return self.refused(now)

    def refused(self, now: float) -> Reason | None:
        """Return the same, but only for reasons that follow from answers, not from missing answers."""
        if now < self.wait_until:
            said = f"{self._error}; " if self._error is not None else ""
            left = self.wait_until - now
            return self._trouble(f"{said}it asked to be left alone for {self._asked:.0f} s, which ends in {left:.0f} s")
        if self._error is not None:
            return self._trouble(str(self._error))
        if now < self._creates_until:
            return self._trouble(f"{self._creates}; next create in {self._creates_until - now:.0f} s")
        return None

    def troubled_for(self, now: float) -> float:
        """Return the seconds since the trouble began; 0 if there is none."""
        return 0.0 if self.since is None else now - self.since

    def standing(self, now: float) -> Standing:
        """Return what decides whether requests leave this provider."""
        counters = self._counters
        answered = not self._silent[1] and (self._error is None or self._error.status is not None)
        troubled = self.troubled_for(now)
        # Before the trouble, perhaps nothing was asked.
        return Standing(troubled, answered, min(troubled, counters.quiet_for()), counters.usual(but=CREATE))

    def is_long_well(self, now: float) -> bool:
        """Return True if requests may move here: it answers, and was not in trouble a moment ago."""
        answers = math.isfinite(self._counters.quiet_for())
        return answers and self.blocked(now) is None and not 0 <= now - self._well_since < WELL

    def trouble_ended(self, now: float) -> float | None:
        """Return when the last trouble ended, for the next cycle: now if there still is one, None if there was none."""
        ended = self._well_since if self.since is None else now
        return None if ended == float("-inf") else round(ended, 1)

    def learn(self, trouble_ended: Any, now: float) -> None:
        """Take over when the last trouble of an earlier cycle ended; ignore what is no time, or is in the future."""
        if is_number(trouble_ended) and trouble_ended <= now:
            self._well_since = max(self._well_since, float(trouble_ended))

    def document(self, now: float) -> dict[str, Any]:
        """Return the health for the result: ``state`` is ok or trouble."""
        reason = self.blocked(now)
        if reason is None and self._creates is None:
            return {"state": "ok"}
        if reason is None:
            # A create may be tried again, but nothing has shown yet that creates work.
            return {"state": "trouble", "text": str(self._creates), "seconds": round(now - self._creates_since, 1)}
        return {"state": "trouble", "text": reason.figures["text"], "seconds": round(self.troubled_for(now), 1)}

    def record(self, now: float) -> dict[str, Any]:
        """Return the health as it is stored: with ``since`` (UNIX time) instead of ``seconds``."""
        document = self.document(now)
        seconds = document.pop("seconds", None)
        return document if seconds is None else {**document, "since": round(now - seconds)}

    def _trouble(self, text: str) -> Reason:
        return Reason(reasons.PROVIDER_TROUBLE, {"where": self._provider, "text": text})
