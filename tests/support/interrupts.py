# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Signals for what tests start, also where they run in the background or under nohup."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


def heed_interrupts() -> None:
    """Have SIGINT end what this process starts from now on.

    A shell without job control starts what it runs in the background with SIGINT ignored. All that tests start would
    inherit that, and tests of Ctrl-C would wait in vain.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def heeded(number: int) -> Iterator[None]:
    """Have a signal end this process and what it starts meanwhile, if it was ignored: under nohup SIGHUP is."""
    before = signal.getsignal(number)
    if before is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)
