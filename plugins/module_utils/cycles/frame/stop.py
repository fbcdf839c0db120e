# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface between a cycle and its runner: the request to stop, the heartbeat, the state of the queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable

STOPPED = "stopped"
CONTROLLER_GONE = "controller gone"

STARTING = "starting"
STANDING_BY = "standing by"
"""Ready to take over at once; another cycle acts."""
SERVING = "serving"
ENDED = "ended"

STOP, DUMP = b"stop", b"dump"
"""Words in the control file: end the cycle; write what the cycle is doing."""


class Stop:
    """A request to stop. Any thread or a signal handler may make it; the cycle's thread looks at it.

    :ivar reason: the ``ended`` of the cycle; None until a stop is requested. Only the first request sets it.
    :ivar beat: called by the cycle's thread with one of the states above, at least every 10 s.
    :ivar describe: set by the cycle; returns lines about its current work. Other threads call it, so it only reads.
    """

    def __init__(self, beat: Callable[[str], None] = lambda state: None) -> None:
        self.reason: str | None = None
        self.beat = beat
        self.describe: Callable[[], Iterable[str]] = list
        self._wake: Callable[[], None] | None = None

    def ask(self, reason: str) -> None:
        """Make the cycle end: it begins no new work, waits briefly for creates under way and releases all locks."""
        if self.reason is None:
            self.reason = reason
        if self._wake is not None:
            self._wake()

    def tell(self, wake: Callable[[], None]) -> None:
        """Call *wake* when a stop is requested, or at once if it already was."""
        self._wake = wake
        if self.reason is not None:
            wake()
