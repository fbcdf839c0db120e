# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The time by which launchers, sweeps and requestors judge how old a record is.

A launcher deletes what others hold or have ready, and every requestor releases what has expired, whoever leased it: one
whose clock is a day ahead would do so a day early. ZooKeeper's time is the same for all.
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
"""Where every client may write."""


def unheard(_server_time: float) -> float:
    """Take ZooKeeper's time as :meth:`TreeClock.hear` does, for a host whose clock is right."""
    return 0.0


class TreeClock:
    """A clock in UNIX seconds that does not differ from ZooKeeper's by more than a few seconds. Thread-safe.

    :param wall: the clock of this host.
    """

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._ahead = 0.0

    def __call__(self) -> float:
        """Return the time of ZooKeeper, or of this host where that is right."""
        return self._wall() - self._ahead

    def ask(self, store: Store) -> str:
        """Ask ZooKeeper for its time: two round trips.

        :return: a sentence if the clock of this host is wrong, else an empty text.
        :raises StoreError: ZooKeeper's time could not be had.
        """
        began = self._wall()
        asked = store.own.server_time(_FOLDER)
        self._correct(began - asked, self._wall() - asked)
        if not self._ahead:
            return ""
        side = "ahead of" if self._ahead > 0 else "behind"
        return (
            f"the clock of this host is {span(abs(self._ahead))} {side} that of ZooKeeper, which says when leases"
            " begin and end and how old records are: synchronize the clocks"
        )

    def hear(self, server_time: float) -> float:
        """Take the time of ZooKeeper from a write that was just answered: the clock of the host may have been set.

        :return: seconds by which the clock of this host is ahead, 0 when it is right. A slow answer looks like a clock
            that is ahead.
        """
        ahead = self._wall() - server_time
        self._correct(ahead, ahead)
        return ahead if abs(ahead) > TOLERATED else 0.0

    def _correct(self, least: float, most: float) -> None:
        """Correct the clock if it is wrong: that of the host is between *least* and *most* seconds ahead."""
        if least - TOLERATED <= self._ahead <= most + TOLERATED:
            return
        self._ahead = 0.0 if least - TOLERATED <= 0.0 <= most + TOLERATED else (least + most) / 2
