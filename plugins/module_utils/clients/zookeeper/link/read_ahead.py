# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A socket that reads all bytes that have arrived at once, and returns them in the pieces that kazoo asks for.

kazoo reads each answer in two pieces and makes a selector for each, which is two fifths of the CPU time of its thread
in a burst. Between two answers it waits only for the socket, although the TLS layer may hold an answer that came in the
same record.
"""

from __future__ import annotations

import math
import select
import ssl
import time
from collections.abc import Collection
from typing import Any

_AT_ONCE = 64 * 1024
_LENGTH = 4
_READABLE = select.POLLIN | select.POLLPRI
_GONE = select.POLLERR | select.POLLHUP | select.POLLNVAL
_NOTHING_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class ReadAheadSocket:
    """A wrapper of a connected socket; all other attributes are those of the socket."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._arrived = b""
        self._taken = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, size: int) -> bytes:
        """Return up to *size* bytes; none when the peer has closed the connection."""
        if self._taken == len(self._arrived):
            self.fill()
        piece = self._arrived[self._taken : self._taken + size]
        self._taken += len(piece)
        return piece

    def take(self, size: int) -> bytes | None:
        """Return exactly *size* bytes; None when fewer have been read."""
        end = self._taken + size
        if end > len(self._arrived):
            return None
        piece, self._taken = self._arrived[self._taken : end], end
        return piece

    def has_message(self) -> bool:
        """Return True when a whole message of ZooKeeper has been read; its first four bytes are its length."""
        begin = self._taken + _LENGTH
        return begin + int.from_bytes(self._arrived[self._taken : begin], "big") <= len(self._arrived) >= begin

    @property
    def messages(self) -> int:
        """The number of whole messages that have been read and not handed out. Any thread may read it."""
        arrived, place, number = self._arrived, self._taken, -1
        while place <= len(arrived):
            number += 1
            place += _LENGTH + int.from_bytes(arrived[place : place + _LENGTH], "big")
        return number

    def fill(self) -> None:
        """Read the bytes that have arrived; only after all that was read before has been handed out.

        :raises OSError: one of ``_NOTHING_YET`` when TLS has only a part of a record, or a record for TLS itself.
        """
        self._arrived, self._taken = self._socket.recv(_AT_ONCE), 0

    def pending(self) -> int:
        """Return the number of bytes that are available without waiting for the socket."""
        beneath = getattr(self._socket, "pending", None)
        return len(self._arrived) - self._taken + (beneath() if beneath is not None else 0)


def ready(readers: Collection[Any], writers: Collection[Any], timeout: float | None) -> tuple[list[Any], list[Any]]:
    """Return the sockets that can be read from, and those that can be written to.

    Bytes that have arrived at a :class:`ReadAheadSocket` are read at once, so that its user does not wait for them
    again. A closed socket counts as ready: its user then gets the error of the socket.

    :param timeout: seconds; None to wait until a socket is ready.
    """
    readable = [reader for reader in readers if isinstance(reader, ReadAheadSocket) and reader.pending()]
    poll, wanted = select.poll(), dict[int, int]()
    for socket in readers:
        wanted[socket.fileno()] = _READABLE
    for socket in writers:
        wanted[socket.fileno()] = wanted.get(socket.fileno(), 0) | select.POLLOUT
    if -1 in wanted:
        return [one for one in readers if one.fileno() == -1], [one for one in writers if one.fileno() == -1]
    for number, events in wanted.items():
        poll.register(number, events)
    if readable:
        timeout = 0.0
    until = None if timeout is None else time.monotonic() + timeout
    while True:
        happened = dict(poll.poll(None if timeout is None else math.ceil(timeout * 1000)))
        for socket in readers:
            if happened.get(socket.fileno(), 0) & (_READABLE | _GONE) and socket not in readable and _filled(socket):
                readable.append(socket)
        writable = [one for one in writers if happened.get(one.fileno(), 0) & (select.POLLOUT | _GONE)]
        if readable or writable or not happened or timeout == 0.0:
            return readable, writable
        timeout = None if until is None else max(0.0, until - time.monotonic())


def _filled(socket: Any) -> bool:
    """False when what has arrived is nothing that could be handed out, so that its user goes on waiting."""
    if isinstance(socket, ReadAheadSocket):
        try:
            socket.fill()
        except _NOTHING_YET:
            return False
    return True
