# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a running cycle is doing: the calls of all its threads and the state of its queues, as lines."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import FrameType

from ..cycles.frame.stop import Stop

TRIES = 5
"""A thread may change what is read at the same moment."""
APART = 1.0
"""Seconds: a wish that comes so soon after a dump asks for the same dump."""
DEEPEST = 60
"""Calls of a thread that are shown."""


class Dump:
    """Writes what a cycle is doing into its lines. It runs in any thread and does not wait for the others.

    :param stop: of the cycle, which tells the state of its queues.
    :param say: takes lines for people.
    """

    def __init__(self, stop: Stop, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._stop = stop
        self._say = say
        self._clock = clock
        self._written = float("-inf")

    def write(self) -> None:
        """Write one line for each thread and each queue, unless that was done a moment ago."""
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
    return [f"process {os.getpid()}: {len(lines)} threads", *sorted(lines)]


def _calls(frame: FrameType | None) -> str:
    calls: list[str] = []
    while frame is not None and len(calls) < DEEPEST:
        code = frame.f_code
        calls.append(f"{code.co_name} ({os.path.basename(code.co_filename)}:{frame.f_lineno})")
        frame = frame.f_back
    return " < ".join(calls)


def consistent(describe: Callable[[], Iterable[str]]) -> list[str]:
    """Return the lines of *describe*, which reads what other threads change."""
    for _unused in range(TRIES):
        try:
            return list(describe())
        except (RuntimeError, KeyError):  # a container changed, or an entry went, while it was read
            continue
    return ["the queues change too quickly to be read"]
