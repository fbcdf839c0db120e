# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of progress of a module.

A module cannot print while it works. It appends lines to a file, and the action plugin of the same name, which chose
the file, shows them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from ..model.bounded_text import bounded
from ..model.foreign import cleaned
from ..model.lines import Trouble, about

INFO, WARNING = 6, 4
"""Priorities as in syslog."""
LONGEST_LINE = 8000
"""Largest size of a line in bytes of UTF-8."""


class Progress:
    """A writer of lines of progress to a file. An error of the file does not stop the work.

    :param path: the file, None for no progress.
    :param clock: UNIX time in seconds.
    """

    def __init__(self, path: str | None, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._state: str | None = None

    def line(self, text: str) -> None:
        """Append one line. After an error of the file no more lines are written."""
        if self._path is None:
            return
        priority = WARNING if isinstance(text, Trouble) else INFO
        entry = {
            "time": self._clock(),
            "priority": priority,
            "line": bounded(text, LONGEST_LINE),
            **cleaned(about(text)),
        }
        try:
            with open(self._path, "a", encoding="utf-8", opener=_without_waiting) as file:
                file.write(json.dumps(entry) + "\n")
        except OSError:
            self._path = None

    def state(self, text: str) -> None:
        """Append one line about the state, unless it is the same as the last one."""
        if text != self._state:
            self._state = text
            self.line(text)


def _without_waiting(path: str, flags: int) -> int:
    """Open a file. A pipe that nobody reads, or that is full, is an error: waiting for it would stop the work."""
    return os.open(path, flags | os.O_NONBLOCK, 0o666)
