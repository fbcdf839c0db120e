# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of kazoo's recipe, taken without waiting."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from ...model.errors import RecordClosed, StoreConflict, StoreError, StoreGone
from .link import paths
from .link.batch import Batch, Sent
from .link.session import Session
from .link.store_answers import Unanswered, translated
from .link.tree_client import TreeClient

try:
    from kazoo.exceptions import KazooException
    from kazoo.protocol.serialization import GetChildren
    from kazoo.recipe.lock import Lock
except ImportError:  # reported by client.require_kazoo
    KazooException = Exception

_LOG = logging.getLogger(__name__)


class _BoundedClient:
    """The part of a client that kazoo's Lock uses, bounded in time and to one session.

    With kazoo's own client, Lock repeats for ever an operation that fails because of the connection. Here such a
    failure ends the attempt.
    """

    def __init__(self, session: Session, client: TreeClient) -> None:
        self._session = session
        self._client = client
        self.handler = client.handler

    def create(self, path: str, data: bytes, *, ephemeral: bool, sequence: bool) -> str:
        made, _stat = self._session.create(path, data, ephemeral=ephemeral, sequence=sequence, client=self._client)
        return made

    def get_children(self, path: str) -> list[str]:
        self._session.writer(path, self._client)
        try:
            found: list[str] = self._session.perform(
                GetChildren(self._client.absolute(path), None), client=self._client
            )
        except (KazooException, Unanswered) as problem:
            raise translated(problem, path, "list") from problem
        return found

    def delete(self, path: str) -> None:
        self._session.remove([path], client=self._client)

    def retry(self, action: Callable[[], Any]) -> Any:
        return action()


class Held:
    """A lock that this session holds. It ends with the session: take the lock again in a new session.

    :ivar path: the lock directory.
    :ivar contender: this session's znode in it; without its number until the claim is answered.
    :ivar generation: the number of the session that took it.
    """

    def __init__(self, session: Session, client: TreeClient, path: str, contender: str, generation: int) -> None:
        self._session = session
        self._released = False
        self._claim: Sent | None = None
        self.client = client
        self.path = path
        self.contender = contender
        self.generation = generation
        session.held.add(self)

    @property
    def valid(self) -> bool:
        """False after release and once the session that took it is gone."""
        return not self._released and not self.client.dead and self._session.client is self.client

    def release(self, batch: Batch | None = None) -> None:
        """Release the lock. Never raises; without a connection, the lock is released after the reconnection.

        :param batch: release the lock together with these changes, and only with them.
        """
        if batch is not None:
            if self.valid:
                batch.remove(self.contender, then=lambda _path, _stat: self._over())
            return
        if self._released:
            return
        still_ours = self.valid
        self._over()
        if not still_ours:
            return
        if self._claim is not None:
            try:
                self._claim.wait()
            except StoreError:
                return  # the claim failed, or its sender withdraws the contender
        try:
            self._session.remove([self.contender], client=self.client)
        except Exception as problem:
            _LOG.warning("the lock %s will be released later: %s", self.path, problem)
            self._session.remove_later(self.contender)

    def claimed_by(self, sent: Sent) -> None:
        """Note the batch that takes the lock, which was sent."""
        self._claim = sent

    def _over(self) -> None:
        self._released = True
        self._session.held.discard(self)


def claim(session: Session, path: str, batch: Batch) -> Held | None:
    """Take the lock in directory *path* together with the changes of *batch*; return None when it is held.

    The batch creates the directory, so it has no other contender. The batch first deletes an existing directory, which
    ZooKeeper does only when it has no contenders; no other client sees it missing. When the cache was behind, or
    another client was quicker, ZooKeeper refuses the batch, and :func:`acquire` tells whether the lock is free.

    :return: a lock that this session holds only after ZooKeeper has made the changes; its release waits for that.
    """
    if session.tree.is_locked(path):
        return None
    client = session.writer(path)
    batch.use(client)
    prefix = uuid.uuid4().hex + paths.CONTENDER
    held = Held(session, client, path, f"{path}/{prefix}", session.generation)

    def ours(made: str, _stat: object) -> None:
        held.contender = made

    if session.tree.exists(path):
        batch.remove(path)
    batch.create(path)
    batch.create(f"{path}/{prefix}", ephemeral=True, sequence=True, then=ours)
    batch.if_unknown(lambda: session.make_up_for(partial(_withdraw, session, path, prefix)))
    return held


def acquire(session: Session, path: str, *, parents: bool = False) -> Held | None:
    """Take the lock in directory *path* without waiting; return None when it is held.

    This function makes the lock directory, and its parents only with *parents*, and tells Lock that the directory
    exists: Lock itself would re-create a record that was just deleted. It takes two or three round trips.

    :raises StoreError: it is unknown whether this session has the lock; if it has, the lock is released after the
        reconnection.
    """
    client = session.writer(path)
    generation = session.generation
    lock = Lock(_BoundedClient(session, client), path)
    lock.assured_path = True
    try:
        if not session.tree.exists(path) and not _make_directory(session, client, path, parents):
            return None
        try:
            taken = lock.acquire(blocking=False)
        except StoreGone:  # the cache was behind, or the directory was deleted a moment ago
            if not _make_directory(session, client, path, parents):
                return None
            lock.create_tried = False
            taken = lock.acquire(blocking=False)
    except (StoreGone, RecordClosed):
        return None
    except StoreError:
        session.make_up_for(partial(_withdraw, session, path, lock.prefix))
        raise
    return Held(session, client, path, f"{path}/{lock.node}", generation) if taken else None


class Turn:
    """A place in the queue for a lock. It vanishes with the session.

    :param contender: this session's znode in the lock directory.
    """

    def __init__(self, session: Session, client: TreeClient, path: str, contender: str, generation: int) -> None:
        self._session = session
        self._client = client
        self._path = path
        self._contender = contender
        self._generation = generation

    def take(self) -> Held | None:
        """Return the lock; None while other contenders come first.

        :raises StoreGone: the queue was deleted, most likely with the record that the lock protects.
        """
        contenders = _in_order(self._session.children(self._path))
        name = paths.split(self._contender)[1]
        if name not in contenders:
            raise StoreGone(f"{self._path} was deleted")
        if contenders[0] != name:
            return None
        return Held(self._session, self._client, self._path, self._contender, self._generation)

    def leave(self) -> None:
        """Leave the queue. Never raises; without a connection, the place is given up after the reconnection."""
        Held(self._session, self._client, self._path, self._contender, self._generation).release()


def queue(session: Session, path: str) -> Turn | None:
    """Queue for the lock in directory *path*, which :func:`acquire` does not do; return None when there is nothing to
    lock."""
    client, generation = session.writer(path), session.generation
    prefix = uuid.uuid4().hex + paths.CONTENDER
    try:
        if not session.tree.exists(path) and not _make_directory(session, client, path, False):
            return None
        contender, _stat = session.create(f"{path}/{prefix}", ephemeral=True, sequence=True, client=client)
    except StoreGone:  # the cache was behind, or it was deleted a moment ago
        return None
    except StoreError:
        session.make_up_for(partial(_withdraw, session, path, prefix))
        raise
    return Turn(session, client, path, contender, generation)


def holder(session: Session, path: str) -> str | None:
    """Return, fresh, the data that the holder of the lock in directory *path* wrote into it; None when it is free."""
    for name in _in_order(session.children(path)):
        found = session.read(f"{path}/{name}")
        if found is not None:
            return found[0].decode("utf-8", "replace")
    return None


def _in_order(contenders: list[str]) -> list[str]:
    """Sort contenders by the numbers that ZooKeeper appends: the first one has the lock."""
    return sorted((name for name in contenders if paths.CONTENDER in name), key=lambda name: name[-10:])


def _make_directory(session: Session, client: TreeClient, path: str, parents: bool) -> bool:
    """Make the lock directory; return False when there is nothing to lock."""
    try:
        session.create(path, parents=parents, client=client)
    except RecordClosed:
        raise
    except StoreConflict:
        return True
    except StoreGone:
        return False
    return True


def _withdraw(session: Session, path: str, prefix: str) -> bool:
    """Delete the contender of an attempt whose result is unknown; return False while there is none."""
    ours = [f"{path}/{name}" for name in session.tree.names(path) if name.startswith(prefix)]
    session.remove(ours)
    return bool(ours)
