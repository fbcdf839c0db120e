# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one way to ZooKeeper: owns the session, keeps the cache and puts the entities together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from ...model.config.types import ZooKeeperSettings
from . import paths
from .batch import Batch
from .components import Components
from .images import Images
from .nodes import Nodes
from .own import OwnDocuments
from .raw_images import RawImages
from .requests import Requests
from .session import Session


class Store:
    """Nodepool's tree in ZooKeeper.

    Reads marked "cache" cost nothing and are as fresh as the watch; writes are in the cache when they return. Every
    call is bounded in time and raises :class:`StoreError` naming the path. A call that changes something raises at
    once while the session is suspended or lost.

    :param connect_timeout: seconds that :meth:`open` may take to connect, and that any single operation may take.
    """

    def __init__(self, settings: ZooKeeperSettings, *, connect_timeout: float = 10.0) -> None:
        self._session = Session(settings, connect_timeout=connect_timeout)
        self.nodes = Nodes(self._session)
        self.requests = Requests(self._session)
        self.images = Images(self._session)
        self.components = Components(self._session)
        self.own = OwnDocuments(self._session)
        self.raw_images = RawImages(self._session)

    def open(
        self, *, watch: bool = True, roots: Iterable[str] = paths.DOCUMENT_ROOTS, locks: Iterable[str] = paths.LOCKED
    ) -> None:
        """Connect and fill the cache.

        :param watch: False reads the tree once and neither watches nor writes anything, ever (check mode).
        :param roots: what is read, with everything below.
        :param locks: in which of these roots it matters whether a node or request is locked.
        :raises StoreError: no server could be used in time; the sentence names the hosts and the remedy.
        :raises MissingLibraryError: kazoo is not installed.
        """
        self._session.open(watch=watch, roots=roots, locks=locks)

    def close(self) -> None:
        """Close the session, and with it every lock and registration. Never raises."""
        self._session.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()

    @property
    def state(self) -> str:
        """``connected``, ``suspended`` (locks may still be ours; nothing can be written) or ``lost``."""
        return self._session.state

    @property
    def generation(self) -> int:
        """Rises with each new session: whatever was locked in an older one is gone."""
        return self._session.generation

    @property
    def identity(self) -> tuple[int, bytes] | None:
        """Id and password of the present session: a process that knows them can end it. None while there is none."""
        client = self._session.client
        return client.client_id if client is not None else None

    def fence(self, generation: int | None) -> None:
        """From now on the calling thread changes something only in the session of that *generation*, or not at all.

        What a cycle decided under its locks must not be written when the locks are gone: anything it then writes
        raises :class:`StoreError`, although the connection may be good again. None takes the fence away.
        """
        self._session.fence(generation)

    def batch(self) -> Batch:
        """For changes that happen together or not at all, in one round trip."""
        return Batch(self._session)

    def catch_up(self) -> None:
        """Wait for all that the calling thread has sent with :meth:`Batch.send_later`; then it is in the cache, too.

        :raises StoreError: some of it was not done, or it is unknown.
        """
        self._session.catch_up()

    def give_up(self) -> None:
        """The same, for a caller that starts afresh whatever came of it."""
        self._session.give_up()

    def release_locks(self) -> None:
        """Give back every lock that was taken through this store, whatever holds the :class:`Held`. Never raises.

        For a caller that does not know any more what it holds. What cannot be given back without a connection is given
        back after the reconnection.
        """
        for held in list(self._session.held):
            held.release()

    def queues(self) -> dict[str, int]:
        """Lengths of the queues between ZooKeeper and the cache, see :meth:`Session.queues`."""
        return self._session.queues()

    def odd_documents(self) -> list[str]:
        """A sentence about each document that could not be used, since this was asked last; each is told once."""
        return self._session.unusable.drain()

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Call *callback* with the path of each change, and with "" when the state changed or the cache was rebuilt.

        It is called from any thread and must be quick; it must not use the Store.
        """
        self._session.on_change(callback)
