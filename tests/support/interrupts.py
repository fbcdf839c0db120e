# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C for what tests start, also where they run in the background."""

from __future__ import annotations

import signal


def heed_interrupts() -> None:
    """Have SIGINT end what this process starts from now on.

    A shell without job control starts what it runs in the background with SIGINT ignored. All that tests start would
    inherit that, and tests of Ctrl-C would wait in vain.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
