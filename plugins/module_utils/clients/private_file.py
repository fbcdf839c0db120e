# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and folders that no other user may read or change."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable

from ..model.errors import ConfigError

PRIVATE = 0o600
NO_FILE = "is not a regular file: name another one"


class FolderNotPrivate(Exception):
    """The folder cannot be used; the message says why and what to do."""


def is_private(path: str) -> bool:
    """Return True for a regular file of mode 0600."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == PRIVATE


def is_no_file(path: str) -> bool:
    """Return True for something that is there and is no regular file, such as /dev/null; follows links."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def write_private(path: str, text: str | bytes, mode: int = PRIVATE) -> None:
    """Replace the file *path*, with mode 0600 or another one. After a crash the file is the old or the new one.

    :raises ConfigError: the file cannot be written, or there is a device, a pipe or a folder: root could replace one.
    """
    if is_no_file(path):
        raise ConfigError([f"{path}: {NO_FILE}"])
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(
            prefix=_beginning(os.path.basename(path)), dir=os.path.dirname(path) or "."
        )
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigError([f"{path}: cannot be written: {problem.strerror}: check the folder"]) from problem


def remove_unfinished(folder: str, names: Iterable[str]) -> None:
    """Remove what a killed process has left of files that it was writing with :func:`write_private`.

    Nobody may be writing these files now. What cannot be removed stays.
    """
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(tuple(_beginning(ours) for ours in names)):
                os.unlink(os.path.join(folder, name))


def _beginning(name: str) -> str:
    return f".{name}."


def open_private_folder(path: str) -> int:
    """Make the folder if it does not exist; return a descriptor of it.

    :raises FolderNotPrivate: another user could replace files in it, or it cannot be made or opened.
    """
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as problem:
        raise FolderNotPrivate(f"{path} cannot be used as state_dir: {problem.strerror}") from problem
    found = os.fstat(fd)
    if found.st_uid != os.geteuid() or found.st_mode & 0o022:
        os.close(fd)
        raise FolderNotPrivate(
            f"{path} cannot be used as state_dir: it must belong to the user of the launcher, and only that"
            f" user may write to it (mode 0700)"
        )
    return fd
