# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps a build apart from the rest of the machine, as far as the machine permits it."""

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
"""The first process in a namespace of its own. Everything else in it dies with it, so it waits for what still writes to
the log when diskimage-builder itself has ended."""
_ORPHAN = 128 + 9
_UNLESS_ORPHANED = f'[ "$PPID" = "$0" ] || exit {_ORPHAN}; exec "$@"'
"""A process that asks to die with its parent is not told of a parent that has died before: so it looks (prctl(2))."""


@dataclass(frozen=True)
class Isolation:
    """How a child is started.

    :ivar level: what it has of its own: ``processes and mounts`` (everything in it ends with it, whatever happens),
        ``mounts``, or ``none``.
    :ivar prefix: goes before its argv.
    :ivar why_not: what the system said to the better ones; empty when this is the best.
    """

    level: str = NONE
    prefix: tuple[str, ...] = ()
    why_not: str = ""


def find_isolation(
    runner: Run = run, which: Callable[[str], str | None] = shutil.which, allowed: str = FULL
) -> Isolation:
    """The best that this machine permits; tries it out. What it finds is for children of this process.

    :param allowed: the most to use.
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
