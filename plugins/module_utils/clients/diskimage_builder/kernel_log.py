# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failed writes to block devices. The kernel reports them in its log, and often nowhere else.

diskimage-builder writes an image through a loop device on a sparse file. When the file system of that file is full, the
kernel drops the written data, and mount, copy and umount nevertheless succeed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterator

_MOST_RECORDS = 100_000
_RECORD = 8192
_LOST = re.compile(
    r"(?:\w+: )?(?P<kind>[\w/ ]+) error, dev (?P<device>\w+), sector \d+(?: op 0x[0-9a-f]+:\((?P<op>\w+)\))?"
)
_LOST_BY_EXT4 = re.compile(
    r"EXT4-fs warning \(device (?P<device>\w+)\): ext4_end_bio:\d+: I/O error (?P<code>\d+) writing "
)
"""The kernel limits the records above for all devices together: where several builds lose writes at the same time, it
leaves them out for some. These are limited for each file system, and ext4 is diskimage-builder's default."""
_LOST_BY_BUFFERS = re.compile(r"Buffer I/O error on dev (?P<device>\w+), logical block \d+, lost (?:a?sync) page write")
_STOPPED = re.compile(
    r"Aborting journal on device (\w+)-\d+\.|EXT4-fs \((\w+)\): Remounting filesystem read-only"
    r"|XFS \((\w+)\): .*[Ss]hutting down filesystem"
    r"|BTRFS:? \w+ \(device (\w+)(?: state \w+)?\): forced readonly"
)
"""A file system stops writing after the loss of a write that it needs. The reason may be left out, see above."""
_ATTACHED = re.compile(r"(?P<device>loop\d+): detected capacity change from 0 to ")
_ROOM, _ROOM_CODE = "critical space allocation", "3"
_NO_ROOM = "no space left on device"
WRITE_ERROR = "write error"
"""The reason where the kernel does not tell why it could not write."""


class KernelLog:
    """A reader of the records that the kernel logs from now on.

    :param path: a file like ``/dev/kmsg``. When it cannot be read, there are no records.
    """

    def __init__(self, path: str = "/dev/kmsg") -> None:
        self._fd: int | None = None
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._fd, 0, os.SEEK_END)
        except OSError:
            self.close()

    def lost_writes(self, known: Container[str] = ()) -> dict[str, str]:
        """Return device, such as ``/dev/loop0`` → the first reason why it lost writes since the last call.

        :param known: devices that the caller had at the last call. Of others, what they lost before they got their
            present file does not count.
        """
        found: dict[str, str] = {}
        for _unused in range(_MOST_RECORDS):
            try:
                records = b"" if self._fd is None else os.read(self._fd, _RECORD)
            except BrokenPipeError:
                continue  # the kernel has overwritten the next record
            except OSError:
                break
            if not records:
                break
            for record in records.decode(errors="replace").splitlines():
                text = record.partition(";")[2]
                for device, why in _lost_write(text):
                    if found.get(device, WRITE_ERROR) == WRITE_ERROR:
                        found[device] = why
                attached = _ATTACHED.match(text)
                if attached is not None and f"/dev/{attached['device']}" not in known:
                    found.pop(f"/dev/{attached['device']}", None)
        return found

    def close(self) -> None:
        """Close the kernel log; later calls find no records."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _lost_write(text: str) -> Iterator[tuple[str, str]]:
    """Yield the device and the reason if a record reports a lost write."""
    lost = _LOST.match(text)
    if lost is not None and lost["op"] in (None, "WRITE") and lost["kind"] != "operation not supported":
        yield f"/dev/{lost['device']}", _NO_ROOM if lost["kind"] == _ROOM else f"{lost['kind']} error"
    lost = _LOST_BY_EXT4.match(text)
    if lost is not None:
        yield f"/dev/{lost['device']}", _NO_ROOM if lost["code"] == _ROOM_CODE else "I/O error"
    lost = _LOST_BY_BUFFERS.match(text)
    if lost is not None:
        yield f"/dev/{lost['device']}", WRITE_ERROR
    stopped = _STOPPED.match(text)
    if stopped is not None:
        (device,) = filter(None, stopped.groups())
        yield f"/dev/{device}", WRITE_ERROR
