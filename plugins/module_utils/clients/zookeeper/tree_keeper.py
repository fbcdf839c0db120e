# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the last state of the tree on this host when the connection to ZooKeeper is lost.

A process that follows the whole tree has it in memory, so nothing is written while ZooKeeper answers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ...model.config.types import ZooKeeperSettings
from ...model.errors import ConfigError
from ..private_file import FolderNotPrivate
from .kept_tree import TooLarge, keep
from .link.reconnecting import CONNECTED
from .link.tree import Tree

PAUSE = 1.0
"""Seconds after the loss. Most losses are shorter: another server of the ensemble answers."""


class Followed(Protocol):
    """The part of a session that is used."""

    @property
    def state(self) -> str:
        """The connection's state."""

    @property
    def tree(self) -> Tree:
        """The tree; another one after each reconnection."""


class TreeKeeper:
    """Writes the tree of a session when the session has been without a connection for PAUSE seconds.

    :param folder: where it is kept.
    :param say: takes a line when it cannot be kept; called in a thread of its own.
    :param clock: returns UNIX time.
    :param start: runs a function after PAUSE seconds, in a thread of its own.
    """

    def __init__(
        self,
        session: Followed,
        settings: ZooKeeperSettings,
        folder: str,
        say: Callable[[str], None],
        *,
        clock: Callable[[], float] = time.time,
        start: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._session = session
        self._settings = settings
        self._folder = folder
        self._say = say
        self._clock = clock
        self._start = start or _later
        self._lock = threading.Lock()
        self._connected = session.state == CONNECTED

    def changed(self, path: str) -> None:
        """Handle a change of the connection, for which the path is ""; a callback for ``on_change``."""
        if path:
            return
        with self._lock:
            before, self._connected = self._connected, self._session.state == CONNECTED
            if not before or self._connected:
                return
            seen, tree = self._clock(), self._session.tree
        self._start(lambda: self._keep(tree, seen))

    def _keep(self, tree: Tree, seen: float) -> None:
        if self._session.tree is not tree:
            return  # ZooKeeper answers again
        try:
            keep(self._folder, self._settings, tree, seen)
        except (TooLarge, FolderNotPrivate, ConfigError, OSError) as problem:
            self._say(f"ZooKeeper: the last state cannot be kept for those who look at it: {problem}")


def _later(work: Callable[[], None]) -> None:
    timer = threading.Timer(PAUSE, work)
    timer.daemon = True
    timer.name = "tree-keeper"
    timer.start()
