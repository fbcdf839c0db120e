# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One ZooKeeper session over kazoo, with features that kazoo lacks.

kazoo up to 2.11 has no persistent watches, hands watch events and answers to different threads (so their order is
lost), retries connecting for ever without saying why it fails, queues requests while it is disconnected and sends them
later, and opens a new session by itself when the old one has expired. Here

* ``AddWatch`` is an additional request, and its events come through the queue of the answers: code that runs there
  sees events and answers in the order in which the server sent them;
* a request without a connection fails at once;
* a session that has expired stays dead: the next session is another object;
* the reason why each server could not be used is kept.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from typing import Any, NamedTuple

from ....model.config.types import ZooKeeperAuth, ZooKeeperTls
from ....model.errors import MissingLibraryError, StoreError, UnsuitableLibraryError
from . import paths
from .accounts import credentials, sasl_options
from .kazoo_names import TESTED, missing
from .wire import Answer, Handler, Wire

IMPORT_ERROR: str | None = None
try:
    from kazoo.client import KazooClient
    from kazoo.exceptions import ConnectionClosedError, ConnectionLoss
    from kazoo.handlers.threading import SequentialThreadingHandler
    from kazoo.protocol.connection import ConnectionHandler
    from kazoo.protocol.serialization import int_struct, write_string
    from kazoo.protocol.states import KeeperState
    from kazoo.recipe.lock import Lock
except ImportError:  # ansible-test imports every file without third-party libraries
    IMPORT_ERROR = traceback.format_exc()
    KazooClient = object

_LOG = logging.getLogger(__name__)
_PERSISTENT_RECURSIVE = 1

CREATED, DELETED = 1, 2
UP, DOWN, DEAD = "up", "down", "dead"


def require_kazoo() -> None:
    """Check that kazoo is installed, and has all that the collection uses of it.

    :raises MissingLibraryError: kazoo is not installed.
    :raises UnsuitableLibraryError: this release of kazoo lacks something.
    """
    if IMPORT_ERROR is not None:
        raise MissingLibraryError("kazoo", IMPORT_ERROR)
    lacks = _lacks()
    if lacks:
        raise UnsuitableLibraryError("kazoo", version("kazoo"), lacks, TESTED)


@cache
def _lacks() -> tuple[str, ...]:
    return tuple(missing(ConnectionHandler, KazooClient, SequentialThreadingHandler, Lock))


class AddWatch(NamedTuple):
    """The request that sets a persistent recursive watch; ZooKeeper 3.6 and later."""

    path: str
    type: int = 106

    def serialize(self) -> bytes:
        """Return the request as it is sent."""
        return bytes(write_string(self.path) + int_struct.pack(_PERSISTENT_RECURSIVE))

    @classmethod
    def deserialize(cls, _data: bytes, _offset: int) -> bool:
        """Return True: the answer has no content."""
        return True


class TreeClient(KazooClient):
    """A session from its beginning to its end.

    :param hosts: the servers in kazoo's format, with the chroot after the last one.
    :param attempt_timeout: seconds for connecting to one server.
    :param on_link: called in the connection's thread with ``up``, ``down`` or (once) ``dead``.
    :param on_event: called with the kind and path of each change below the watched path, in order with the answers.
    :param identity: id and password of an existing session; None begins a new one.
    :ivar failures: server → why it could not be used.
    :ivar tried: server → whether it accepted the connection.
    :ivar logging_in: True from the beginning of a connection until the server has accepted the account.
    :ivar generation: the number of this session among those of its owner; 0 until it is up.
    """

    def __init__(
        self,
        hosts: str,
        *,
        tls: ZooKeeperTls | None,
        auth: ZooKeeperAuth | None,
        timeout: float,
        attempt_timeout: float,
        on_link: Callable[[TreeClient, str], None],
        on_event: Callable[[int, str], None],
        identity: tuple[int, bytes] | None = None,
    ) -> None:
        super().__init__(
            hosts=hosts,
            timeout=timeout,
            client_id=identity,
            auth_data=credentials(auth),
            handler=Handler(attempt_timeout),
            connection_retry={"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 1.0},
            command_retry={"max_tries": 1},
            logger=_LOG,
            use_ssl=tls is not None,
            certfile=tls.cert if tls else None,
            keyfile=tls.key if tls else None,
            ca=tls.ca if tls else None,
            verify_certs=True,
        )
        self._connection = Wire(self, self._conn_retry.copy(), logger=_LOG, sasl_options=sasl_options(auth))
        self._login = auth is not None
        self.logging_in = False
        self._on_link = on_link
        self.on_event = on_event
        self.failures: dict[str, Exception] = {}
        self.tried: dict[str, bool] = {}
        self.negotiated_timeout = timeout
        self.dead = False
        self.generation = 0
        self.seen_zxid = 0

    def submit(self, request: Any, callback: Callable[[Answer], None]) -> None:
        """Send *request*; *callback* gets the answer in the connection's thread, in order with answers and events."""
        answer = Answer(self.handler, callback)
        self._call(request, answer)
        if self._state != KeeperState.CONNECTED:
            # It may have been queued just after all queued requests had failed: then it would never get an answer.
            answer.set_exception(ConnectionLoss())

    def _call(self, request: Any, async_object: Any) -> bool | None:
        """Queue a request and wake the connection's thread; return False, as kazoo does, if the session has ended.

        kazoo's own catches whatever is raised meanwhile, also by the handler of a signal. Ctrl-C, or a SIGTERM, just
        after a request was queued was lost then, and the request counted as unanswered although it was sent.
        """
        if self._state in (KeeperState.AUTH_FAILED, KeeperState.CLOSED, KeeperState.EXPIRED_SESSION):
            super()._call(request, async_object)  # which refuses it
            return False
        self._queue.append((request, async_object))
        try:
            self._connection._write_sock.send(b"\0")
        except (AttributeError, OSError):  # the connection was closed in this moment
            async_object.set_exception(ConnectionClosedError("the connection has been closed"))
        return None

    @property
    def arrived(self) -> int:
        """The number of answers and events that were read and not handled yet. Any thread may read it."""
        return self._connection.arrived

    def absolute(self, path: str) -> str:
        """Return *path* with the chroot in front, as requests need it.

        :raises StoreError: no znode can have this path.
        """
        if not paths.can_be(path):
            raise StoreError(f"{path!r} is not a valid path in ZooKeeper: correct the document that has it")
        return (self.chroot + path.rstrip("/") if path == "/" else self.chroot + path) or "/"

    def watch_below(self, path: str, callback: Callable[[Any], None]) -> None:
        """Ask for an event at each change of *path* and below; the watch lasts until the connection ends."""
        self.submit(AddWatch(self.absolute(path)), callback)

    def discard(self, *, wait: float = 0.0) -> None:
        """End the session; wait at most *wait* seconds for its end."""
        self.dead = True
        ending = threading.Thread(target=self._end, name="zookeeper-end", daemon=True)
        ending.start()
        ending.join(wait)

    def _end(self) -> None:
        with contextlib.suppress(Exception):
            self.stop()
        with contextlib.suppress(Exception):
            self._safe_close()
        with contextlib.suppress(Exception):
            self.close()

    def logged_in(self) -> None:
        """Handle the end of the log-in, which follows the beginning of each connection."""
        if self._login:
            self.logging_in = False
            self._on_link(self, UP)

    def _session_callback(self, state: Any) -> None:
        before = self._state
        if state in (KeeperState.CONNECTED, KeeperState.CONNECTED_RO):
            if not self._stopped.is_set():
                self._notify_pending(KeeperState.CONNECTING)
            super()._session_callback(state)
            self.logging_in = self._login
            if not self._login:
                self._on_link(self, UP)
            return
        self.logging_in = False
        ended = state in (KeeperState.EXPIRED_SESSION, KeeperState.AUTH_FAILED, KeeperState.CLOSED)
        if ended:
            self.dead = True
            self._stopped.set()
        self.seen_zxid = max(self.seen_zxid, self.last_zxid)  # kazoo forgets it with the session
        if state != before:
            # Called before kazoo fails the open requests, so that their callbacks find the new state.
            self._on_link(self, DEAD if ended else DOWN)
        super()._session_callback(state)
