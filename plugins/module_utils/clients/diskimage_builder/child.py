# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of diskimage-builder: a child process in its own session, which writes its output to the build's log."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from ...model.errors import ImageFileError
from . import processes
from .isolation import Isolation
from .logs import (
    append_line,
    open_log,
)

GRACE = 10.0
"""Seconds that the child has to end after SIGTERM, before SIGKILL."""
CANNOT_RUN = 127
_WAIT = 5.0
_LOOK = 0.1


class Child:
    """A running build. The child dies with the thread that started it, so that thread must live as long as the build.

    :param argv: the program and its arguments, without a shell.
    :param environment: the whole environment of the child; the mark of the build is added.
    :param log: path of the log; the output is appended to it.
    """

    def __init__(
        self,
        build_id: str,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: str,
        isolation: Isolation,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.build_id = build_id
        self.log = log
        self._argv = list(argv)
        self._environment = dict(environment)
        self._isolation = isolation
        self._sleep = sleep
        self._process: subprocess.Popen[bytes] | None = None
        self._code: int | None = None

    def start(self) -> None:
        """Start the child. A command that cannot be run is reported in the log, and by the exit code 127.

        :raises ImageFileError: the log cannot be written.
        """
        try:
            log = open_log(self.log)
        except OSError as problem:
            raise ImageFileError(
                f"{self.log}: the build log cannot be written: {problem.strerror}; check build-log-dir"
            ) from problem
        with log:
            try:
                # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
                self._process = subprocess.Popen(
                    [*self._isolation.prefix, *self._argv],
                    env={**self._environment, processes.MARK: self.build_id},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except (OSError, ValueError) as problem:
                log.write(f"{self._argv[0]} cannot be run: {problem}\n".encode())
                self._code = CANNOT_RUN

    def poll(self) -> int | None:
        """Return the exit code (negative: the number of the signal that ended the child), None while it runs."""
        if self._code is None and self._process is not None:
            self._code = self._process.poll()
        return self._code

    def processes(self) -> set[int]:
        """Return all living processes of the build. The child's process id is also the id of its group and session."""
        return processes.of_build(self.build_id, self._process.pid if self._process is not None else None)

    def end(self, grace: float = GRACE) -> int:
        """End the child and all processes of the build, and return the child's exit code.

        The child may have ended before, and left processes behind. Processes that even SIGKILL does not end are named
        in the log.
        """
        left = processes.end(self.processes, grace=grace, sleep=self._sleep)
        if left:
            append_line(self.log, f"processes that did not end: {' '.join(map(str, sorted(left)))}")
        if self._process is not None and self._code is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._code = self._process.wait(_WAIT)
        return -9 if self._code is None else self._code

    def settle(self, seconds: float = 2.0) -> None:
        """Wait at most *seconds* until all processes of the build, such as a filter of its output, have ended."""
        for _look in range(round(seconds / _LOOK)):
            if not self.processes():
                return
            self._sleep(_LOOK)
