# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding and ending processes that descend from this one. Standard library only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Iterable

PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> bool:
    """Let orphans among our descendants become our children instead of init's; False where that is unknown."""
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def descendants(roots: Iterable[int]) -> list[int]:
    """Return the pids below the given ones, as ``/proc`` shows them now."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(name))
    found: list[int] = []
    waiting = list(roots)
    while waiting:
        below = children.get(waiting.pop(), [])
        found.extend(below)
        waiting.extend(below)
    return found


def kill_all(pids: Iterable[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def reap() -> list[int]:
    """Collect every child that has ended; return their pids."""
    ended: list[int] = []
    while True:
        try:
            pid, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended.append(pid)


def end_descendants(seconds: float = 5.0) -> None:
    """Kill everything below this process, again and again until nothing is left or the time is over."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        kill_all(descendants([os.getpid()]))
        reap()
        if not descendants([os.getpid()]):
            return
        time.sleep(0.01)
