# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kazoo's connection thread, with fewer system calls and thread switches.

For each request kazoo wakes its thread, waits until the socket is writable, and writes; for each answer it waits until
the socket is readable, reads, and wakes another thread, which calls the callback of the answer. In a burst there are
dozens of requests and answers at once. Here waiting requests are written together, answers that have arrived are read
one after the other as long as no request waits, and the connection's thread itself calls the callbacks of answers and
events.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from .read_ahead import ReadAheadSocket, ready

try:
    from kazoo.exceptions import EXCEPTIONS, AuthFailedError, SessionExpiredError, ZookeeperError
    from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
    from kazoo.protocol.connection import ConnectionDropped, ConnectionHandler, RWServerAvailable
    from kazoo.protocol.serialization import Watch

    _BROKEN: tuple[type[Exception], ...] = (
        ConnectionDropped,
        KazooTimeoutError,
        SessionExpiredError,
        RWServerAvailable,
        OSError,
    )
except ImportError:  # reported by client.require_kazoo
    SequentialThreadingHandler = ConnectionHandler = object

_LOG = logging.getLogger(__name__)
_MOST_ANSWERS = 100
"""Answers that are read before the thread checks whether a ping is due."""
_MOST_BYTES = 256 * 1024
"""Bytes of requests after which they are written, even when more requests wait."""


def _unknown_error(code: int) -> Exception:
    problem: Exception = ZookeeperError(f"error {code}")
    problem.code = code  # type: ignore[attr-defined]  # as kazoo's own errors have it
    return problem


class _Queue(queue.SimpleQueue[Any]):
    """A queue with the method :meth:`task_done`, which kazoo's threads call and nothing waits for."""

    def task_done(self) -> None:
        """Do nothing."""


class _Bell:
    """Both ends of the socket pair that wakes kazoo's thread for each request.

    At most one byte is in the sockets. The thread may handle a request before its :meth:`send`, which then writes
    nothing.

    :param reader: the end that the thread waits for, as kazoo makes it.
    :param writer: the other end, as kazoo makes it.
    """

    def __init__(self, reader: Any, writer: Any) -> None:
        self._reader = reader
        self._writer = writer
        self._lock = threading.Lock()
        self._requests = 0
        self._closed = False

    def send(self, _byte: bytes) -> int:
        """Count one more request, and wake the thread when it is the first one.

        :raises OSError: the connection is closed.
        """
        with self._lock:
            if self._closed:
                raise OSError("the connection is closed")
            self._requests += 1
            if self._requests == 1:
                self._writer.send(b"\0")
        return 1

    def recv(self, _size: int) -> bytes:
        """Count one request as handled."""
        with self._lock:
            self._requests -= 1
            if self._requests == 0:
                self._reader.recv(1)
        return b"\0"

    def fileno(self) -> int:
        """Return the file descriptor of the end that the thread waits for."""
        return int(self._reader.fileno())

    def close(self) -> None:
        """Close both ends."""
        self._closed = True
        self._reader.close()
        self._writer.close()


class Handler(SequentialThreadingHandler):
    """A handler of kazoo that reads ahead and bounds each attempt to connect.

    So a server that does not answer cannot use up the time for all servers.
    """

    queue_impl = _Queue

    def __init__(self, attempt_timeout: float) -> None:
        super().__init__()
        self.attempt_timeout = attempt_timeout
        self._connection_thread = 0

    def begin(self) -> None:
        """Note the calling thread as the connection's thread."""
        self._connection_thread = threading.get_ident()

    def tell(self, call: Callable[[], object]) -> None:
        """Make *call*: at once in the connection's thread, by the queue of callbacks from any other thread.

        Other threads only report that a request cannot be sent any more; the order does not matter for that.
        """
        if threading.get_ident() != self._connection_thread and self.running:
            self.completion_queue.put(call)
            return
        try:
            call()
        except Exception:
            _LOG.exception("the handler of an answer or event of ZooKeeper failed")

    def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Return a connected socket."""
        kwargs["timeout"] = min(kwargs.get("timeout") or self.attempt_timeout, self.attempt_timeout)
        return ReadAheadSocket(super().create_connection(*args, **kwargs))

    def create_socket_pair(self) -> Any:
        """Return the pair that wakes the connection's thread: (the thread's end, the end of the senders)."""
        bell = _Bell(*super().create_socket_pair())
        return bell, bell

    def select(self, readers: Any, writers: Any, _exceptional: Any, timeout: float | None = None) -> Any:
        """Wait for sockets as :func:`select.select` does; the list of exceptional sockets is always empty."""
        return *ready(readers, writers, timeout), []


class Answer:
    """A replacement of kazoo's AsyncResult for a request whose answer goes to one callback.

    :param callback: called once with this object, in the connection's thread, also when two threads report an end.
    """

    __slots__ = ("_callbacks", "_handler", "exception", "value")

    def __init__(self, handler: Any, callback: Callable[[Answer], None]) -> None:
        self._handler = handler
        self._callbacks = [callback]
        self.value: Any = None
        self.exception: Exception | None = None

    def set(self, value: Any = None) -> None:
        """Set the value of the answer, and call the callback."""
        self.value = value
        self._tell()

    def set_exception(self, exception: Exception) -> None:
        """Set the error (of the answer, or for the lack of one), and call the callback."""
        if self._callbacks:
            self.exception = exception
        self._tell()

    def _tell(self) -> None:
        try:
            callback = self._callbacks.pop()
        except IndexError:
            return
        self._handler.tell(partial(callback, self))


class Wire(ConnectionHandler):
    """The code of the connection's thread."""

    _trying = ""
    _together: bytearray | None = None
    """The requests that will be written together; None while each request is written at once."""

    def zk_loop(self) -> None:
        """Run the thread."""
        self.handler.begin()
        super().zk_loop()

    def _invoke(self, *args: Any, **options: Any) -> Any:
        # The first request of a session is sent as soon as the server has accepted the connection.
        self.client.tried[self._trying] = True
        return super()._invoke(*args, **options)

    @property
    def arrived(self) -> int:
        """See :attr:`TreeClient.arrived`."""
        socket = self._socket
        return socket.messages if isinstance(socket, ReadAheadSocket) else 0

    def _send_request(self, read_timeout: float, connect_timeout: float) -> None:
        self._together = bytearray()
        try:
            super()._send_request(read_timeout, connect_timeout)
            while self.client._queue and len(self._together) < _MOST_BYTES:
                super()._send_request(read_timeout, connect_timeout)
        finally:
            together, self._together = self._together, None
            if together:
                self._write(together, connect_timeout)

    def _write(self, msg: bytes | bytearray, timeout: float) -> None:
        if self._together is None:
            super()._write(msg, timeout)
        else:
            self._together += msg

    def _read_socket(self, read_timeout: float) -> Any:
        for _unused in range(_MOST_ANSWERS):
            response = super()._read_socket(read_timeout)
            if response is not None or self.client._queue or not self._socket.has_message():
                return response
        return None

    def _read(self, length: int, timeout: float) -> Any:
        piece = self._socket.take(length)
        return super()._read(length, timeout) if piece is None else piece

    def _read_response(self, header: Any, buffer: bytes, offset: int) -> Any:
        if header.err and header.err not in EXCEPTIONS:
            # At an error that it does not know kazoo ends the thread, and tells nobody what became of the request.
            EXCEPTIONS[header.err] = partial(_unknown_error, header.err)
        return super()._read_response(header, buffer, offset)

    def _read_watch_event(self, buffer: bytes, offset: int) -> None:
        event, _offset = Watch.deserialize(buffer, offset)
        client = self.client
        if event.path in client._data_watchers or event.path in client._child_watchers:
            super()._read_watch_event(buffer, offset)
        self.handler.tell(partial(client.on_event, event.type, client.unchroot(event.path)))

    def _authenticate_with_sasl(self, host: str, timeout: float) -> None:
        # A server that does not know SASL gives no answer.
        try:
            super()._authenticate_with_sasl(host, min(timeout, self.handler.attempt_timeout))
        except KazooTimeoutError as problem:
            raise AuthFailedError("no answer to the login") from problem

    def _connect(self, host: str, hostip: str, port: int) -> Any:
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.client.tried[name] = False
        self._trying = name
        try:
            read_timeout, connect_timeout = super()._connect(host, hostip, port)
        except Exception as problem:
            self.client.failures[name] = problem
            if not self.client.logging_in or isinstance(problem, AuthFailedError):
                raise
            # ZooKeeper also closes the connection of a client whose account it does not take.
            refused = AuthFailedError(f"{type(problem).__name__}: {problem}")
            self.client.failures[name] = refused
            if isinstance(problem, _BROKEN):
                raise
            # At an error that it does not know kazoo ends the thread, and tells nobody.
            raise refused from problem
        self.client.logged_in()
        self.client.negotiated_timeout = read_timeout * 1.5 / 1000.0  # kazoo returns only two thirds of it
        return read_timeout, connect_timeout
