# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A journal: a file with a line of JSON for each event."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import amount
from ansible_collections.stackci.nodepool.plugins.module_utils.web.events.outage import FULL, WAITING, Outage, cause

MOST_BYTES = 20 * 1024 * 1024
"""Size after which a journal becomes NAME.1, in place of the former one."""
TURNS = 50
"""How often another writer is waited for."""
TURN = 0.02


class Journal:
    """A file to which each event is added. While it cannot be written events wait, and a line says so once.

    Each event is added to the file that has the name then, so that others may rename or remove it. Several sources may
    have the same file.

    :param path: of the file; its folder must be there.
    :param say: takes lines for people.
    :param most_bytes: size after which it becomes NAME.1.
    :param pause: waits for another writer.
    """

    def __init__(
        self,
        path: str,
        say: Callable[[str], None] = lambda line: None,
        *,
        most_bytes: int = MOST_BYTES,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._path = Path(path)
        self._most = most_bytes
        self._pause = pause
        self._say = say
        self._outage = Outage(f"journal: {path}", say)
        self._waiting: deque[bytes] = deque()
        self._dropped = 0

    def begin(self) -> None:
        """Have the file, unless the disk is full.

        :raises OSError: it cannot be written.
        """
        try:
            os.close(self._opened(0))
        except OSError as problem:
            if problem.errno not in FULL:
                raise

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event, or let it wait."""
        self._waiting.append(json.dumps(event, ensure_ascii=False, sort_keys=True).encode() + b"\n")
        if len(self._waiting) > WAITING:
            self._waiting.popleft()
            self._dropped += 1
        self.write_waiting()

    def write_waiting(self) -> None:
        """Write what waits, if that is possible now."""
        late = len(self._waiting)
        try:
            while self._waiting:
                self._write(self._waiting[0])
                self._waiting.popleft()
        except OSError as problem:
            self._outage.begin(f"cannot be written: {cause(problem)}", f": up to {WAITING} events wait for it")
            return
        if late:
            dropped = f", {amount(self._dropped, 'older one')} lost" if self._dropped else ""
            self._outage.end("can be written again", f": {amount(late, 'event')} waited{dropped}")
            self._dropped = 0

    def close(self) -> None:
        """Write what waits, or say how many events are lost."""
        self.write_waiting()
        if lost := len(self._waiting) + self._dropped:
            self._say(f"journal: {self._path} lacks {amount(lost, 'event')} at the end: it {self._outage.why}")

    def _write(self, line: bytes) -> None:
        """Add a line whole or not at all; a full disk takes a part of it.

        :raises OSError: it is not added.
        """
        handle = self._opened(len(line))
        try:
            size = os.fstat(handle).st_size
            # Half a line of a process that was killed must not spoil this one.
            rest = line if _ends_a_line(handle, size) else b"\n" + line
            try:
                while rest:
                    rest = rest[os.write(handle, rest) :]
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)
                raise
        finally:
            os.close(handle)

    def _opened(self, room: int) -> int:
        """Return a handle of the file, locked, with room for so many bytes.

        :raises OSError: it cannot be had.
        """
        for _turn in range(TURNS):
            # Without O_NONBLOCK a pipe that nobody reads is waited for.
            handle = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o640)
            try:
                if self._is_ours(handle, room):
                    return handle
            except OSError:
                os.close(handle)
                raise
            os.close(handle)
        raise OSError(errno.EAGAIN, "other programs write or rename it all the time")

    def _is_ours(self, handle: int, room: int) -> bool:
        """Lock the file; False when it was renamed before that, or is now because it is full."""
        if not self._locked(handle):
            return False
        found = os.fstat(handle)
        try:
            here = os.stat(self._path)
        except FileNotFoundError:
            return False
        if (found.st_dev, found.st_ino) != (here.st_dev, here.st_ino):
            return False
        if stat.S_ISREG(found.st_mode) and found.st_size and found.st_size + room > self._most:
            os.replace(self._path, f"{self._path}.1")
            return False
        return True

    def _locked(self, handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._pause(TURN)
            return False
        except OSError:
            # Some file systems have no locks; then only one source may have the file.
            return True
        return True


def _ends_a_line(handle: int, size: int) -> bool:
    return not size or os.pread(handle, 1, size - 1) == b"\n"
