# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A TCP proxy between a host and ZooKeeper, which a test cuts or makes silent."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading

HOST = "127.0.0.1"
CHUNK = 1 << 16


class Proxy:
    """Forwards every connection to a port of this machine: ``with Proxy(2181) as proxy: proxy.port``.

    One thread moves all bytes. What arrives while it is silent waits, as in a network that drops packets.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._peers: dict[socket.socket, socket.socket] = {}
        self._lock = threading.Lock()
        self._open = threading.Event()
        self._open.set()
        self._refusing = False
        self._over = False
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._over = True
        self._open.set()
        self._thread.join(5.0)
        self.cut()
        self._listener.close()
        self._selector.close()

    def cut(self) -> None:
        """Break all connections; new ones are possible at once."""
        with self._lock:
            for end in list(self._peers):
                self._drop(end)

    def silence(self) -> None:
        """Forward nothing until :meth:`heal`; connections stay open."""
        self._open.clear()

    def refuse(self) -> None:
        """Break all connections and each new one until :meth:`heal`."""
        self._refusing = True
        self.cut()

    def heal(self) -> None:
        """Forward again."""
        self._refusing = False
        self._open.set()

    def _run(self) -> None:
        while not self._over:
            self._open.wait()
            for key, _mask in self._selector.select(0.2):
                if not self._open.is_set():
                    break
                with self._lock:
                    self._serve(key.fileobj)

    def _serve(self, ready: object) -> None:
        if ready is self._listener:
            self._accept()
        elif isinstance(ready, socket.socket) and ready in self._peers:
            data = b""
            with contextlib.suppress(OSError):
                data = ready.recv(CHUNK)
                if data:
                    self._peers[ready].sendall(data)
                    return
            self._drop(ready)

    def _accept(self) -> None:
        near, _address = self._listener.accept()
        try:
            if self._refusing:
                raise ConnectionRefusedError
            far = socket.create_connection((HOST, self.target), 2.0)
        except OSError:
            near.close()
            return
        for end, other in ((near, far), (far, near)):
            end.settimeout(5.0)
            self._peers[end] = other
            self._selector.register(end, selectors.EVENT_READ)

    def _drop(self, end: socket.socket) -> None:
        other = self._peers.pop(end, None)
        if other is None:
            return
        self._peers.pop(other, None)
        for one in (end, other):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(one)
            one.close()
