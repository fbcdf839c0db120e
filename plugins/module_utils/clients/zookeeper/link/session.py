# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single operations on ZooKeeper, bounded in time. Each updates the cache at once and raises StoreError."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import Any, Protocol

from ....model.config.types import ZooKeeperSettings
from ....model.errors import RecordClosed, StoreConflict, StoreError, StoreTooLarge
from . import paths
from .accounts import AccessLists
from .multi import LARGEST, TOGETHER, Multi, MultiRead, changes, failure, in_parts, size_of
from .reconnecting import CONNECTED, ReconnectingClient
from .store_answers import StoreAnswer, Unanswered, translated
from .tree import Entry, Stat
from .tree_client import TreeClient

try:
    from kazoo.exceptions import (
        ConnectionLoss,
        NoAuthError,
        NoChildrenForEphemeralsError,
        NodeExistsError,
        NoNodeError,
        NotEmptyError,
    )
    from kazoo.protocol.serialization import Create2, Delete, GetChildren, GetData, SetData
    from kazoo.security import OPEN_ACL_UNSAFE
except ImportError:  # reported by client.require_kazoo
    ConnectionLoss = NoAuthError = NoChildrenForEphemeralsError = Exception
    NodeExistsError, NoNodeError, NotEmptyError = (type(name, (Exception,), {}) for name in ("Exists", "Gone", "Full"))

# Without a handler of the folder above Python prints warnings to stderr, where a module must not write.
logging.getLogger(__name__.rsplit(".", 2)[0]).addHandler(logging.NullHandler())

_EPHEMERAL, _SEQUENCE = 1, 2
_ROUNDS = 10
_DELETED_TOGETHER = 1000
"""Most znodes in one request."""


class Releasable(Protocol):
    """A lock that can be released."""

    def release(self) -> None:
        """Release the lock."""


class Owed(Protocol):
    """Changes that were sent, whose answer no thread has waited for yet."""

    @property
    def there(self) -> bool:
        """True when the answer has arrived."""

    def wait(self) -> None:
        """Wait for the answer; raises StoreError."""


class _Own(threading.local):
    """The data of each thread: the only session in which it may write, and the answers that it waits for later."""

    def __init__(self) -> None:
        self.generation: int | None = None
        self.owed: deque[Owed] = deque()


class Session(ReconnectingClient):
    """The operations on znodes, by absolute path (``/nodepool/…``)."""

    def __init__(self, settings: ZooKeeperSettings, *, connect_timeout: float = 10.0) -> None:
        super().__init__(settings, connect_timeout=connect_timeout)
        self._own = _Own()
        self.account = settings.auth
        self.access = AccessLists(settings.auth)
        self.held: set[Releasable] = set()
        """The locks that this process has taken and not released, in this session or an earlier one."""

    def fence(self, generation: int | None) -> None:
        """See :meth:`Store.fence`."""
        self._own.generation = generation

    def owe(self, sent: Owed) -> None:
        """Leave the wait for the answer to :meth:`catch_up`."""
        self._own.owed.append(sent)

    def catch_up(self) -> None:
        """Wait for the answers to all changes that the calling thread has sent without waiting.

        :raises StoreError: ZooKeeper did not make some of the changes, or it is unknown whether it made them.
        """
        owed = self._own.owed
        while owed:
            owed.popleft().wait()

    def give_up(self) -> None:
        """Wait as :meth:`catch_up` does, and ignore errors."""
        while self._own.owed:
            with contextlib.suppress(StoreError):
                self.catch_up()

    def _look_back(self) -> None:
        """Raise the error of an earlier change whose answer has come: later changes may depend on it."""
        owed = self._own.owed
        while owed and owed[0].there:
            owed.popleft().wait()

    def perform(self, request: Any, *, client: TreeClient, apply: Callable[[Any], None] | None = None) -> Any:
        """Send *request* over *client* and wait for the answer; raises kazoo's exceptions and :class:`Unanswered`."""
        return self.submit(request, client=client, apply=apply).wait(self.timeout)

    def submit(
        self,
        request: Any,
        *,
        client: TreeClient,
        apply: Callable[[Any], None] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> StoreAnswer:
        """Send *request* over *client*; *apply* and *lost* as of :class:`StoreAnswer`.

        :raises StoreTooLarge: ZooKeeper would not accept it; nothing was sent.
        """
        size = sum(size_of(item) for item, _none in changes(request))
        if size > LARGEST:
            first = next(item.path for item, _none in changes(request))
            told = (
                f"{client.unchroot(first)} cannot be changed: the change has {size} bytes, ZooKeeper accepts {LARGEST}"
            )
            raise StoreTooLarge(told)
        answer, feed = StoreAnswer(apply, lost), self.feed
        writes = [client.unchroot(item.path) for item, _none in changes(request) if not isinstance(item, Delete)]
        if writes and feed is not None:
            answer.echo = (feed, feed.own_writes.expect(writes), client, request)
        client.submit(request, partial(self._answered, answer, client, request) if size else answer)
        return answer

    def _answered(self, answer: StoreAnswer, client: TreeClient, request: Any, result: Any) -> None:
        """Hand over the answer to a change. A record of several writers that cannot be changed is not used any more.

        Any client may make one, with an access list or as an ephemeral znode: it would end each cycle that meets it.
        """
        values = result.value if isinstance(request, Multi) and result.exception is None else [result.exception]
        place, problem = failure(values) or (0, None)
        if isinstance(problem, NoAuthError | NoChildrenForEphemeralsError):
            operation, _none = list(changes(request))[place]
            path = client.unchroot(operation.path)
            # The parent decides about what is created or deleted in it.
            record = paths.shared_record(path if isinstance(operation, SetData) else paths.split(path)[0])
            if record is not None:
                why = "its access list in ZooKeeper does not allow this client to change it"
                if isinstance(problem, NoChildrenForEphemeralsError):
                    why = "it is an ephemeral znode, which nobody can lock"
                closed = RecordClosed(f"{record} cannot be changed: {why}: correct it, or delete it by hand")
                self.unusable.add(record, why)
                if self.feed is not None:
                    self.feed.close(record)
                if isinstance(request, Multi):
                    values[place] = closed
                else:
                    result.exception = closed
        answer(result)

    def writer(self, path: str, client: TreeClient | None = None) -> TreeClient:
        """Return the session in which the caller may change *path*.

        :param client: the only session that may change it.
        :raises StoreError: there is no connection, or the session of *client* is gone, or an earlier change failed.
        """
        self._look_back()
        if not self.mutable:
            raise StoreError(f"{path} cannot be changed: the ZooKeeper session is closed, or open for reading only")
        now, state = self.client, self.state
        if now is None or state != CONNECTED:
            raise StoreError(f"{path} cannot be changed now: the connection to ZooKeeper is {state}")
        outside = self._own.generation not in (None, now.generation)
        if outside or (client is not None and client is not now):
            raise StoreError(f"{path} cannot be changed: the ZooKeeper session that held its lock is gone")
        return now

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, path: str) -> tuple[bytes, Stat] | None:
        """Return, fresh, the data and stat of a znode; None when it does not exist."""
        if not paths.can_be(path) or path.endswith("/"):
            return None
        client = self._reader(path)
        try:
            data, stat = self.perform(GetData(client.absolute(path), None), client=client)
        except NoNodeError:
            return None
        except Exception as problem:
            raise translated(problem, path, "read") from problem
        return data or b"", stat

    def read_entry(self, path: str) -> Entry | None:
        """Return, fresh, a znode; None when it does not exist.

        While nobody has written it since the cache learnt of it, that is the cache's entry, which is parsed once.
        """
        found = self.read(path)
        if found is None:
            return None
        known = self.tree.entry(path)
        return known if known is not None and known.stat.mzxid == found[1].mzxid else Entry(*found)

    def read_together(self, wanted: Iterable[str]) -> dict[str, tuple[bytes, Stat]]:
        """Return, fresh, the data and stat of those paths that exist; reads many in one request."""
        known = [path for path in dict.fromkeys(wanted) if paths.can_be(path) and not path.endswith("/")]
        found = {}
        for begin in range(0, len(known), TOGETHER):
            part = known[begin : begin + TOGETHER]
            client = self._reader(part[0])
            request = MultiRead(tuple(GetData(client.absolute(path), None) for path in part))
            try:
                answers = self.perform(request, client=client)
            except Exception as problem:
                raise translated(problem, part[0], "read") from problem
            for path, answer in zip(part, answers, strict=True):
                if isinstance(answer, Exception) and not isinstance(answer, NoNodeError):
                    raise translated(answer, path, "read") from answer
                if not isinstance(answer, Exception):
                    found[path] = (answer[0] or b"", answer[1])
        return found

    def children(self, path: str) -> list[str]:
        """Return, fresh, the names of the children; none when the znode does not exist."""
        client = self._reader(path)
        try:
            return sorted(self.perform(GetChildren(client.absolute(path), None), client=client))
        except NoNodeError:
            return []
        except Exception as problem:
            raise translated(problem, path, "list") from problem

    def _reader(self, path: str) -> TreeClient:
        client = self.client
        if client is None or self.state != CONNECTED:
            raise StoreError(f"{path} cannot be read now: the connection to ZooKeeper is {self.state}")
        return client

    # -- writing ------------------------------------------------------------------------------------------------

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequence: bool = False,
        parents: bool = False,
        client: TreeClient | None = None,
    ) -> tuple[str, Stat]:
        """Create a znode and return its path (with the sequence number) and stat.

        :param parents: create missing parents.
        :raises StoreConflict: the znode exists already.
        :raises StoreGone: the parent does not exist.
        """
        client = self.writer(path, client)
        for _round in range(_ROUNDS):
            try:
                return self._create(client, path, data, ephemeral, sequence)
            except NoNodeError as problem:
                if not parents:
                    raise translated(problem, paths.split(path)[0], "create") from problem
                try:
                    self._make(client, paths.split(path)[0])
                except Exception as trouble:
                    raise translated(trouble, paths.split(path)[0], "create") from trouble
            except Exception as problem:
                if sequence and isinstance(problem, (ConnectionLoss, Unanswered)):
                    self.undo_creation(path, data)
                raise translated(problem, path, "create") from problem
        raise StoreError(f"{path} could not be created: other clients keep deleting its parent")

    def _create(self, client: TreeClient, path: str, data: bytes, ephemeral: bool, sequence: bool) -> tuple[str, Stat]:
        flags = _EPHEMERAL * ephemeral | _SEQUENCE * sequence
        made: list[str] = []

        def apply(answer: tuple[str, Stat]) -> None:
            made.append(client.unchroot(answer[0]))
            self.written(made[0], data, answer[1], client)

        request = Create2(client.absolute(path), data, self.access.of(path), flags)
        _path, stat = self.perform(request, client=client, apply=apply)
        return made[0], stat

    def written(self, path: str, data: bytes, stat: Stat, client: TreeClient) -> None:
        """Store in the cache what *client* has written, unless the cache belongs to a later session by now.

        A lock that was taken in the earlier session is gone, and no event would remove it from the cache.
        """
        if not paths.is_cached(path) or client is not self.client:
            return
        if paths.is_lock(path):
            self.tree.touch(path)
        else:
            self.tree.put(path, data, stat)

    def ensure(self, path: str) -> None:
        """Make sure that *path* exists, as a parent for documents; makes no request when it is in the cache."""
        if self.tree.entry(path) is None:
            with contextlib.suppress(StoreConflict):
                self.create(path, parents=True)

    def _make(self, client: TreeClient, path: str) -> None:
        """Create *path* and its missing parents."""
        try:
            self._create(client, path, b"", False, False)
        except NodeExistsError:
            return
        except NoNodeError:
            parent = paths.split(path)[0]
            if not parent:
                raise
            self._make(client, parent)
            self._make(client, path)

    def undo_creation(self, path: str, data: bytes, known: Collection[str] | None = None) -> None:
        """Delete, as soon as possible, the znode of a creation whose answer was lost.

        The caller was told that the creation failed, so the znode must not exist. It is recognised by its path, by its
        exact data (documents hold times and ids), by never having been written again, and by not having existed before.
        Lock contenders have no data; :func:`locks._withdraw` recognises them by their names.

        :param known: the names that existed when the answer was lost; None for those that exist now.
        """
        parent, prefix = paths.split(path)
        before = set(self.tree.names(parent)) if known is None else known

        def amend() -> bool:
            for name, entry in self.tree.documents(parent):
                mine = name.startswith(prefix) and name not in before and entry.data == data
                if mine and entry.stat.version == 0:
                    self.remove([f"{parent}/{name}"])
                    return True
            return False

        if data:
            self.make_up_for(amend)

    def write(self, path: str, data: bytes, version: int = -1, *, client: TreeClient | None = None) -> Stat:
        """Replace the data of a znode and return its new stat.

        :param version: the version that the znode must have; -1 for any.
        :raises StoreGone: the znode does not exist.
        :raises StoreConflict: the znode has another version.
        """
        client = self.writer(path, client)

        def apply(stat: Stat) -> None:
            self.written(path, data, stat, client)

        try:
            return self.perform(SetData(client.absolute(path), data, version), client=client, apply=apply)  # type: ignore[no-any-return]
        except Exception as problem:
            raise translated(problem, path, "write") from problem

    def delete(self, path: str) -> None:
        """Delete *path* and all below it. It is not an error when it does not exist."""
        client = self.writer(path)
        try:
            if self._delete_at_once(client, self.tree.subtree(path)):
                return
            for _round in range(_ROUNDS):
                if self._delete_recursively(client, path):
                    return
        except Exception as problem:
            raise translated(problem, path, "delete") from problem
        raise StoreError(f"{path} could not be deleted: other clients keep creating znodes below it")

    def remove(self, znodes: Iterable[str], *, client: TreeClient | None = None) -> None:
        """Delete single znodes without children. It is not an error when one does not exist."""
        for path in znodes:
            using = self.writer(path, client)
            try:
                self._delete_one(using, path)
            except Exception as problem:
                raise translated(problem, path, "delete") from problem

    def _delete_one(self, client: TreeClient, path: str) -> None:
        try:
            self.perform(Delete(client.absolute(path), -1), client=client)
        except NoNodeError:
            return

    def _delete_at_once(self, client: TreeClient, znodes: list[str]) -> bool:
        """Delete all *znodes* in one transaction, very many in several; return False when the cache was behind."""
        for part in in_parts((Delete(client.absolute(path), -1) for path in znodes), _DELETED_TOGETHER):
            results = self.perform(Multi(tuple(part)), client=client)
            if any(isinstance(result, Exception) for result in results):
                return False
        return True

    def _delete_recursively(self, client: TreeClient, path: str) -> bool:
        try:
            self._delete_one(client, path)
            return True
        except NotEmptyError:
            pass
        try:
            names = self.perform(GetChildren(client.absolute(path), None), client=client)
        except NoNodeError:
            return True
        for name in names:
            self._delete_recursively(client, f"{path}/{name}")
        try:
            self._delete_one(client, path)
        except NotEmptyError:
            return False
        return True

    def _make_chroot(self, client: TreeClient) -> None:
        parts = [part for part in client.chroot.split("/") if part]
        try:
            for depth in range(1, len(parts) + 1):
                path = "/" + "/".join(parts[:depth])
                try:
                    self.perform(Create2(path, b"", OPEN_ACL_UNSAFE, 0), client=client)
                except NodeExistsError:
                    continue
        except Exception as problem:
            raise translated(problem, client.chroot, "create the chroot") from problem

    def queues(self) -> dict[str, int]:
        """Return the lengths of queues, under Nodepool's names of metrics.

        *connection_queue*: requests that are not sent yet. *event_queue*: events and answers that were read and not
        handled yet; Nodepool's three caches are one cache here, so all three have the same value. *playback_queue*:
        znodes that have changed and are being read.
        """
        client, feed = self.client, self.feed
        if client is None or feed is None:
            return {}
        found = {"client.connection_queue": len(client._queue)}
        arrived = client.arrived
        for name, root in (("node", paths.NODES), ("request", paths.REQUESTS), ("image", paths.IMAGES)):
            found[f"{name}_cache.event_queue"] = arrived
            found[f"{name}_cache.playback_queue"] = feed.being_read(root)
        return found

    def remove_later(self, path: str) -> None:
        """Delete a single znode as soon as there is a connection."""

        def amend() -> bool:
            self.remove([path])
            return True

        self.make_up_for(amend)
