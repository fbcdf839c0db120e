# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ends a cycle early: a control file, a signal, or the end of the process that started the module."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

from ..cycles.frame.stop import (
    CONTROLLER_GONE,
    STOPPED,
    Stop,
)
from .controller import Controller
from .heartbeat import Heartbeat

PACE = 0.25
"""Seconds between two reads of the control file."""
LOOKS_PER_CONTROLLER = 4
"""Reads of the control file for each look at the controller, which costs more."""
WORD = b"stop"
SIGNALS = (signal.SIGTERM, signal.SIGINT)
OVER = b"\0"
"""No signal has this number."""


class Control:
    """Asks *stop* to end the cycle. ``with Control(stop, path):``

    The first signal asks for the end. The second one has the effect that it had before this class was used.

    :param control_file: a file in which the word ``stop`` ends the cycle; it need not exist. None: there is none.
    :param controller_gone: returns True when the process that waits for the module has ended.
    """

    def __init__(
        self,
        stop: Stop,
        control_file: str | None = None,
        *,
        controller_gone: Callable[[], bool] | None = None,
    ) -> None:
        self._stop = stop
        self._path = control_file
        self._gone = controller_gone or _controller_gone()
        self._before: dict[int, Any] = {}
        self._pipe = (-1, -1)
        self._wakeup: int | None = None
        self._thread = threading.Thread(target=self._watch, name="control", daemon=True)

    def __enter__(self) -> Self:
        self._pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        if threading.current_thread() is threading.main_thread():
            # The kernel delivers a signal to any thread, but Python runs handlers in the main thread only, which may be
            # waiting for something else. The wake-up descriptor tells the watching thread.
            self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            for number in SIGNALS:
                self._before[number] = signal.signal(number, self._signalled)
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()
        if self._wakeup is not None:
            signal.set_wakeup_fd(self._wakeup)
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe[1], OVER)
        self._thread.join(1.0)
        if not self._thread.is_alive():
            for end in self._pipe:
                os.close(end)

    def look(self) -> bool:
        """Read the control file; True when it says stop."""
        if self._path is None or not _says_stop(self._path):
            return False
        self._stop.ask(STOPPED)
        return True

    def _watch(self) -> None:
        looks = 0
        while True:
            heard = self._listen()
            if OVER in heard:
                return
            if any(number in heard for number in SIGNALS):
                self._stop.ask(STOPPED)
                return
            looks += 1
            if self.look():
                return
            if looks % LOOKS_PER_CONTROLLER == 0 and self._gone():
                self._stop.ask(CONTROLLER_GONE)
                return

    def _listen(self) -> bytes:
        """Wait for PACE seconds at most; return the numbers of the signals that came, and OVER at the end."""
        ready, _none, _nothing = select.select([self._pipe[0]], [], [], PACE)
        return os.read(self._pipe[0], 64) if ready else b""

    def _signalled(self, _number: int, _frame: FrameType | None) -> None:
        self._restore()
        self._stop.ask(STOPPED)

    def _restore(self) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()


@contextmanager
def controlled(
    control_file: str | None = None, heartbeat_file: str | None = None, *, wanted: bool = True
) -> Iterator[Stop]:
    """Yield a Stop that all of these can ask, or none of them unless *wanted*. Its beats go into the heartbeat file."""
    with Heartbeat(heartbeat_file if wanted else None) as heartbeat:
        stop = Stop(heartbeat.beat)
        with Control(stop, control_file) if wanted else contextlib.nullcontext():
            yield stop


def _controller_gone() -> Callable[[], bool]:
    controller = Controller(os.getpid())
    return lambda: controller.gone


def _says_stop(path: str) -> bool:
    with contextlib.suppress(OSError):
        # Not blocking: the file may be a pipe.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return os.read(fd, 64).strip().split(b"\n")[0].strip() == WORD
        finally:
            os.close(fd)
    return False
