# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time by which requestors judge leases.

Every requestor releases what has expired, whoever leased it: one whose clock is a day ahead would release the nodes of
all others while they are in use. ZooKeeper's time is the same for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...model.lines import span
from ...model.own_tree import LEASE_LOCKS

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

TOLERATED = 5.0
"""Seconds by which the clock of a host may differ from ZooKeeper's."""
_FOLDER = f"{LEASE_LOCKS}/clock"
"""Where every requestor may write."""


def tree_clock(store: Store, clock: Callable[[], float] = time.time) -> tuple[Callable[[], float], list[str]]:
    """Return a clock in UNIX seconds that does not differ from ZooKeeper's by more than a few seconds.

    :param clock: the clock of this host, which is returned where it is right.
    :return: the clock, and a sentence if that of this host is wrong.
    :raises StoreError: ZooKeeper's time could not be had.
    """
    ahead = clock() - store.own.server_time(_FOLDER)
    if abs(ahead) <= TOLERATED:
        return clock, []
    side = "ahead of" if ahead > 0 else "behind"
    told = (
        f"the clock of this host is {span(abs(ahead))} {side} that of ZooKeeper, by which leases begin and end:"
        " synchronize the clocks"
    )
    return lambda: clock() - ahead, [told]
