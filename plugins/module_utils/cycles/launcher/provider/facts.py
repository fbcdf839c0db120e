# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a cloud, with its age: read when it is needed and too old, never more often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ....model.api_timeouts import LONGEST_ABSENCE
from ....model.backoff import backoff
from ....model.errors import CloudError
from ...frame.inbox import Inbox
from ...frame.workers import WorkerSet

T = TypeVar("T")

LONGEST_PAUSE = 5.0
"""Seconds between two tries at the most: a cloud that is well again is noticed soon, and one call costs little."""


@dataclass(eq=False)
class Fact(Generic[T]):
    """One reading of a cloud and how it is renewed.

    :param max_age: seconds for which it serves.
    :param changed: called after each answer, good or bad, by the cycle's thread.
    :param held_until: tells until when the API asked to be left alone.
    """

    what: str
    read: Callable[[], T]
    workers: WorkerSet
    inbox: Inbox
    max_age: float
    changed: Callable[[CloudError | None], None]
    value: T | None = None
    asked_at: float | None = None
    """When the call of the present value began: what it shows is at least as new as this."""
    answered_at: float | None = None
    busy: bool = False
    begun_at: float = 0.0
    error: CloudError | None = None
    failures: int = 0
    retry_at: float = 0.0
    held_until: Callable[[], float] = lambda: 0.0
    told: bool = False
    """True where *held_until* hears of what goes wrong here, and with it of what the API asks for."""

    @property
    def not_before(self) -> float:
        """When it may be asked for at the earliest."""
        return max(self.retry_at, self.held_until())

    def age(self, now: float) -> float:
        """Seconds since the present value was asked for; infinite before the first."""
        return float("inf") if self.asked_at is None else now - self.asked_at

    def want(self, now: float, max_age: float | None = None) -> T | None:
        """The present value (None before the first); asks for a new one when it is too old."""
        limit = self.max_age if max_age is None else max_age
        if not self.busy and self.age(now) >= limit and now >= self.not_before:
            self.busy, self.begun_at = True, now
            self.workers.submit(self.what, self._timed, self._answered)
        return self.value

    def waited(self, now: float) -> float:
        """Seconds since the call under way was asked for; infinite when none is."""
        return now - self.begun_at if self.busy else float("inf")

    def forget(self) -> None:
        """The value turned out to be wrong: ask again when it is needed next."""
        self.asked_at = None

    def renew(self) -> None:
        """The client is another one now: ask again when it is needed next, also where asking failed before."""
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
            self.failures += 1
            self.retry_at = now + max(asked, backoff(self.failures, first=1.0, most=LONGEST_PAUSE))
        self.changed(error)
