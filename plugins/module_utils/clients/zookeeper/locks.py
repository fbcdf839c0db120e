# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks: kazoo's recipe, taken without waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.client import TreeClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.session import (
    Session,
    Unanswered,
    translated,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreConflict, StoreError, StoreGone

try:
    from kazoo.exceptions import KazooException
    from kazoo.protocol.serialization import GetChildren
    from kazoo.recipe.lock import Lock
except ImportError:  # told by client.require_kazoo
    KazooException = Exception

_LOG = logging.getLogger(__name__)


class _BoundedClient:
    """What kazoo's Lock uses of a client, bounded in time and in one session.

    Lock repeats for ever what fails because of the connection; here that ends it.
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
    """A lock that we hold. The object is good for one session: take the lock again after a new one began.

    :ivar path: the lock directory.
    :ivar generation: the session that took it.
    """

    def __init__(self, session: Session, client: TreeClient, lock: Any, generation: int) -> None:
        self._session = session
        self._lock = lock
        self._released = False
        self.client = client
        self.path: str = lock.path
        self.contender: str = f"{lock.path}/{lock.node}"
        self.generation = generation
        session.held.add(self)

    @property
    def valid(self) -> bool:
        """False after release and once the session that took it is gone."""
        return not self._released and not self.client.dead and self._session.client is self.client

    def release(self) -> None:
        """Give the lock back. Never raises; without a connection it is made up for after the reconnection."""
        if self._released:
            return
        still_ours = self.valid
        self._released = True
        self._session.held.discard(self)
        if not still_ours:
            return
        try:
            self._lock.release()
        except Exception as problem:
            _LOG.warning("the lock %s will be released later: %s", self.path, problem)
            self._session.remove_later(self.contender)


def acquire(session: Session, path: str, *, parents: bool = False) -> Held | None:
    """Take the lock in directory *path* without waiting; None when somebody has it.

    The lock directory is made by us, without what is above it unless *parents*, and Lock is told that it is there: it
    would re-create a record that was just deleted. Two or three round trips.

    :raises StoreError: it is not known whether we have it; if we do, it is given back after the reconnection.
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
        except StoreGone:  # the cache was behind, or it was deleted a moment ago
            if not _make_directory(session, client, path, parents):
                return None
            lock.create_tried = False
            taken = lock.acquire(blocking=False)
    except StoreGone:
        return None
    except StoreError:
        session.make_up_for(partial(_withdraw, session, path, lock.prefix))
        raise
    session.settle(client)
    return Held(session, client, lock, generation) if taken else None


def _make_directory(session: Session, client: TreeClient, path: str, parents: bool) -> bool:
    """False when there is nothing to lock."""
    try:
        session.create(path, parents=parents, client=client)
    except StoreConflict:
        return True
    except StoreGone:
        return False
    return True


def _withdraw(session: Session, path: str, prefix: str) -> bool:
    """Delete the contender of an attempt of which nobody knows how it ended; False while there is none."""
    ours = [f"{path}/{name}" for name in session.tree.names(path) if name.startswith(prefix)]
    session.remove(ours)
    return bool(ours)
