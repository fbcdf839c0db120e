# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a cycle, found by a mark in their environment.

Workers of ansible-core begin sessions of their own, so neither a process group nor a session holds a cycle together;
and whoever may not make PID namespaces cannot use those. The environment is handed down to everything that a cycle
starts, and can be read by the user whose processes they are. What a marked process started belongs to it, too, even if
it has an environment of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path

MARK = "STACKCI_NODEPOOL_CYCLE"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ENDED = ("Z", "X")
# Found before there is a child that needs it: between fork and exec as little as possible should happen.
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Process:
    """A process: its parent, and its start in clock ticks since the boot."""

    pid: int
    parent: int
    started: int
    mark: str = ""


def look(pid: int, proc: Path = Path("/proc")) -> Process | None:
    """A living process; None when there is none."""
    try:
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        if fields[0].decode() in _ENDED:
            return None
        return Process(pid, int(fields[1]), int(fields[19]), _mark(proc / str(pid) / "environ"))
    except (OSError, ValueError, IndexError):
        return None


def lives(pid: int, started: int) -> bool:
    """True while that very process lives."""
    found = look(pid)
    return found is not None and found.started == started


def belonging(prefix: str, proc: Path = Path("/proc")) -> list[Process]:
    """Living processes whose mark begins with *prefix*, and everything below them; never this process itself."""
    seen = [look(int(name), proc) for name in os.listdir(proc) if name.isdigit()]
    everybody = [process for process in seen if process is not None]
    children: dict[int, list[Process]] = {}
    for process in everybody:
        children.setdefault(process.parent, []).append(process)
    found: dict[int, Process] = {}
    waiting = [process for process in everybody if process.mark.startswith(prefix)]
    while waiting:
        process = waiting.pop()
        if process.pid not in found and process.pid != os.getpid():
            found[process.pid] = process
            waiting += children.get(process.pid, [])
    return sorted(found.values(), key=lambda process: process.pid)


def kill(process: Process) -> None:
    """SIGKILL for that very process, not for one that got its number meanwhile."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        fd = os.pidfd_open(process.pid)
        try:
            if lives(process.pid, process.started):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        finally:
            os.close(fd)


def become_subreaper() -> None:
    """Have what a cycle leaves behind become our child instead of init's: then it can be waited for."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> None:
    """In a child, before its program begins: SIGKILL when the loop dies, however that happens."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def reap() -> dict[int, int]:
    """Exit codes of children that have ended (minus the signal's number for those that were killed)."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)


def _mark(environ: Path) -> str:
    wanted = MARK.encode() + b"="
    try:
        variables = environ.read_bytes().split(b"\0")
    except OSError:
        return ""
    marks = (item.removeprefix(wanted) for item in variables if item.startswith(wanted))
    return next(marks, b"").decode(errors="replace")
