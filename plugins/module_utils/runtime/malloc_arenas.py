# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The number of the C library's memory arenas."""

from __future__ import annotations

import contextlib
import ctypes

_M_ARENA_MAX = -8
ARENAS = 2


def share_arenas() -> None:
    """Make all threads share two arenas. Call it before the first thread starts.

    glibc gives each thread an arena of its own, up to eight for each core, and does not use memory that was freed in
    one for another. A dozen threads that read answers of clouds then need the largest size a dozen times (mallopt(3),
    M_ARENA_MAX). With another C library this does nothing.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)
