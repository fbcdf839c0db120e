# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a record that a build or an upload holds for long, across lost ZooKeeper sessions."""

from __future__ import annotations

from collections.abc import Callable

from ....clients.zookeeper.locks import Held
from ....model.errors import NodepoolError


class RecordLost(NodepoolError):
    """The record is not ours any more: another client deleted or changed it, or has its lock."""


class RecordLock:
    """A lock that can be taken again after a lost session, if the record has not changed.

    :param held: the lock as it was taken first.
    :param name: the name of the locked record, for messages.
    :param take: takes the lock in the current session; returns None while another session has it.
    :param check: raises RecordLost if the record has changed.
    :param patience: seconds for which another session may have the lock: ZooKeeper may not have ended our own former
        session yet.
    :param clock: monotonic seconds.
    """

    def __init__(
        self,
        held: Held,
        name: str,
        *,
        take: Callable[[], Held | None],
        check: Callable[[], None],
        patience: float,
        clock: Callable[[], float],
    ) -> None:
        self.held = held
        self._name = name
        self._take = take
        self._check = check
        self._patience = patience
        self._clock = clock
        self._refused_since: float | None = None

    def regain(self) -> bool:
        """Take the lock again if the session that held it is lost; return False while another session has it.

        :raises RecordLost: another session has had it for longer than *patience*, or the record has changed.
        :raises StoreError: a call of ZooKeeper failed.
        """
        if self.held.valid:
            return True
        self._check()  # a lock below a deleted record would create its znode again
        held = self._take()
        if held is None:
            now = self._clock()
            self._refused_since = now if self._refused_since is None else self._refused_since
            if now - self._refused_since > self._patience:
                raise RecordLost(f"the ZooKeeper session was lost, and another client now has the lock of {self._name}")
            return False
        try:
            self._check()
        except NodepoolError:
            held.release()
            raise
        self.held, self._refused_since = held, None
        return True
