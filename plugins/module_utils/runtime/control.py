# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control a running cycle by a control file, by signals, and by the end of the process that started it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from ..cycles.frame.stop import (
    CONTROLLER_GONE,
    DUMP,
    STOP,
    STOPPED,
    Stop,
)
from .controller import Controller
from .dump import Dump
from .heartbeat_file import Heartbeat

PACE = 0.25
"""Seconds between two reads of the control file."""
LOOKS_PER_CONTROLLER = 4
"""Reads of the control file for each check of the controller, which costs more."""
SIGNALS = (signal.SIGTERM, signal.SIGINT)
DUMP_SIGNAL = signal.SIGUSR2
OVER = b"\0"
"""The byte that ends the watching thread: no signal has this number."""


class Control:
    """A context that asks *stop* to end the cycle: ``with Control(stop, path):``

    The first SIGTERM or SIGINT asks for the end. The second one has the effect that it had before this class was used.
    SIGUSR2 asks for a dump when *dump_by_signal* is True. Otherwise, and after the context, it is ignored.

    :param control_file: a file in which the word ``stop`` ends the cycle and the word ``dump`` asks for a dump; it need
        not exist. None: no control file.
    :param controller_gone: returns True when the process that waits for the module has ended.
    :param dump: writes what the cycle is doing.
    :param dump_by_signal: False when the cycle starts programs: they inherit an ignored signal, but not a handler, and
        a SIGUSR2 to all processes of a service would end them.
    """

    def __init__(
        self,
        stop: Stop,
        control_file: str | None = None,
        *,
        controller_gone: Callable[[], bool] | None = None,
        dump: Callable[[], None] = lambda: None,
        dump_by_signal: bool = True,
    ) -> None:
        self._stop = stop
        self._path = control_file
        # nohup, and whoever else wants a process to stay, has it ignore SIGHUP.
        outlives = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        self._gone = controller_gone or Controller(os.getpid(), outlives=outlives).gone
        self._dump = dump
        self._on_dump_signal = _heard_by_the_pipe if dump_by_signal else signal.SIG_IGN
        self._dumped: tuple[int, int] | None = None
        """The control file that asked for the latest dump: its inode and its modification time."""
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
            signal.signal(DUMP_SIGNAL, self._on_dump_signal)
        self.read()
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._restore()
        if self._wakeup is not None:
            signal.signal(DUMP_SIGNAL, signal.SIG_IGN)
            signal.set_wakeup_fd(self._wakeup)
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe[1], OVER)
        self._thread.join(1.0)
        if not self._thread.is_alive():
            for end in self._pipe:
                os.close(end)

    def read(self) -> bool:
        """Read the control file and do what it says; True when it says stop."""
        word, written = (None, None) if self._path is None else _read(self._path)
        if word == DUMP and written != self._dumped:
            self._dumped = written
            self._dump()
        if word != STOP:
            return False
        if self._stop.reason is None:
            self._stop.ask(STOPPED)
        return True

    def _watch(self) -> None:
        """Listen until the cycle has ended, so that a cycle that hangs at its end can still be asked for a dump."""
        looks = 0
        while True:
            heard = self._listen()
            if OVER in heard:
                return
            if DUMP_SIGNAL in heard:
                self._dump()
            if any(number in heard for number in SIGNALS):
                self._stop.ask(STOPPED)
            looks += 1
            self.read()
            if self._stop.reason is None and looks % LOOKS_PER_CONTROLLER == 0 and self._gone():
                self._stop.ask(CONTROLLER_GONE)

    def _listen(self) -> bytes:
        """Wait for PACE seconds at most; return the numbers of the signals received, and OVER at the end."""
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
    control_file: str | None = None,
    heartbeat_file: str | None = None,
    *,
    wanted: bool = True,
    say: Callable[[str], None] = lambda line: None,
    dump_by_signal: bool = True,
) -> Iterator[Stop]:
    """Yield a Stop that control file, signals and controller can ask. Its beats go into the heartbeat file.

    :param wanted: False: nothing asks the Stop, and no heartbeat is written.
    :param say: takes the lines of a dump.
    :param dump_by_signal: see :class:`Control`.
    """
    heartbeat = Heartbeat(heartbeat_file)
    stop = Stop(heartbeat.beat if wanted else lambda state: None)
    if not wanted:
        yield stop
        return
    # The heartbeat file names this process, so other processes may send it signals from then on.
    with Control(stop, control_file, dump=Dump(stop, say).write, dump_by_signal=dump_by_signal), heartbeat:
        yield stop


def _heard_by_the_pipe(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: Python writes the number of a signal that has a handler into the pipe."""


def _read(path: str) -> tuple[bytes | None, tuple[int, int] | None]:
    """Return the first line of the control file, and its inode and modification time to identify it."""
    with contextlib.suppress(OSError):
        # Not blocking: the file may be a pipe.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            seen = os.fstat(fd)
            return os.read(fd, 64).strip().split(b"\n")[0].strip(), (seen.st_ino, seen.st_mtime_ns)
        finally:
            os.close(fd)
    return None, None
