# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file that tells the next process on a host which ZooKeeper session a process has. Only its user can read it.

The process holds the flock of the file as long as it lives; the kernel releases the flock when the process ends, for
whatever reason and in whatever PID namespace. A process that gets the flock knows that the owner is gone.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import time
from dataclasses import dataclass, field
from typing import Any

from ....model.config.types import ZooKeeperSettings
from ...private_file import open_private_folder
from ...proc import boot_id, pid_namespace, process
from . import connect_errors

_LARGEST = 4096
_PREFIX = "session-"
_SETTLED = 2_000_000_000
"""Nanoseconds after which a further change of a folder certainly has another time than the last one."""
_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True)
class SessionNote:
    """The content of a file.

    :param started: start time of the process in clock ticks since the boot.
    :param boot: id of the boot.
    """

    pid: int
    started: int
    boot: str
    namespace: str
    session_id: int
    password: bytes = field(repr=False)

    @classmethod
    def of_this_process(cls, identity: tuple[int, bytes]) -> SessionNote:
        """Return the note about a session of this process."""
        seen = process(os.getpid())
        return cls(os.getpid(), seen.started if seen else 0, boot_id(), pid_namespace(), identity[0], identity[1])

    @classmethod
    def parse(cls, data: bytes) -> SessionNote | None:
        """Read the content of a file; return None when :meth:`data` did not write it, or not all of it."""
        try:
            found: dict[str, Any] = json.loads(data)
            return cls(
                int(found["pid"]),
                int(found["started"]),
                str(found["boot"]),
                str(found["namespace"]),
                int(found["session_id"]),
                bytes.fromhex(found["password"]),
            )
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def identity(self) -> tuple[int, bytes]:
        """Id and password of the session, in kazoo's form."""
        return self.session_id, self.password

    @property
    def is_from_this_boot(self) -> bool:
        """False when another host wrote the note, or this host before its last boot."""
        return self.boot == boot_id()

    @property
    def process_is_seen(self) -> bool:
        """True when the process exists and is the same one; never for a process in another PID namespace."""
        if not self.is_from_this_boot or self.namespace != pid_namespace():
            return False
        try:
            seen = process(self.pid)
        except OSError:
            return True  # it is unknown now, and the session of a running launcher must not be closed
        return seen is not None and seen.started == self.started and not seen.ended

    def data(self) -> bytes:
        """Return the note as it is written to the file."""
        return json.dumps(
            {
                "pid": self.pid,
                "started": self.started,
                "boot": self.boot,
                "namespace": self.namespace,
                "session_id": self.session_id,
                "password": self.password.hex(),
            }
        ).encode()


class SessionFolder:
    """The files of one tree in one folder.

    :raises FolderNotPrivate: another user could replace files in it, or it cannot be made or opened.
    """

    def __init__(self, path: str, settings: ZooKeeperSettings) -> None:
        self.path = path
        tree = "\0".join([connect_errors.connection_string(settings), str(settings.tls is not None)])
        self._prefix = f"{_PREFIX}{hashlib.sha256(tree.encode()).hexdigest()[:16]}-"
        self._fd = open_private_folder(path)
        self._listed: tuple[int, list[str]] | None = None

    def close(self) -> None:
        """Close the folder."""
        os.close(self._fd)

    def make(self) -> SessionFile:
        """Create a file for this process, locked and empty.

        :raises OSError: the file cannot be created.
        """
        name = f"{self._prefix}{os.getpid()}-{os.urandom(4).hex()}"
        fd = os.open(name, _OPEN | os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self._fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise
        return SessionFile(self._fd, name, fd)

    def names(self) -> list[str]:
        """Return the names of the files of this tree.

        The folder is read again only after a change: it may have many files of other trees and of other kinds.
        """
        changed = os.fstat(self._fd).st_mtime_ns
        if self._listed is not None and self._listed[0] == changed:
            return self._listed[1]
        settled = time.time_ns() - changed > _SETTLED
        names = sorted(name for name in os.listdir(self._fd) if name.startswith(self._prefix))
        self._listed = (changed, names) if settled else None
        return names

    def forget_other_trees(self, before: float) -> None:
        """Delete the files of other trees whose processes are gone.

        :param before: UNIX time; files that were written later are kept, as a cycle on their tree may use them.
        """
        for name in os.listdir(self._fd):
            if not name.startswith(_PREFIX) or name.startswith(self._prefix):
                continue
            with contextlib.suppress(OSError):
                if os.stat(name, dir_fd=self._fd, follow_symlinks=False).st_mtime >= before:
                    continue
                file = self.inherit(name)
                if file is None:
                    continue
                note = file.read()
                if note is not None and note.process_is_seen:
                    file.leave()
                else:
                    file.remove()

    def inherit(self, name: str) -> SessionFile | None:
        """Lock and return the file of a process that is gone.

        Return None while the owner lives, or when the file is not a private file of this user.
        """
        try:
            fd = os.open(name, _OPEN | os.O_RDWR, dir_fd=self._fd)
        except OSError:
            return None
        try:
            found = os.fstat(fd)
            private = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if private and found.st_nlink == 1:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(fd).st_nlink == 1:
                    return SessionFile(self._fd, name, fd)
        except OSError:
            pass
        os.close(fd)
        return None


class SessionFile:
    """A file whose flock this process holds."""

    def __init__(self, folder: int, name: str, fd: int) -> None:
        self._folder = folder
        self._fd = fd
        self.name = name

    def write(self, word: SessionNote) -> None:
        """Replace the content. Readers need the flock, so they never see a part of it."""
        data = word.data()
        os.pwrite(self._fd, data, 0)
        os.ftruncate(self._fd, len(data))

    def read(self) -> SessionNote | None:
        """Return the content, None when it is not a valid note."""
        return SessionNote.parse(os.pread(self._fd, _LARGEST, 0))

    def age(self, now: float) -> float:
        """Return the seconds since the last write."""
        return now - os.fstat(self._fd).st_mtime

    def remove(self) -> None:
        """Delete the file and release its flock."""
        with contextlib.suppress(OSError):
            os.unlink(self.name, dir_fd=self._folder)
        self.leave()

    def leave(self) -> None:
        """Keep the file and release its flock."""
        os.close(self._fd)
