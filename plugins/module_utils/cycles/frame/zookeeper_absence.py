# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports when the connection to ZooKeeper is lost while a cycle works, and when it is back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ...clients.zookeeper.link.connect_errors import host_names
from ...model.config.types import ZooKeeperSettings


class Connection(Protocol):
    """The part of the Store that the frame uses."""

    @property
    def state(self) -> str:
        """The connection's state."""

    @property
    def generation(self) -> int:
        """The number of the session."""

    @property
    def refusal(self) -> str:
        """Why ZooKeeper refuses the client."""


class ZooKeeperAbsence:
    """Reports every change of the connection, also while the cycle's thread is busy.

    :param say: takes lines for the operator; called in threads of the client.
    :param clock: monotonic seconds.
    """

    def __init__(
        self,
        store: Connection,
        settings: ZooKeeperSettings,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._hosts = ", ".join(host_names(settings))
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._since: float | None = None
        self._generation = store.generation
        self._refused = ""

    def changed(self, path: str) -> None:
        """Callback for ``Store.on_change``; the path is "" when the connection has changed."""
        if path:
            return
        line, now = None, self._clock()
        refusal = self._store.refusal
        with self._lock:
            away = self._store.state != "connected"
            if away and self._since is None:
                self._since = now
                line = "the connection is lost; nothing is changed until it returns"
            elif not away and self._since is not None:
                same = self._store.generation == self._generation
                session = (
                    "" if same else (", in a new session: everything that was locked in the old one is checked again")
                )
                line = f"back after {now - self._since:.1f} s{session}"
                self._since, self._generation = None, self._store.generation
            if away and line is None and refusal and refusal != self._refused:
                line = refusal
            self._refused = refusal if away else ""
        if line is not None:
            self._say(f"ZooKeeper ({self._hosts}): {line}")
