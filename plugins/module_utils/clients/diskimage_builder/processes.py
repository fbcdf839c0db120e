# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a build: found by the mark in their environment, by their group and by their ancestors."""

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
"""How often what is left is killed: a process may fork while its parent dies."""
_PACE = 0.1


def of_build(build_id: str, group: int | None = None, proc: str = PROC) -> set[int]:
    """The living processes of a build.

    Those with its mark, those in the child's process *group* or session, and all that descend from one of them: sudo
    may drop the mark, and a daemon leaves its group. Never this process or one above it.
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
    """This process and everything above it."""
    chain: set[int] = set()
    pid = os.getpid()
    while pid in there and pid not in chain:
        chain.add(pid)
        pid = there[pid].parent
    return chain | {0, 1, os.getpid()}


def send(pids: Iterable[int], number: signal.Signals, runner: Run = run) -> None:
    """Send a signal; to processes of root by sudo. Those that are gone are fine."""
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
    """Ask the processes to end, wait for *grace* seconds, then kill what is left.

    :param find: those that are there now; zombies are not among them.
    :return: those that are there all the same: in an uninterruptible call of the kernel.
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
