# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short system commands, run as the present user or as root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TIMEOUT = 30.0
"""Seconds for a command that only makes a request to the kernel."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command. *code* is None when the command could not be run or did not end in time."""

    code: int | None
    output: str = ""

    @property
    def ok(self) -> bool:
        """True when the command succeeded."""
        return self.code == 0


Run = Callable[..., CommandResult]
"""The type of :func:`run`."""


def run(argv: Sequence[str], timeout: float = TIMEOUT, *, folder: int | None = None) -> CommandResult:
    """Run a command to its end. Its whole output is kept in memory.

    :param folder: descriptor of the working directory of the command; None for that of this process.
    """
    try:
        # pylint: disable-next=ansible-bad-function  # run_command knows no time-out and ends no process group
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            check=False,
            cwd=None if folder is None else f"/proc/self/fd/{folder}",
        )
    except subprocess.TimeoutExpired:
        return CommandResult(None, f"{argv[0]} did not end within {timeout:g} s")
    except OSError as problem:
        return CommandResult(None, f"{argv[0]} cannot be run: {problem.strerror or problem}")
    return CommandResult(done.returncode, done.stdout.decode(errors="replace").strip())


def as_root(argv: Sequence[str]) -> list[str]:
    """Return the command to run as root: unchanged for root or without sudo installed, else with ``sudo -n``.

    diskimage-builder needs sudo itself, so a user who builds images without being root has it.
    """
    if os.geteuid() == 0 or shutil.which("sudo") is None:
        return list(argv)
    return ["sudo", "-n", *argv]
