# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP server: waitress in a thread of its own, on a socket that is bound before it starts."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from ...model.errors import ConfigError
from ..libraries import create_server, require_libraries
from .crowd import Crowd
from .parsing import Channel

_LOG = logging.getLogger(__name__)

THREADS = 8
CONNECTIONS = 2000
"""Most connections at once; further ones wait in the kernel's queue."""
SILENCE = 30
"""Seconds after which an inactive connection is closed: against clients that send or read too slowly."""
LONGEST_HEADER = 16384
LONGEST_BODY = 1
"""Most bytes of a body: requests to this service have none."""
BACKLOG = 1024
TICK = 1.0


class AddressError(ConfigError):
    """The server cannot listen on the address, at least not now."""


class Listening:
    """A context in which the server answers requests.

    :param application: a WSGI application.
    :param host: an address of this machine or its name; ``0.0.0.0`` or ``::`` for all.
    :param port: 0 takes a free one, see :attr:`port`.
    :raises AddressError: when the address cannot be used.
    :raises MissingLibraryError: when waitress or werkzeug is not installed.
    """

    def __init__(self, application: Callable[..., Any], host: str, port: int) -> None:
        require_libraries()
        # Without this waitress warns of each request that waits for a thread, which is normal.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._socket = _bound(host, port)
        self.host, self.port = self._socket.getsockname()[:2]
        self._channels: dict[int, Any] = {}
        self._server = create_server(
            application,
            map=self._channels,
            sockets=[self._socket],
            threads=THREADS,
            connection_limit=CONNECTIONS,
            channel_timeout=SILENCE,
            cleanup_interval=10,
            max_request_header_size=LONGEST_HEADER,
            max_request_body_size=LONGEST_BODY,
            backlog=BACKLOG,
            clear_untrusted_proxy_headers=True,
            asyncore_use_poll=True,
            ident=None,
        )
        self._server.channel_class = Channel
        self._crowd = Crowd()
        self._ending = False
        self.beaten = time.monotonic()
        """When the server's thread last completed a turn, in seconds that never go back."""
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        if self._ending:
            return  # its file descriptors are closed, and may belong to somebody else by now
        self._ending = True
        self._server.pull_trigger()
        self._thread.join(5.0)
        self._server.task_dispatcher.shutdown(timeout=2)
        self._server.asyncore.close_all(self._channels, ignore_all=True)

    @property
    def address(self) -> str:
        """The server's URL."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def _serve(self) -> None:
        while not self._ending:
            try:
                self._server.asyncore.loop(timeout=TICK, map=self._channels, use_poll=True, count=1)
                self._crowd.step(self._server.active_channels.values(), time.monotonic())
            except Exception:
                # A temporary lack of file descriptors must not end the server's thread.
                _LOG.exception("the HTTP server failed unexpectedly")
                time.sleep(TICK)
            self.beaten = time.monotonic()


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the address.

    :raises AddressError: when that fails; the message has the address and a remedy.
    """
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except BaseException:
            made.close()
            raise
    except (OSError, OverflowError, UnicodeError) as problem:
        raise AddressError(
            [f"webapp: {host} port {port} cannot be opened: {problem}: correct port or listen_address"]
        ) from problem
    return made
