# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ZooKeeper's own transaction log: every change that was ever done, whoever did it and whoever watched.

The format is that of ZooKeeper 3.6 to 3.9 (FileTxnLog, zookeeper.jute): a header, then for each transaction a
checksum, a length, a header, a record by type and an end mark. A multi holds one record for each of its operations.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.history import CREATE, DELETE, SET, Change

MAGIC = b"ZKLG"
_FILE_HEADER = struct.Struct(">4siq")
_ENTRY = struct.Struct(">qi")
_HEADER = struct.Struct(">qiqqi")
_INT = struct.Struct(">i")
_CREATES, _DELETES, _SETS = (1, 15, 19, 21), (2, 20), (5,)
_MULTI, _CLOSE_SESSION, _ERROR = 14, -11, -1


class Jute:
    """Reads ZooKeeper's encoding."""

    def __init__(self, data: bytes, offset: int = 0) -> None:
        self.data = data
        self.offset = offset

    def whole(self) -> int:
        """A number of 32 bits."""
        (value,) = _INT.unpack_from(self.data, self.offset)
        self.offset += _INT.size
        return int(value)

    def buffer(self) -> bytes:
        """Bytes; nothing for the length -1."""
        length = max(self.whole(), 0)
        self.offset += length
        return self.data[self.offset - length : self.offset]

    def text(self) -> str:
        """A string."""
        return self.buffer().decode()

    def flag(self) -> bool:
        """A boolean."""
        self.offset += 1
        return self.data[self.offset - 1] != 0


class TransactionLog:
    """The log of one server.

    :param folder: dataDir of the server.
    :param chroot: only changes below it, without it.
    """

    def __init__(self, folder: Path, chroot: str = "") -> None:
        self._folder = folder
        self._chroot = chroot
        self._ephemeral: dict[int, dict[str, None]] = {}

    def changes(self) -> list[Change]:
        """Every change, in ZooKeeper's order."""
        found = []
        for path in sorted(self._folder.glob("version-2/log.*"), key=lambda path: int(path.suffix[1:], 16)):
            for change in self._file(path.read_bytes()):
                if change.path.startswith(f"{self._chroot}/"):
                    below = change.path.removeprefix(self._chroot)
                    found.append(Change(change.at, change.session, change.kind, below, change.data, change.owner))
        return found

    def _file(self, data: bytes) -> Iterator[Change]:
        if len(data) < _FILE_HEADER.size:
            return  # the server was killed as it began the file
        magic, _version, _ident = _FILE_HEADER.unpack_from(data)
        if magic != MAGIC:
            raise ValueError("this is no transaction log of ZooKeeper")
        offset = _FILE_HEADER.size
        while offset + _ENTRY.size <= len(data):
            _checksum, length = _ENTRY.unpack_from(data, offset)
            offset += _ENTRY.size
            if length <= 0 or offset + length > len(data):
                return  # the padding, or a record that was being written when the server was killed
            yield from self._transaction(data[offset : offset + length])
            offset += length + 1

    def _transaction(self, data: bytes) -> Iterator[Change]:
        session, _cxid, _zxid, milliseconds, kind = _HEADER.unpack_from(data)
        yield from self._record(kind, Jute(data, _HEADER.size), session, milliseconds / 1000)

    def _record(self, kind: int, record: Jute, session: int, at: float) -> Iterator[Change]:
        if kind == _MULTI:
            operations = [(record.whole(), record.buffer()) for _operation in range(record.whole())]
            if all(operation != _ERROR for operation, _data in operations):
                for operation, data in operations:
                    yield from self._record(operation, Jute(data), session, at)
        elif kind in _CREATES:
            yield self._created(kind, record, session, at)
        elif kind in _SETS:
            yield Change(at, session, SET, record.text(), record.buffer())
        elif kind in _DELETES:
            path = record.text()
            for owned in self._ephemeral.values():
                owned.pop(path, None)
            yield Change(at, session, DELETE, path)
        elif kind == _CLOSE_SESSION:
            for path in self._ephemeral.pop(session, {}):
                yield Change(at, session, DELETE, path)

    def _created(self, kind: int, record: Jute, session: int, at: float) -> Change:
        path, data = record.text(), record.buffer()
        for _entry in range(record.whole()):
            record.whole(), record.text(), record.text()
        ephemeral = kind in (1, 15) and record.flag()
        if ephemeral:
            self._ephemeral.setdefault(session, {})[path] = None
        return Change(at, session, CREATE, path, data, session if ephemeral else 0)
