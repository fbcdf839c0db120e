# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane that gets only a part of the time: its processes are stopped and continued in turn.

A CPU limit of the kernel would need a control group that may be written, which containers seldom have; this works
wherever the services are ours.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

PERIOD = 0.2
"""Seconds in which the services are stopped and continued once."""


class Slowness:
    """``with Slowness(plane.signal_all, 30):`` lets all services work for 30 % of the time.

    :param signal_all: sends a signal to all services.
    """

    def __init__(self, signal_all: Callable[[signal.Signals], None], percent: int) -> None:
        self._signal_all = signal_all
        self._works = PERIOD * percent / 100
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                self._signal_all(signal.SIGSTOP)
                self._over.wait(PERIOD - self._works)
                self._signal_all(signal.SIGCONT)
                self._over.wait(self._works)
        finally:
            # Whatever went wrong, the control plane must be able to end.
            self._signal_all(signal.SIGCONT)
