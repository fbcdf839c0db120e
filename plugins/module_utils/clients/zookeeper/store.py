# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The access to ZooKeeper for the rest of the collection: it owns the session and the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

from ...model.config.types import ZooKeeperSettings
from .build_verdicts import BuildVerdicts
from .components import Components
from .gate_records import Gates
from .image_records import Images
from .link import paths
from .link.batch import Batch
from .link.session import Session
from .link.tree import Tree
from .node_records import Nodes
from .own import OwnDocuments
from .protection import take_over
from .raw_images import RawImages
from .request_records import Requests
from .tree_keeper import TreeKeeper


class Store:
    """Nodepool's tree in ZooKeeper.

    Reads "from the cache" make no request and are as fresh as the watch; a write is in the cache when it returns. Every
    call is bounded in time and raises :class:`StoreError`, which names the path. A call that changes something raises
    at once while the session is suspended or lost.

    :param connect_timeout: seconds that :meth:`open` may take to connect, and that any single operation may take.
    """

    def __init__(self, settings: ZooKeeperSettings, *, connect_timeout: float = 10.0) -> None:
        self._settings = settings
        self._session = Session(settings, connect_timeout=connect_timeout)
        self.nodes = Nodes(self._session)
        self.requests = Requests(self._session)
        self.images = Images(self._session)
        self.components = Components(self._session)
        self.own = OwnDocuments(self._session)
        self.raw_images = RawImages(self._session)

    def open(
        self,
        *,
        watch: bool = True,
        mutable: bool | None = None,
        roots: Iterable[str] = paths.DOCUMENT_ROOTS,
        locks: Iterable[str] = paths.LOCKED,
    ) -> None:
        """Connect and fill the cache.

        :param watch: False reads the tree once, and never watches anything.
        :param mutable: False: nothing is ever written (check mode); None: the same as *watch*.
        :param roots: the paths that are read and watched, with everything below them.
        :param locks: the roots whose locks of nodes or requests are read.
        :raises StoreError: no server could be used in time; the message names the hosts and the remedy.
        :raises MissingLibraryError: kazoo is not installed.
        """
        self._session.open(watch=watch, mutable=mutable, roots=roots, locks=locks)

    def show(self, tree: Tree) -> None:
        """Use *tree* as the cache of a store that is not open: reads from the cache work, everything else fails."""
        self._session.tree = tree

    def keep_last_state(self, folder: str, say: Callable[[str], None]) -> None:
        """Keep the tree in *folder* when the connection is lost; for a store that follows the whole tree.

        :param say: takes a line when that is impossible; called in any thread.
        """
        self._session.on_change(TreeKeeper(self._session, self._settings, folder, say).changed)

    def protect(self) -> bool:
        """Give the collection's own part of the tree to this client's account, as the settings say.

        :return: True when access lists were changed.
        :raises StoreDenied: it belongs to another account.
        """
        return take_over(self._session)

    def close(self) -> None:
        """Close the session, and with it every lock and registration. Never raises."""
        self._session.close()

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self.close()

    @property
    def verdicts(self) -> BuildVerdicts:
        """The verdicts on builds of disk images."""
        return BuildVerdicts(self.own, self.images)

    @property
    def gates(self) -> Gates:
        """The records of the gates of disk images."""
        return Gates(self.own)

    @property
    def state(self) -> str:
        """``connected``, ``suspended`` (the session may still hold its locks; writes fail) or ``lost``."""
        return self._session.state

    @property
    def refusal(self) -> str:
        """Why ZooKeeper does not take the account of this client any more, while it is not connected; "" otherwise."""
        return self._session.refusal

    @property
    def generation(self) -> int:
        """The number of the session; it rises with each new session. Locks of older sessions are gone."""
        return self._session.generation

    @property
    def identity(self) -> tuple[int, bytes] | None:
        """Id and password of the present session; None without one. A process that knows them can end the session."""
        client = self._session.client
        return client.client_id if client is not None else None

    def fence(self, generation: int | None) -> None:
        """Limit the writes of the calling thread, from now on, to the session of that *generation*.

        A cycle must not write decisions that it made under its locks when the locks are gone: a write in a later
        session raises :class:`StoreError`, even when the connection works again. None removes the limit.
        """
        self._session.fence(generation)

    def batch(self) -> Batch:
        """Return an empty batch, for changes that happen together or not at all, in one round trip."""
        return Batch(self._session)

    def catch_up(self) -> None:
        """Wait for all changes that the calling thread has sent with :meth:`Batch.send_later`.

        After the wait the changes are also in the cache.

        :raises StoreError: ZooKeeper did not make some of the changes, or it is unknown whether it made them.
        """
        self._session.catch_up()

    def settle(self) -> None:
        """Wait until the cache has all changes that ZooKeeper had made when the call began.

        Events and answers come in order. The second read comes after the reads that events before the first one, or
        during it, have caused.

        :raises StoreError: ZooKeeper cannot be used.
        """
        for _unused in range(2):
            self._session.read(paths.OWN)

    def give_up(self) -> None:
        """Wait as :meth:`catch_up` does, and ignore errors: for a caller that starts anew in any case."""
        self._session.give_up()

    def release_locks(self) -> None:
        """Release every lock that was taken through this store, whatever object has its :class:`Held`. Never raises.

        This is for a caller that no longer knows which locks it holds. Without a connection, a lock is released after
        the reconnection.
        """
        for held in list(self._session.held):
            held.release()

    def queues(self) -> dict[str, int]:
        """Return the lengths of the queues between ZooKeeper and the cache; see :meth:`Session.queues`."""
        return self._session.queues()

    def odd_documents(self) -> list[str]:
        """Return a sentence about each document that was found unusable since the last call; each only once."""
        return self._session.unusable.drain()

    def on_change(self, callback: Callable[[str], None]) -> None:
        """Call *callback* with the path of each change, and with "" when the state changed or the cache was rebuilt.

        Any thread may call *callback*: it must be quick and must not use the Store.
        """
        self._session.on_change(callback)
