# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers of ZooKeeper: the wait for one, and the StoreError for one that is an error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ....model.errors import StoreConflict, StoreDenied, StoreError, StoreGone
from .cache_sync import CacheSync
from .multi import changes
from .own_writes import Awaited
from .tree_client import TreeClient

try:
    from kazoo.exceptions import (
        BadVersionError,
        ConnectionClosedError,
        ConnectionLoss,
        NoAuthError,
        NodeExistsError,
        NoNodeError,
        NotEmptyError,
        SessionExpiredError,
    )
    from kazoo.protocol.serialization import Create2, SetData
except ImportError:  # reported by client.require_kazoo
    BadVersionError = ConnectionClosedError = ConnectionLoss = SessionExpiredError = Exception
    NoAuthError = NodeExistsError = NoNodeError = NotEmptyError = type("NotThere", (Exception,), {})


_NEEDS_ACCOUNT = -124
"""ZooKeeper's error for a client that has not logged in where it must."""


class Unanswered(Exception):
    """The server did not answer in time; it may do the operation nevertheless."""


class StoreAnswer:
    """An answer that the connection's thread hands over to the thread that waits for it.

    :param apply: called with the answer in the connection's thread, in the order of answers and events.
    :param lost: called in that thread when there is no answer.
    :ivar there: True once the answer has come.
    """

    def __init__(self, apply: Callable[[Any], None] | None = None, lost: Callable[[], None] | None = None) -> None:
        self._apply = apply
        self._lost = lost
        # A lock, because an Event costs more than all other work for an answer.
        self._open = threading.Lock()
        self._open.acquire()
        self.there = False
        self.value: Any = None
        self.error: Exception | None = None
        self.echo: tuple[CacheSync, Awaited, TreeClient, Any] | None = None

    def __call__(self, result: Any) -> None:
        """Take the answer, and wake the thread that waits for it."""
        self.error = result.exception
        if self.error is None:
            self.value = result.value
            if self._apply is not None:
                self._apply(self.value)
        elif self._lost is not None:
            self._lost()
        if self.echo is not None:
            feed, awaited, client, request = self.echo
            feed.answered(awaited, _written(client, request, self.value))
        self.there = True
        self._open.release()

    def wait(self, timeout: float) -> Any:
        """Wait for the answer and return its value; raises kazoo's exceptions and :class:`Unanswered`."""
        if not self.there:
            if not self._open.acquire(timeout=timeout):
                raise Unanswered
            self._open.release()
        if self.error is not None:
            raise self.error
        return self.value


def _written(client: TreeClient, request: Any, value: Any) -> set[str]:
    """Return the paths that a request has written, according to its answer."""
    written: set[str] = set()
    if value is None or (isinstance(value, list) and any(isinstance(item, Exception) for item in value)):
        return written
    for change, answer in changes(request, value):
        if isinstance(change, Create2):
            written.add(client.unchroot(answer[0]))
        elif isinstance(change, SetData):
            written.add(client.unchroot(change.path))
    return written


def translated(problem: Exception, path: str, verb: str) -> StoreError:
    """Return the StoreError for an exception of kazoo."""
    if isinstance(problem, StoreError):
        return problem
    if isinstance(problem, NoNodeError):
        return StoreGone(f"{path} no longer exists in ZooKeeper, or never did: cannot {verb}")
    if isinstance(problem, NoAuthError):
        return StoreDenied(
            f"ZooKeeper does not let this client {verb} {path}: the znode belongs to another account: set that"
            f" account as zookeeper-auth in secure_config (docs/security.md)"
        )
    if getattr(problem, "code", 0) == _NEEDS_ACCOUNT:
        return StoreDenied(
            f"ZooKeeper does not {verb} {path} for a client without an account (enforce.auth.enabled in its"
            f" zoo.cfg): set one as zookeeper-auth in secure_config, with a scheme from enforce.auth.schemes"
        )
    if isinstance(problem, BadVersionError):
        return StoreConflict(f"{path} was changed by another client since it was read; read it again")
    if isinstance(problem, NodeExistsError):
        return StoreConflict(f"{path} already exists in ZooKeeper")
    if isinstance(problem, NotEmptyError):
        return StoreConflict(f"{path} is not empty in ZooKeeper: another client created something below it")
    if isinstance(problem, Unanswered):
        return StoreError(f"ZooKeeper did not answer in time to: {verb} {path}; it may have been done anyway")
    if isinstance(problem, (ConnectionLoss, ConnectionClosedError)):
        return StoreError(f"the connection to ZooKeeper broke during: {verb} {path}; it may have been done anyway")
    if isinstance(problem, SessionExpiredError):
        return StoreError(f"the ZooKeeper session expired during: {verb} {path}")
    return StoreError(f"ZooKeeper refused to {verb} {path}: {type(problem).__name__} {problem}".rstrip())
