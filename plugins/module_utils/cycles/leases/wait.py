# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waits for a lease while launchers serve its requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from .lease_cycle import LeaseStatus, Leasing

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

PATIENCE = 5.0
"""Seconds after which the lease is checked even if nothing has changed."""

PACE = 0.05
"""Minimum seconds between two checks, also when the tree changes constantly."""

RETRY = 0.5
"""Seconds after which a locked record is tried again."""


def wait_for(
    leasing: Leasing,
    store: Store,
    *,
    timeout: float,
    progress: Callable[[LeaseStatus], None] = lambda status: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> LeaseStatus:
    """Advance *leasing* at each change in ZooKeeper until it is done or *timeout* seconds are over.

    :param progress: called with the status after each check.
    :return: the last status; not ``done`` after a time-out.
    """
    changed = threading.Event()
    store.on_change(lambda path: changed.set())
    end = clock() + timeout
    while True:
        changed.clear()
        status = leasing.advance()
        progress(status)
        left = end - clock()
        if status.done or left <= 0:
            return status
        changed.wait(min(left, RETRY if status.busy else PATIENCE))
        sleep(min(PACE, max(0.0, end - clock())))
