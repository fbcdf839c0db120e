# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How well a provider's API is: what went wrong last, since when, and until when it asked to be left alone."""

from __future__ import annotations

from typing import Any

from ....clients.openstack.counters import CallCounters
from ....model import reasons
from ....model.api_timeouts import LONGEST_ABSENCE, ApiTimeouts
from ....model.backoff import backoff
from ....model.errors import (
    CloudAuthError,
    CloudError,
    CloudUnavailable,
)
from ....model.reasons import Reason

CREATE = "POST /servers"
FIRST_PAUSE = 2.0
"""Seconds without another create after one that the API could not do; doubled each time, at most one time-out."""
PROBE_AFTER = 15.0
"""Seconds after which an API that asked to be left alone is tried all the same, by a single cheap call."""


class Health:
    """Fed with every answer and looked at in every pass, by the cycle's thread.

    An answer to any call tells that the API is there. That creates work, only a create can tell: after one that failed
    there is a pause, which grows until one succeeds.
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
        """Until when the API is left alone because it asked for that."""
        self._asked = 0.0
        self._probe_at = 0.0
        self.since: float | None = None
        """Since when it is not well; None when it is."""

    def heard(self, error: CloudError | None, now: float, call: str = "") -> None:
        """An answer to a *call*, or the lack of one. A refusal is an answer."""
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
            # Those that were under way together count once.
            self._creates_since = self._creates_since if self._creates is not None else now
            self._creates = error
            self._creates_failures += 1
            self._creates_until = now + backoff(self._creates_failures, first=FIRST_PAUSE, most=self._timeouts.silence)

    def probe_due(self, now: float) -> bool:
        """True once when an API that asked to be left alone is to be tried with one cheap call."""
        if not self._probe_at <= now < self.wait_until:
            return False
        self._probe_at = now + PROBE_AFTER
        return True

    def probed(self, error: CloudError | None, now: float) -> None:
        """The answer to that call: a good one ends the wait for all others."""
        self.heard(error, now)
        if error is None:
            self.wait_until = 0.0

    def follow(self, now: float) -> None:
        """Once per pass: see whether calls are without an answer for too long.

        A create may take minutes while everything else is answered: then it is only slow.
        """
        suspect = self._timeouts.suspect
        kind, seconds = self._counters.longest_wait(but=CREATE)
        if seconds < suspect and now - self._heard_at >= suspect:
            kind, seconds = self._counters.longest_wait()
        self._silent = (kind, seconds) if seconds >= suspect else ("", 0.0)
        if self.blocked(now) is None:
            self.since = None
        elif self.since is None:
            self.since = now - self._silent[1]

    def blocked(self, now: float) -> Reason | None:
        """Why nothing may be given to the provider now."""
        kind, seconds = self._silent
        if seconds:
            return self._trouble(f"no answer to {kind} for {seconds:.0f} s")
        return self.refused(now)

    def refused(self, now: float) -> Reason | None:
        """The same as far as it follows from answers, and not from their lack."""
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
        """Seconds since it is not well; 0 when it is."""
        return 0.0 if self.since is None else now - self.since

    def document(self, now: float) -> dict[str, Any]:
        """For the result: ``state`` is ok or trouble."""
        reason = self.blocked(now)
        if reason is None and self._creates is None:
            return {"state": "ok"}
        if reason is None:
            # It may be tried again, but nothing has shown yet that it works.
            return {"state": "trouble", "text": str(self._creates), "seconds": round(now - self._creates_since, 1)}
        return {"state": "trouble", "text": reason.figures["text"], "seconds": round(self.troubled_for(now), 1)}

    def record(self, now: float) -> dict[str, Any]:
        """As it is stored: ``since`` (UNIX time) instead of ``seconds``."""
        document = self.document(now)
        seconds = document.pop("seconds", None)
        return document if seconds is None else {**document, "since": round(now - seconds)}

    def _trouble(self, text: str) -> Reason:
        return Reason(reasons.PROVIDER_TROUBLE, {"where": self._provider, "text": text})
