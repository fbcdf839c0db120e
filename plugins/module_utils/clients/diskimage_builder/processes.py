# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a build, found by the mark in their environment, by their group and by their ancestors."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable

from ..proc import PROC, Process, processes, variable
from .commands import (
    Run,
    as_root,
    run,
)

MARK = "STACKCI_NODEPOOL_BUILD"
"""The environment variable that every process of a build carries; its value is the build's id."""
ROUNDS = 20
"""Maximum number of rounds of SIGKILL: a process may fork while its parent dies."""
_PACE = 0.1


def of_build(build_id: str, group: int | None = None, proc: str = PROC) -> set[int]:
    """Return the living processes of a build, never this process or its ancestors.

    They are the processes with the build's mark, those in the child's process *group* or session, and all descendants
    of these: sudo may drop the mark, and a daemon leaves its group.
    """
    there = processes(proc)
    ours = {
        pid
        for pid, process in there.items()
        if (group is not None and group in (process.group, process.session)) or variable(pid, MARK, proc) == build_id
    }
    known = -1
    while len(ours) != known:
        known = len(ours)
        ours |= {pid for pid, process in there.items() if process.parent in ours}
    return {pid for pid in ours - _ourselves(there) if not there[pid].ended}


def _ourselves(there: dict[int, Process]) -> set[int]:
    """Return this process, its ancestors, and the ids 0 and 1."""
    chain: set[int] = set()
    pid = os.getpid()
    while pid in there and pid not in chain:
        chain.add(pid)
        pid = there[pid].parent
    return chain | {0, 1, os.getpid()}


def send(pids: Iterable[int], number: signal.Signals, runner: Run = run) -> None:
    """Send a signal, by sudo to processes of other users. It is not an error when a process is gone."""
    refused = []
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            refused.append(str(pid))
    if refused:
        runner(as_root(["kill", f"-{number.name.removeprefix('SIG')}", *refused]))


def end(
    find: Callable[[], set[int]],
    *,
    grace: float,
    sleep: Callable[[float], None] = time.sleep,
    signal_to: Callable[[Iterable[int], signal.Signals], None] = send,
) -> set[int]:
    """Send the processes SIGTERM, wait for *grace* seconds, then kill the rest.

    :param find: returns the processes that exist now, without zombies.
    :return: the processes that still exist, because they are in an uninterruptible call of the kernel.
    """
    left = find()
    if left and grace > 0:
        signal_to(left, signal.SIGTERM)
        for _look in range(max(1, round(grace / _PACE))):
            sleep(_PACE)
            left = find()
            if not left:
                return left
    for _round in range(ROUNDS):
        if not left:
            break
        signal_to(left, signal.SIGKILL)
        sleep(_PACE)
        left = find()
    return left
