# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a command ends: exit codes, and signals while it works."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudUnavailable,
    ConfigError,
    DeadlineExceeded,
    NodepoolError,
    StoreConflict,
    StoreDenied,
    StoreError,
    StoreGone,
    StoreTooLarge,
    UnknownName,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseOptionError

DONE, FAILED, USAGE, NOT_FOUND, TIMED_OUT, UNREACHABLE = 0, 1, 2, 3, 4, 5
SIGNALLED = 128
_CODES: tuple[tuple[tuple[type[NodepoolError], ...], int], ...] = (
    ((UnknownName,), NOT_FOUND),
    ((ConfigError, LeaseOptionError), USAGE),
    ((DeadlineExceeded,), TIMED_OUT),
    ((StoreGone, StoreConflict, StoreDenied, StoreTooLarge), FAILED),
    ((StoreError, CloudUnavailable), UNREACHABLE),
)
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked for the end. *number* is that of the signal."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(number)


def exit_code(error: NodepoolError) -> int:
    """Return the exit code for an error."""
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), FAILED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise :class:`Interrupted` in the main thread when a signal asks for the end.

    A signal that this process was started to ignore, as with nohup, stays ignored.
    """

    def raise_it(number: int, _frame: FrameType | None) -> None:
        raise Interrupted(number)

    heard = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]
    before: dict[int, Any] = {number: signal.signal(number, raise_it) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
