# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every write that a ZooKeeper server has taken, from its transaction log: also of what lived for a moment only."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_CREATE, _DELETE, _SET, _MULTI, _CREATE2, _CONTAINER, _DELETE_CONTAINER, _TTL = 1, 2, 5, 14, 15, 19, 20, 21
_CLOSE_SESSION = -11
_CREATES = (_CREATE, _CREATE2, _CONTAINER, _TTL)


@dataclass(frozen=True)
class Write:
    """A znode that was created, written or deleted (*data* is None then). *at*: UNIX seconds of the server.

    Ephemeral znodes vanish with their session, which the log tells as one entry.
    """

    zxid: int
    session: int
    at: float
    path: str
    data: bytes | None
    created: bool = False


class _Reader:
    """Reads values in the form in which ZooKeeper writes them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        return int(self._take(">i")[0])

    def long(self) -> int:
        return int(self._take(">q")[0])

    def buffer(self) -> bytes:
        length = max(self.number(), 0)
        found = self._data[self._at : self._at + length]
        self._at += length
        return found

    def text(self) -> str:
        return self.buffer().decode("utf-8")

    def _take(self, form: str) -> tuple[int, ...]:
        found = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return found


def writes(data_dir: Path, root: str = "/") -> list[Write]:
    """The writes to *root* and below it, oldest first.

    :param data_dir: the server's ``dataDir``.
    """
    prefix = root.rstrip("/") + "/"
    found = []
    for log in sorted((data_dir / "version-2").glob("log.*"), key=lambda path: int(path.suffix[1:], 16)):
        for entry in _entries(log.read_bytes()):
            found += [write for write in _writes(entry) if write.path == root or write.path.startswith(prefix)]
    return found


def _entries(log: bytes) -> Iterator[bytes]:
    at = 16  # magic number, version, database id
    while at + 12 <= len(log):
        _checksum, length = struct.unpack_from(">qi", log, at)
        if length <= 0 or at + 12 + length > len(log):
            return  # the file is longer than what was written, or the last entry is being written
        yield log[at + 12 : at + 12 + length]
        at += 12 + length + 1


def _writes(entry: bytes) -> Iterator[Write]:
    reader = _Reader(entry)
    session, _cxid, zxid, at = reader.long(), reader.number(), reader.long(), reader.long() / 1000
    yield from _of(reader.number(), reader, (zxid, session, at))


def _of(kind: int, reader: _Reader, head: tuple[int, int, float]) -> Iterator[Write]:
    if kind in _CREATES or kind == _SET:
        yield Write(*head, reader.text(), reader.buffer(), kind != _SET)
    elif kind in (_DELETE, _DELETE_CONTAINER):
        yield Write(*head, reader.text(), None)
    elif kind == _CLOSE_SESSION:
        for _number in range(reader.number()):
            yield Write(*head, reader.text(), None)
    elif kind == _MULTI:
        for _number in range(reader.number()):
            part = reader.number()
            yield from _of(part, _Reader(reader.buffer()), head)
