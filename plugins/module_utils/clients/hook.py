# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hooks: programs of the operator that the collection runs after an event."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO

from ..model.errors import HookError

PACE = 0.1
"""Seconds between two calls of *wanted*."""
TAIL = 2000
LONGEST_WORD = 300


def run_hook(
    argv: Sequence[str], timeout: float, *, wanted: Callable[[], bool] = lambda: True, name: str = "the hook"
) -> None:
    """Run a program to its end, without a shell.

    When the time-out is over, or *wanted* returns False, the whole process group of the program is killed.

    :param timeout: seconds.
    :param wanted: the program is ended early when this returns False.
    :param name: the name of the program in errors.
    :raises HookError: the program cannot be run, does not exit with 0, or took too long; with its last line of output.
    """
    with tempfile.TemporaryFile() as output:
        try:
            # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
            process = subprocess.Popen(
                list(argv), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        except OSError as problem:
            raise HookError(f"{name} {argv[0]} cannot be run: {problem.strerror or problem}") from problem
        end = time.monotonic() + timeout
        try:
            while process.poll() is None:
                if time.monotonic() >= end:
                    raise HookError(f"{name} {argv[0]} did not end within {timeout:g} s" + _last_line(output))
                if not wanted():
                    raise HookError(f"{name} {argv[0]} was stopped when the cycle ended")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(PACE, max(0.0, end - time.monotonic())))
        except BaseException:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
        if process.returncode != 0:
            code = process.returncode
            how = f"exited with code {code}" if code > 0 else f"was killed by signal {-code}"
            raise HookError(f"{name} {argv[0]} {how}" + _last_line(output))


def _last_line(output: IO[bytes]) -> str:
    """Return the last line of the output, shortened."""
    output.seek(max(0, output.seek(0, os.SEEK_END) - TAIL))
    lines = output.read().decode(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {said[-LONGEST_WORD:]}" if said else ""
