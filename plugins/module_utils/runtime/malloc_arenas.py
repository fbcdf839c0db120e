# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the C library hands out memory to many threads."""

from __future__ import annotations

import contextlib
import ctypes

_M_ARENA_MAX = -8
ARENAS = 2


def share_arenas() -> None:
    """Have all threads share two arenas; to be called before there are threads.

    glibc gives each thread an arena of its own, up to eight for each core, and what was freed in one is not used for
    another: the answers of clouds, read by a dozen threads, then take their largest size a dozen times (mallopt(3),
    M_ARENA_MAX). Where the C library is another one nothing happens.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)
