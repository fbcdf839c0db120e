# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How everything reaches the one thread that decides: results, watches and ticks become calls that it makes."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

Call = Callable[[], None]


class Inbox:
    """A queue of calls. Any thread may post; only the cycle's own thread takes.

    :param clock: seconds, as used for all of the cycle's timers.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._pausing = False
        self._nudged = False

    @property
    def waiting(self) -> int:
        """How many calls wait. Any thread may ask."""
        return self._calls.qsize()

    def post(self, call: Call) -> None:
        """Make the cycle's thread call *call*."""
        self._calls.put(call)

    def nudge(self) -> None:
        """Wake the cycle without anything to do but look. May also be called by a signal handler."""
        if not self._nudged:
            # One is as good as many, and each wakes a thread.
            self._nudged = True
            self._calls.put(self._look)
        if self._pausing:
            self._bell.put(None)

    def _look(self) -> None:
        self._nudged = False

    def pause(self, seconds: float) -> None:
        """Wait for the next nudge, up to *seconds*; no call is made meanwhile."""
        self._pausing = True
        try:
            self._bell.get(timeout=max(0.0, seconds))
        except queue.Empty:
            pass
        finally:
            self._pausing = False

    def collect(self, seconds: float) -> None:
        """Wait *seconds*, then make all calls that are there: each call that wakes a thread costs more than itself."""
        time.sleep(max(0.0, seconds))
        self.take(0)

    def take(self, timeout: float, most: int = 10_000) -> int:
        """Wait up to *timeout* seconds for the first call, then make all that are there.

        :return: how many were made.
        """
        try:
            self._calls.get(timeout=max(0.0, timeout))()
        except queue.Empty:
            return 0
        made = 1
        while made < most:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            call()
            made += 1
        return made
