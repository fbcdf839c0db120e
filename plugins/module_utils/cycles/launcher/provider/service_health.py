# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The health of one service of a cloud, as calls see it, and as it is told: what is told does not flap."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....model.errors import CloudError

CALM = 5.0
"""Seconds without a failure after which a trouble is over although the calls that failed were not made again."""
RELAPSE = 600.0
"""Seconds after the end of a trouble within which another one counts as the same that has come back."""
MOST_RELAPSES = 2
"""Number of times that a trouble may come back before its end is told late."""
FIRST_DELAY = 15.0
"""Seconds without a failure before the end of a trouble that keeps coming back is told; doubled with each relapse."""
LONGEST_DELAY = 300.0


@dataclass(eq=False)
class ServiceHealth:
    """What the answers of one service say about it.

    :ivar error: why the service counts as away now; None while its latest answer was good.
    :ivar since: UNIX time since which it is told to be in trouble; None if it is not.
    :ivar text: the latest error, while it is told to be in trouble.
    :ivar heard_at: UNIX time of the latest answer or failure.
    """

    name: str
    error: CloudError | None = None
    since: float | None = None
    text: str = ""
    heard_at: float = float("-inf")
    failed_at: float = float("-inf")
    _failing: set[str] = field(default_factory=set)
    """The kinds of calls that failed, and have not worked since."""
    _ended_at: float = float("-inf")
    _relapses: int = 0

    def failed(self, error: CloudError, kind: str, now: float) -> None:
        """Note that a call had no answer, or one that shows that the service does not work."""
        self.error = error
        self.heard_at = now
        self.suspect(str(error), kind, now)

    def answered(self, kind: str, now: float) -> None:
        """Note an answer; a refusal is one, too."""
        self.error = None
        self.heard_at = now
        self._failing.discard(kind)
        self.settle(now)

    def works(self, now: float) -> None:
        """Note that something shows that all calls of the service work."""
        self.error = None
        self._failing.clear()
        self.settle(now)

    def is_failing(self, kind: str) -> bool:
        """Return True if the latest call of this kind failed."""
        return kind in self._failing

    def suspect(self, text: str, kind: str, now: float, since: float | None = None) -> None:
        """Note a failure, or a call that has waited too long for its answer since *since*."""
        self._failing.add(kind)
        self.failed_at = now
        self.text = text
        if self.since is None:
            came_back = now - self._ended_at < RELAPSE
            self._relapses = self._relapses + 1 if came_back else 0
            self.since = now if since is None else since

    def settle(self, now: float) -> None:
        """End what is told when the calls that failed work again, or long after the last failure."""
        if self.since is None or self.error is not None or now - self.failed_at < self._needed:
            return
        self.since, self.text, self._ended_at = None, "", now
        self._failing.clear()

    @property
    def _needed(self) -> float:
        """Seconds without a failure after which the trouble counts as over."""
        again = self._relapses - MOST_RELAPSES
        delay = 0.0 if again <= 0 else min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(again - 1, 10))
        return max(delay, CALM) if self._failing else delay
