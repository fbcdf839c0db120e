# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live picture of a tree: the watch of one session keeps it up to date, so visitors cause no reads of ZooKeeper."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..clients.zookeeper.kept_tree import KeptTree, find
from ..clients.zookeeper.link import paths
from ..clients.zookeeper.link.reconnecting import CONNECTED
from ..clients.zookeeper.link.session import Session
from ..clients.zookeeper.link.tree_client import require_kazoo
from ..clients.zookeeper.tree_keeper import TreeKeeper
from ..clients.zookeeper.tree_reading import TreeReading
from ..model.config.types import NodepoolConfig
from ..model.errors import StoreError
from ..model.history import History
from .remembered import Remembered

T = TypeVar("T")

AGES = 1.0
"""Seconds for which a value that contains ages may be used."""
_LONGEST_PAUSE = 10.0


@dataclass(frozen=True)
class Contact:
    """The state of the connection to ZooKeeper.

    :ivar age: seconds since the tree was last known: 0 while connected, None when it never was.
    :ivar problem: why there is no connection; empty while connected.
    """

    connected: bool
    age: float | None
    problem: str = ""


@dataclass(frozen=True)
class Snapshot:
    """The input of a handler: the state of the tree when the request came.

    :ivar reading: the rows of ``reporting.info`` are made from it. It shows the live tree, which may change meanwhile.
    :ivar now: UNIX time.
    """

    config: NodepoolConfig
    reading: TreeReading
    now: float
    contact: Contact
    picture: Picture

    def remembered(
        self, name: object, make: Callable[[], T], *, roots: Sequence[str] = (paths.ROOT,), valid: float = AGES
    ) -> T:
        """Return what *make* returns, computed at most once for each version of the znodes below *roots*.

        A value that takes long is computed at most twice a second, even when the tree changes; see :mod:`remembered`.

        :param name: unique among all callers. It must not contain text that a visitor has typed: few names are kept.
        :param roots: the paths that *make* reads: folders of ``/nodepool`` or ``/nodepool/stackci``.
        :param valid: seconds for which the value stays right when nothing changes; math.inf when it has no ages in it.
        """
        return self.picture.remembered.value(name, self.picture.versions(roots), valid, make)


class Picture:
    """The tree of one ZooKeeper, kept up to date.

    :param clock: returns UNIX time.
    :param monotonic: returns seconds that never go back.
    :param session: made from the configuration by default.
    :param pause: seconds between the first two attempts to connect; the pauses grow.
    :param folder: where the last state is kept when the connection is lost, and looked for when there is none at the
        beginning; "" for nowhere.
    """

    def __init__(
        self,
        config: NodepoolConfig,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        session: Session | None = None,
        pause: float = 1.0,
        folder: str = "",
    ) -> None:
        self._pause = pause
        self._folder = folder
        self._kept: KeptTree | None = None
        self._config = config
        self._clock = clock
        self._monotonic = monotonic
        self._session = session or Session(config.zookeeper)
        self.remembered = Remembered(monotonic)
        self.history = History()
        """The last hours, as far as somebody records them."""
        self.file_problems: tuple[str, ...] = ()
        """What is wrong with the files of the configuration, while a former one is used."""
        self._lock = threading.Lock()
        self._changes: Counter[str] = Counter()
        self._heard: float | None = None
        self._was_connected = False
        self._problem = "connecting to ZooKeeper for the first time"
        self._closing = threading.Event()
        self._opener: threading.Thread | None = None

    # -- life ----------------------------------------------------------------------------------------------------

    def open(
        self, say: Callable[[str], None] = lambda line: None, *, opened: Callable[[], object] = lambda: None
    ) -> None:
        """Connect in the background, and retry until that succeeds; later the session reconnects by itself.

        :param say: takes a line when ZooKeeper cannot be reached.
        :param opened: called in the background when the tree has been read for the first time.
        :raises MissingLibraryError: when kazoo is not installed.
        """
        require_kazoo()
        self._session.on_change(self.changed)
        if self._folder:
            self._session.on_change(TreeKeeper(self._session, self._config.zookeeper, self._folder, say).changed)
        self._opener = threading.Thread(target=self._open, args=(say, opened), name="picture", daemon=True)
        self._opener.start()

    def close(self) -> None:
        """End the session."""
        self._closing.set()
        self._session.close()

    def _open(self, say: Callable[[str], None], opened: Callable[[], object]) -> None:
        pause, told = self._pause, ""
        while not self._closing.is_set():
            try:
                self._session.open(mutable=False)
                break
            except StoreError as problem:
                self._problem = str(problem)
                self._remember()
            if self._problem != told:
                told = self._problem
                say(told)
            self._closing.wait(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)
        if self._closing.is_set():
            self._session.close()
        else:
            opened()

    def _remember(self) -> None:
        """Show the state that was kept on this host, before the tree is known for the first time."""
        if self._folder and self._kept is None:
            now = self._clock()
            self._kept = find(self._folder, self._config.zookeeper, now)
            if self._kept is not None:
                self._heard = self._monotonic() - max(0.1, now - self._kept.seen)
                self.changed("")

    # -- changes -------------------------------------------------------------------------------------------------

    def configure(self, config: NodepoolConfig) -> None:
        """Use another configuration. Other ZooKeeper servers need a new picture."""
        self._config = config
        self.changed("")

    def tell_files(self, problems: Sequence[str]) -> None:
        """Note what is wrong with the files of the configuration now."""
        if tuple(problems) != self.file_problems:
            self.file_problems = tuple(problems)
            self.changed("")

    def changed(self, path: str) -> None:
        """Note that something has changed at *path*, or anywhere when it is empty."""
        connected = self._session.state == CONNECTED
        with self._lock:
            for root in _roots(path):
                self._changes[root] += 1
            if self._was_connected and not connected:
                self._heard = self._monotonic()
                self._problem = "the connection to ZooKeeper broke; reconnecting"
            self._was_connected = connected
            if connected:
                self._kept = None

    def versions(self, roots: Sequence[str]) -> tuple[int, ...]:
        """Return a value that differs after each change below *roots*."""
        with self._lock:
            return (self._changes[""], *(self._changes[root] for root in roots))

    # -- looking -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Return the state of the tree as far as it is known."""
        kept = self._kept
        return Snapshot(
            config=self._config,
            reading=TreeReading(self._session.tree if kept is None else kept.tree),
            now=self._clock(),
            contact=self.contact(),
            picture=self,
        )

    def contact(self) -> Contact:
        """Return the state of the connection to ZooKeeper."""
        with self._lock:
            if self._session.state == CONNECTED:
                return Contact(True, 0.0)
            age = None if self._heard is None else round(self._monotonic() - self._heard, 1)
            return Contact(False, age, self._problem)


def _roots(path: str) -> list[str]:
    """Return the folders whose version changes with *path*: /nodepool, and one or two below it."""
    if not path:
        return [""]
    parts = path.split("/")
    found = ["/".join(parts[:2]), "/".join(parts[:3])]
    if found[-1] == paths.REQUEST_LOCKS:
        found[-1] = paths.REQUESTS
    if found[-1] == paths.OWN and len(parts) > 3:
        found.append("/".join(parts[:4]))
    return found
