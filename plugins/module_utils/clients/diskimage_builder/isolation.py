# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The isolation of a build from the rest of the machine, as far as the machine permits it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass

from .commands import Run, run

FULL = "processes and mounts"
MOUNTS = "mounts"
NONE = "none"

_UNSHARE = ("unshare", "--mount", "--propagation", "slave")
_PROCESSES = ("--pid", "--fork", "--kill-child", "--mount-proc")
_LAST_SECONDS = 5
_INIT = (
    '"$@"; code=$?; looks=0; '
    f'while [ "$looks" -lt {_LAST_SECONDS * 10} ]; do set -- /proc/[0-9]*; [ "$#" -gt 1 ] || break; '
    'sleep 0.1; looks=$((looks + 1)); done; exit "$code"'
)
"""The first process in the build's PID namespace. All others die with it, so after the end of diskimage-builder it
waits up to 5 s for processes that still write to the log."""
_ORPHAN = 128 + 9
_UNLESS_ORPHANED = f'[ "$PPID" = "$0" ] || exit {_ORPHAN}; exec "$@"'
"""Ends the child when its parent has died already: PR_SET_PDEATHSIG (prctl(2)) only tells of a later death."""


@dataclass(frozen=True)
class Isolation:
    """The isolation that a child is started with.

    :ivar level: the namespaces that the child has of its own: ``processes and mounts`` (all its processes end with it
        in any case), ``mounts``, or ``none``.
    :ivar prefix: words that go before the child's argv.
    :ivar why_not: the system's errors for better levels; empty when no better level failed.
    """

    level: str = NONE
    prefix: tuple[str, ...] = ()
    why_not: str = ""


def find_isolation(
    runner: Run = run, which: Callable[[str], str | None] = shutil.which, allowed: str = FULL
) -> Isolation:
    """Return the best isolation that this machine permits, found by trying. It is valid for children of this process.

    :param allowed: the highest level that may be used.
    """
    guard = ("sh", "-c", _UNLESS_ORPHANED, str(os.getpid()))
    dying = ("setpriv", "--pdeathsig", "KILL", "--", *guard) if which("setpriv") else ()
    refusals: list[str] = []
    for level, words in ((FULL, (*_UNSHARE, *_PROCESSES)), (MOUNTS, _UNSHARE)):
        if (level == MOUNTS and allowed == NONE) or (level == FULL and allowed != FULL):
            continue
        init = ("sh", "-c", _INIT, "build") if level == FULL else ()
        prefix = (*dying, *words, "--", *init)
        answer = runner([*prefix, "true"])
        if answer.ok:
            return Isolation(level, prefix, "; ".join(refusals))
        refusals.append(answer.output or f"unshare ended with {answer.code}")
    usable = bool(dying) and runner([*dying, "true"]).ok
    return Isolation(NONE, dying if usable else (), "; ".join(dict.fromkeys(refusals)))
