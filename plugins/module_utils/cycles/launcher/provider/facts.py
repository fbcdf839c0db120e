# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about a cloud, with their ages. A fact is read only when it is needed and too old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ....model.api_timeouts import LONGEST_ABSENCE
from ....model.backoff import backoff
from ....model.errors import CloudError, CloudUnavailable
from ...frame.inbox import Inbox
from ...frame.workers import WorkerSet
from .lacks import FEW

T = TypeVar("T")

LONGEST_PAUSE = 5.0
"""Largest number of seconds between two tries: a cloud that works again is noticed soon, and one call costs little."""
LONGEST_REFUSED_PAUSE = 60.0
"""The same for a call that was answered, and not by an overloaded service: most likely it will be answered alike, until
somebody changes something. A minute after that it is noticed."""
SHARE = 0.25
"""The share of the time since the first failed try that the next pause may take, where an answer made no sense."""


def pause_after(error: CloudError | None, failures: int, lasted: float) -> float:
    """Return the seconds until the next try of a reading.

    :param failures: the number of failed tries in a row.
    :param lasted: the seconds since the first of them.
    """
    usual = backoff(failures, first=1.0, most=LONGEST_PAUSE)
    if error is None or error.status is None or error.status == 429:
        return usual
    if isinstance(error, CloudUnavailable) and error.status != 501:
        # A page of a proxy may go as fast as it came; a service that has said 500 for an hour will not hurry.
        return usual if error.status >= 500 else max(usual, min(LONGEST_REFUSED_PAUSE, SHARE * lasted))
    return backoff(failures, first=1.0, most=LONGEST_REFUSED_PAUSE)


@dataclass(eq=False)
class Fact(Generic[T]):
    """One reading of a cloud and how it is renewed.

    :param max_age: seconds for which a value may be used.
    :param changed: called after each answer or error by the cycle's thread.
    :param held_until: returns the UNIX time until which the API asked for a pause.
    """

    what: str
    read: Callable[[], T]
    workers: WorkerSet
    inbox: Inbox
    max_age: float
    changed: Callable[[CloudError | None], None]
    value: T | None = None
    asked_at: float | None = None
    """UNIX time at which the call of the current value began: the value is at least as new as this."""
    answered_at: float | None = None
    busy: bool = False
    begun_at: float = 0.0
    error: CloudError | None = None
    failures: int = 0
    failing_since: float = 0.0
    wanted_at: float = float("-inf")
    """UNIX time at which the value was last asked for by the cycle."""
    retry_at: float = 0.0
    held_until: Callable[[], float] = lambda: 0.0
    told: bool = False
    """True if errors of this fact, and the pauses that the API asks for, are reported to the health of the API."""

    @property
    def not_before(self) -> float:
        """The earliest UNIX time at which the fact may be read."""
        return max(self.retry_at, self.held_until())

    @property
    def trouble(self) -> CloudError | None:
        """Why the fact is not had after a few tries; None while it is had, or may be had soon."""
        return self.error if self.failures >= FEW else None

    def age(self, now: float) -> float:
        """Return the seconds since the current value was asked for; infinite before the first."""
        return float("inf") if self.asked_at is None else now - self.asked_at

    def want(self, now: float, max_age: float | None = None) -> T | None:
        """Return the current value (None before the first); ask for a new one if it is too old."""
        # What could not be read is tried again even where any age would do.
        limit = 0.0 if self.failures else self.max_age if max_age is None else max_age
        self.wanted_at = now
        if not self.busy and self.age(now) >= limit and now >= self.not_before:
            self.busy, self.begun_at = True, now
            self.workers.submit(self.what, self._timed, self._answered)
        return self.value

    def waited(self, now: float) -> float:
        """Return the seconds since the call under way was asked for; infinite if there is none."""
        return now - self.begun_at if self.busy else float("inf")

    def forget(self) -> None:
        """Mark the value as wrong: the next use reads it again."""
        self.asked_at = None

    def conclude(self) -> None:
        """Count a fact that was not had as one that will not be had soon, as nobody tries it again."""
        if self.failures:
            self.failures = max(self.failures, FEW)

    def works(self) -> None:
        """Note that another reading has shown that such a call works."""
        self.failures, self.error, self.retry_at = 0, None, 0.0

    def renew(self) -> None:
        """Read the value again at the next use, as the client was replaced; earlier failures do not delay that."""
        self.asked_at = None
        self.retry_at = 0.0
        self.failures = 0

    def _timed(self) -> tuple[float, T]:
        began = self.inbox.clock()
        return began, self.read()

    def _answered(self, result: tuple[float, T] | None, error: CloudError | None) -> None:
        now = self.inbox.clock()
        self.busy = False
        self.error = error
        if result is not None:
            self.asked_at, self.value = result
            self.answered_at = now
            self.failures = 0
        else:
            asked = 0.0 if error is None or self.told else min(LONGEST_ABSENCE, error.retry_after or 0.0)
            self.failing_since = self.failing_since if self.failures else now
            self.failures += 1
            self.retry_at = now + max(asked, pause_after(error, self.failures, now - self.failing_since))
        self.changed(error)
