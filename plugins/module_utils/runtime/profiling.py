# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile of a cycle's deciding thread, as a file for ``python -m pstats``."""

from __future__ import annotations

import cProfile
import profile
import sys
from collections.abc import Callable
from typing import TypeVar

from ..model.lines import Trouble

MIXES_THREADS = sys.version_info >= (3, 12)
"""From this version cProfile uses ``sys.monitoring``, which reports the calls of all threads into one profile."""

R = TypeVar("R")


def profiled(path: str | None, say: Callable[[str], None], work: Callable[[], R]) -> R:
    """Do the work with a profile of this thread, and write the file at its end, also after an error.

    An error of the file does not stop the work.

    :param path: None for no profile.
    :param say: takes a line about where the profile is, or why it could not be written.
    """
    if path is None:
        return work()
    profiler = profile.Profile() if MIXES_THREADS else cProfile.Profile()
    try:
        return profiler.runcall(work)
    finally:
        try:
            profiler.dump_stats(path)
        except OSError as problem:
            say(Trouble(f"the profile could not be written: {problem}"))
        else:
            say(f"the profile of the deciding thread is in {path}")
