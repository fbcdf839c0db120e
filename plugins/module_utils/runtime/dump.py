# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write what a running cycle is doing: the calls of all its threads and the state of its queues, as lines."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType

from ..cycles.frame.stop import Stop
from ..model.lines import amount

TRIES = 5
"""Number of tries to read a queue: another thread may change it at the same moment."""
APART = 1.0
"""Seconds after a dump during which further requests for one are ignored: they mean the same dump."""
DEEPEST = 60
"""Most calls of a thread that are shown."""


class Dump:
    """The writer of dumps. It may be called in any thread and does not wait for other threads.

    :param stop: the cycle's Stop, which describes its queues.
    :param say: takes lines for people.
    """

    def __init__(self, stop: Stop, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._stop = stop
        self._say = say
        self._clock = clock
        self._written = float("-inf")

    def write(self) -> None:
        """Write one line for each thread and each queue, unless the last dump is less than APART seconds ago."""
        if self._clock() - self._written < APART:
            return
        self._written = self._clock()
        for line in (*threads(), *consistent(self._stop.describe)):
            self._say(line)


def threads() -> list[str]:
    """Return a line for each thread with its calls, the innermost first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sys._current_frames()  # pylint: disable=protected-access
    lines = [f"thread {names.get(ident, ident)}: {_calls(frame)}" for ident, frame in frames.items()]
    return [f"process {os.getpid()}: {amount(len(lines), 'thread')}", *sorted(lines)]


def _calls(frame: FrameType | None) -> str:
    calls: list[str] = []
    while frame is not None and len(calls) < DEEPEST:
        code = frame.f_code
        calls.append(f"{code.co_name} ({os.path.basename(code.co_filename)}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(calls)


def consistent(describe: Callable[[], Iterable[str]]) -> list[str]:
    """Return the lines of *describe*, which reads data that other threads change."""
    for _unused in range(TRIES):
        try:
            return list(describe())
        except (RuntimeError, KeyError):  # a container changed, or an entry went, while it was read
            continue
    return ["the queues change too quickly to be read"]
