# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The queue of the cycle's own thread: results, watches and ticks become calls that this thread makes."""

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
        """The number of calls that wait. Any thread may read it."""
        return self._calls.qsize()

    def post(self, call: Call) -> None:
        """Make the cycle's thread call *call*."""
        self._calls.put(call)

    def nudge(self) -> None:
        """Wake the cycle without a call to make. A signal handler may call it, too."""
        if not self._nudged:
            # One nudge has the effect of many, and each wakes a thread.
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
        """Wait *seconds*, then make all queued calls. To wake the thread for each call costs more than the call."""
        time.sleep(max(0.0, seconds))
        self.take(0)

    def take(self, timeout: float, most: int = 10_000) -> int:
        """Wait up to *timeout* seconds for the first call, then make the queued calls, up to *most*.

        :return: the number of calls made.
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
