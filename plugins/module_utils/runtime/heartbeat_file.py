# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat of a cycle: a file that is touched as long as the cycle's deciding thread makes progress.

The process that runs cycles reads it. Only the cycle's own thread beats, never a helper thread: a process whose helper
threads run while its cycle hangs must count as hung.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from ..clients.private_file import is_no_file
from ..clients.proc import process
from ..cycles.frame.stop import ENDED, STARTING

EVERY = 1.0
"""Least seconds between two writes: beats come with the cycle's turns, some of which are quick."""


class Heartbeat:
    """A writer of a cycle's state into a file. An error of the file does not stop the work.

    The file is a line of JSON: ``pid`` and ``started`` (its start in clock ticks since the boot) identify the process,
    ``state`` is one of those in cycles.frame.stop. A new state is written at once. Otherwise only the file's time is
    renewed.

    :param path: the file, None for no heartbeat.
    :param clock: seconds that never go back.
    """

    def __init__(self, path: str | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._state: str | None = None
        self._beaten = float("-inf")

    def __enter__(self) -> Heartbeat:
        self.beat(STARTING)
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.beat(ENDED)

    def beat(self, state: str) -> None:
        """Show that the cycle makes progress, and in which state it is."""
        now = self._clock()
        if self._path is None or (state == self._state and now - self._beaten < EVERY):
            return
        try:
            if state == self._state:
                os.utime(self._path)
            else:
                self._write(self._path, state)
        except OSError:
            # The loop may have removed the folder, and a full disk may have room again later.
            return
        self._state, self._beaten = state, now

    @staticmethod
    def _write(path: str, state: str) -> None:
        if is_no_file(path):
            return  # root would replace a device
        seen = process(os.getpid())
        text = json.dumps({"pid": os.getpid(), "started": seen.started if seen else 0, "state": state})
        fresh = f"{path}.{os.getpid()}.new"
        with open(fresh, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.replace(fresh, path)
