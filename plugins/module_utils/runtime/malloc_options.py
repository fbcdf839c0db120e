# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set how the C library's malloc shares memory between threads and returns it to the system."""

from __future__ import annotations

import contextlib
import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
ARENAS = 2
THRESHOLD = 128 * 1024
"""Bytes; the value that glibc has when a process starts."""


def set_malloc_options() -> None:
    """Set the options of mallopt(3) that keep a long-lived process with many threads small.

    Call it before the first thread starts. With a C library other than glibc it does nothing.

    - All threads share two arenas (M_ARENA_MAX). By default glibc gives each thread its own arena, up to eight for each
      core, and does not use memory that was freed in one arena for another. A dozen threads that read answers of clouds
      then need the largest size a dozen times.
    - Blocks above a fixed size go back to the system when they are freed (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD). glibc
      raises that size with each larger block that is freed, to 32 MiB at most. The list of a thousand servers is a
      block of a megabyte and more, so from the second one on such blocks would stay, with gaps that nothing else fills.
    """
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, ARENAS)
        mallopt(_M_MMAP_THRESHOLD, THRESHOLD)
        mallopt(_M_TRIM_THRESHOLD, THRESHOLD)
