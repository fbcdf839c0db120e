# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a cycle, found by a mark in their environment.

Workers of ansible-core start sessions of their own, so a cycle is neither one process group nor one session. A PID
namespace needs privileges. All processes that a cycle starts inherit its environment, which their user can read. A
child of a marked process belongs to the cycle even when its own environment has no mark.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

from ansible_collections.stackci.nodepool.plugins.module_utils.clients import proc
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.proc import Process

MARK = "STACKCI_NODEPOOL_CYCLE"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
# Loaded here and not in the child: between fork and exec as little as possible should happen.
_LIBC = ctypes.CDLL(None, use_errno=True)


def find(pid: int) -> Process | None:
    """Return a running process; None when there is none."""
    with contextlib.suppress(OSError):
        found = proc.process(pid)
        return None if found is None or found.ended else found
    return None


def lives(pid: int, started: int) -> bool:
    """True while the process with this id and start time runs."""
    found = find(pid)
    return found is not None and found.started == started


def belonging(prefix: str) -> list[Process]:
    """Return the running processes whose mark begins with *prefix*, and all their descendants, without this process."""
    living = [process for process in proc.processes().values() if not process.ended]
    children: dict[int, list[Process]] = {}
    for process in living:
        children.setdefault(process.parent, []).append(process)
    found: dict[int, Process] = {}
    waiting = [process for process in living if (proc.variable(process.pid, MARK) or "").startswith(prefix)]
    while waiting:
        process = waiting.pop()
        if process.pid not in found and process.pid != os.getpid():
            found[process.pid] = process
            waiting += children.get(process.pid, [])
    return sorted(found.values(), key=lambda process: process.pid)


def kill(process: Process) -> None:
    """Send SIGKILL to this process, never to another process that has got its id since."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        fd = os.pidfd_open(process.pid)
        try:
            if lives(process.pid, process.started):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
        finally:
            os.close(fd)


def become_subreaper() -> None:
    """Make orphaned processes of cycles children of this process instead of init, so that it can wait for them."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def prepare_child(parent: int) -> None:
    """Prepare a child between fork and exec: it gets SIGKILL when the loop dies, and ignores SIGUSR2.

    All processes that the child starts ignore SIGUSR2 too, so that the signal to all processes of a service ends none.
    """
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)


def reap() -> dict[int, int]:
    """Return the exit codes of ended children by process id; for a killed child minus the signal's number."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = os.waitstatus_to_exitcode(status)
