# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several changes, or several reads, in one request.

kazoo's own transactions do not return the stat of a created znode, which the cache needs, and kazoo has no request for
several reads.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

try:
    from kazoo.exceptions import EXCEPTIONS
    from kazoo.protocol.serialization import (
        Create,
        Create2,
        Delete,
        GetChildren,
        GetData,
        MultiHeader,
        SetData,
        ZnodeStat,
        int_struct,
        multiheader_struct,
        read_buffer,
        read_string,
        stat_struct,
    )
except ImportError:  # reported by client.require_kazoo
    Create = Create2 = Delete = GetChildren = GetData = SetData = object

_HEADER = struct.Struct("!iqi")
"""Header of each answer: number, transaction, error."""
TOGETHER = 100
"""Reads in one request: a read that is sent alone costs more to send than to answer."""


LARGEST = 1_000_000
"""Largest number of bytes in one request. ZooKeeper ends the connection of a client that sends more than 1,048,575
(``jute.maxbuffer``, 0xfffff by default)."""
_OVERHEAD = 100
"""Bytes of an operation besides its path and data: headers, lengths, the access list."""


def size_of(operation: Any) -> int:
    """Return about how many bytes a change needs in a request."""
    return (
        len(operation.path.encode("utf-8", "surrogatepass")) + len(getattr(operation, "data", b"") or b"") + _OVERHEAD
    )


def in_parts(operations: Iterable[Any], most: int) -> Iterator[list[Any]]:
    """Yield the operations in lists of at most *most*, none of which is larger than LARGEST bytes."""
    part: list[Any] = []
    size = 0
    for operation in operations:
        more = size_of(operation)
        if part and (len(part) == most or size + more > LARGEST):
            yield part
            part, size = [], 0
        part.append(operation)
        size += more
    if part:
        yield part


class Multi(NamedTuple):
    """A request of Create2, SetData and Delete operations; ZooKeeper does all of them, in this order, or none."""

    operations: tuple[Any, ...]
    type: int = 14

    def serialize(self) -> bytes:
        """Return the request as it is sent."""
        return _serialized(self.operations)

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Any]:
        """Return one result for each operation: (path, stat), stat, True, or an exception."""
        results: list[Any] = []
        _number, zxid, _error = _HEADER.unpack_from(data, offset - _HEADER.size)
        header, offset = MultiHeader.deserialize(data, offset)
        while not header.done:
            if header.type == Create.type:
                # Servers up to 3.9 answer both kinds of creation in this form.
                path, offset = read_string(data, offset)
                results.append((path, _newborn(zxid)))
            elif header.type == Create2.type:
                path, offset = read_string(data, offset)
                results.append((path, ZnodeStat._make(stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size
            elif header.type == SetData.type:
                results.append(ZnodeStat._make(stat_struct.unpack_from(data, offset)))
                offset += stat_struct.size
            elif header.type == Delete.type:
                results.append(True)
            else:
                problem, offset = _problem(data, offset)
                results.append(problem)
            header, offset = MultiHeader.deserialize(data, offset)
        return results


class MultiRead(NamedTuple):
    """A request of GetData and GetChildren operations, each with its own answer; ZooKeeper 3.6 and later."""

    operations: tuple[Any, ...]
    type: int = 22

    def serialize(self) -> bytes:
        """Return the request as it is sent."""
        return _serialized(self.operations)

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Any]:
        """Return one result for each operation: (data, stat), the names of the children, or an exception."""
        results: list[Any] = []
        kind, done, _error = multiheader_struct.unpack_from(data, offset)
        while not done:
            offset += multiheader_struct.size
            if kind == GetData.type:
                content, offset = read_buffer(data, offset)
                results.append((content, ZnodeStat._make(stat_struct.unpack_from(data, offset))))
                offset += stat_struct.size
            elif kind == GetChildren.type:
                (count,) = int_struct.unpack_from(data, offset)
                offset += int_struct.size
                names = []
                for _unused in range(count):
                    name, offset = read_string(data, offset)
                    names.append(name)
                results.append(names)
            else:
                problem, offset = _problem(data, offset)
                results.append(problem)
            kind, done, _error = multiheader_struct.unpack_from(data, offset)
        return results


def _serialized(operations: tuple[Any, ...]) -> bytes:
    parts = [multiheader_struct.pack(item.type, False, -1) + item.serialize() for item in operations]
    return b"".join([*parts, multiheader_struct.pack(-1, True, -1)])


def _problem(data: bytes, offset: int) -> tuple[Exception, int]:
    (code,) = int_struct.unpack_from(data, offset)
    return EXCEPTIONS[code](), offset + int_struct.size


def _newborn(zxid: int) -> Any:
    """Return the stat of a znode that this transaction created; its times are of this machine's clock."""
    now = int(time.time() * 1000)
    return ZnodeStat(zxid, zxid, now, now, 0, 0, 0, 0, 0, 0, zxid)


def changes(request: Any, answer: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield each change in a request with its part of the *answer*; yields nothing for a request that reads."""
    if isinstance(request, Multi):
        yield from zip(request.operations, answer or [None] * len(request.operations), strict=True)
    elif isinstance(request, (Create2, SetData, Delete)):
        yield request, answer


def failure(results: list[Any]) -> tuple[int, Exception] | None:
    """Return which operation of a :class:`Multi` failed, and its error; None when all are done."""
    failed = [(place, item) for place, item in enumerate(results) if isinstance(item, Exception)]
    telling = [pair for pair in failed if type(pair[1]).__name__ not in ("RolledBackError", "RuntimeInconsistency")]
    return next(iter(telling or failed), None)
