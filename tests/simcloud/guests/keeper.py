# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that owns all guests: it listens on their addresses and gives each connection an sshd.

It reads orders, one JSON object a line, from standard input: ``{"op": "open", "id", "addresses", "port", "command"}``
and ``{"op": "close", "id"}``. When standard input ends, the service is gone in whatever way, and the keeper kills every
process below it. It is the reaper of its orphans, so what a session has left in the background is found too.
Standard library only: it forks often and should be small.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import socket
import subprocess
import sys
from typing import Any

from tests.simcloud.guests.processes import become_subreaper, descendants, end_descendants, kill_all, reap

BACKLOG = 128
PIECE = 1 << 16


class Guest:
    """The listening sockets and the sshd processes of one server."""

    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.sockets: dict[str, socket.socket] = {}
        self.pids: set[int] = set()


class Keeper:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._guests: dict[str, Guest] = {}
        self._owner: dict[int, str] = {}
        self._orders = b""

    def run(self) -> None:
        """Work until standard input ends."""
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        wake_read, wake_write = os.pipe()
        for end in (wake_read, wake_write):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self._selector.register(wake_read, selectors.EVENT_READ, ("child", wake_read))
        self._selector.register(0, selectors.EVENT_READ, ("orders", 0))
        while True:
            for key, _mask in self._selector.select():
                kind, what = key.data
                if kind == "orders":
                    if not self._read_orders():
                        return
                elif kind == "child":
                    os.read(wake_read, PIECE)
                    self._collect()
                else:
                    self._accept(what, key.fileobj)  # type: ignore[arg-type]

    def close(self) -> None:
        """Stop listening, so that nobody connects while the rest is being ended."""
        for guest in self._guests.values():
            for address in list(guest.sockets):
                self._drop(guest, address)

    def _read_orders(self) -> bool:
        piece = os.read(0, PIECE)
        if not piece:
            return False
        *lines, self._orders = (self._orders + piece).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
        return True

    def _obey(self, order: dict[str, Any]) -> None:
        if order["op"] == "open":
            self._open(order["id"], order["addresses"], order["port"], order["command"])
        elif order["op"] == "close":
            self._close(order["id"])

    def _open(self, ident: str, addresses: list[str], port: int, command: list[str]) -> None:
        """Listen on exactly these addresses; called again when they change."""
        guest = self._guests.setdefault(ident, Guest(command))
        for address in set(guest.sockets) - set(addresses):
            self._drop(guest, address)
        for address in addresses:
            if address in guest.sockets or not address.startswith("127."):
                continue
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind((address, port))
                listener.listen(BACKLOG)
            except OSError as problem:
                print(f"simcloud: guest {ident} cannot listen on {address}:{port}: {problem}", file=sys.stderr)
                listener.close()
                continue
            listener.setblocking(False)
            guest.sockets[address] = listener
            self._selector.register(listener, selectors.EVENT_READ, ("connection", ident))

    def _drop(self, guest: Guest, address: str) -> None:
        listener = guest.sockets.pop(address)
        self._selector.unregister(listener)
        listener.close()

    def _close(self, ident: str) -> None:
        guest = self._guests.pop(ident, None)
        if guest is None:
            return
        for address in list(guest.sockets):
            self._drop(guest, address)
        if guest.pids:
            # Children first, while they can still be found below their sshd.
            kill_all([*descendants(guest.pids), *guest.pids])

    def _accept(self, ident: str, listener: socket.socket) -> None:
        guest = self._guests.get(ident)
        try:
            connection, _peer = listener.accept()
        except OSError:
            return
        with connection:
            if guest is None:
                return
            connection.setblocking(True)
            try:
                child = subprocess.Popen(guest.command, stdin=connection.fileno(), stdout=connection.fileno())
            except OSError as problem:
                print(f"simcloud: cannot start sshd for guest {ident}: {problem}", file=sys.stderr)
                return
        guest.pids.add(child.pid)
        self._owner[child.pid] = ident
        # The children are collected all together, orphans included, so Popen must not wait for this one.
        child.returncode = 0

    def _collect(self) -> None:
        for pid in reap():
            guest = self._guests.get(self._owner.pop(pid, ""))
            if guest is not None:
                guest.pids.discard(pid)


def main() -> None:
    """Run the keeper in a session of its own."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    become_subreaper()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    keeper = Keeper()
    try:
        keeper.run()
    finally:
        keeper.close()
        end_descendants()


if __name__ == "__main__":
    main()
