# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders in which root works although other users of the machine may write near them.

Builds run as root or with sudo. A user who may write to a folder can replace a file that root is about to write or
remove by a link. So the builder opens its own folders without following links, reads owner and mode from the open
descriptor, and does all work in the folder relative to the descriptor.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from ...model.errors import ImageFileError

PRIVATE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def closed(fd: int) -> Iterator[int]:
    """Close a descriptor at the end of a ``with`` block."""
    try:
        yield fd
    finally:
        os.close(fd)


def open_without_links(path: str) -> int:
    """Return a descriptor through which files in a folder can be reached; no part of its path may be a link.

    :param path: an absolute path.
    :raises OSError: the folder does not exist, or a part of its path is a link or not a folder.
    """
    fd = os.open("/", _FOLDER | os.O_PATH)
    try:
        for name in os.path.normpath(path).split("/"):
            if name:
                deeper = os.open(name, _FOLDER | os.O_PATH, dir_fd=fd)
                os.close(fd)
                fd = deeper
    except OSError as problem:
        os.close(fd)
        problem.filename = path
        raise
    return fd


def open_own(name: str, parent: int, path: str) -> int:
    """Return a descriptor of a folder that belongs to the user of this process and that no other user may write to.

    A folder of this user to which others may write, as earlier versions made it, is made private.

    :param parent: descriptor of the parent folder.
    :param path: the folder's name in messages.
    :raises ImageFileError: the folder belongs to another user, or is a link or a file.
    :raises OSError: the folder does not exist, or cannot be opened.
    """
    try:
        fd = os.open(name, _FOLDER | os.O_RDONLY, dir_fd=parent)
    except NotADirectoryError as problem:
        raise ImageFileError(
            f"{path} is a link or a file, but must be a folder that only the builder owns. Whoever created it"
            f" could make the builder remove files of other users: find out who did, then remove it"
        ) from problem
    try:
        found = os.fstat(fd)
        if found.st_uid != os.geteuid():
            raise ImageFileError(
                f"{path} belongs to user {found.st_uid}, who could make the builder remove files of other"
                f" users: builds run as user {os.geteuid()} here. Remove it when no build of that user is running"
            )
        if found.st_mode & _OTHERS_WRITE:
            os.fchmod(fd, PRIVATE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def make_own(name: str, parent: int, path: str) -> int:
    """Make the folder, for its owner only, unless it exists, and return its descriptor as :func:`open_own` does."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, PRIVATE, dir_fd=parent)
    return open_own(name, parent, path)


def refuse_shared(path: str, option: str, *, sticky: bool = False) -> None:
    """Check that not every user of the machine may write to a folder, or replace it by another one.

    Links in the path are followed: they are the operator's, and the folders that they lead to are checked in the same
    way. A folder that does not exist passes: the builder makes it.

    :param option: the option that names the folder, for the message.
    :param sticky: True when every user may write to the folder if it has the sticky bit, like ``/tmp``.
    :raises ImageFileError: every user may write to the folder, or to one above it.
    """
    place = os.path.realpath(path)
    last = place
    while True:
        with contextlib.suppress(OSError):
            mode = os.lstat(place).st_mode
            bound = mode & stat.S_ISVTX and (sticky or place != last)
            if mode & stat.S_IWOTH and not bound:
                raise ImageFileError(
                    f"{option} {path}: every user of this machine may write to {place} (mode {stat.S_IMODE(mode):04o}) "
                    f"and could make root overwrite or remove other files: run chmod o-w {place}, or choose"
                    f" another folder"
                )
        if place == "/":
            return
        place = os.path.dirname(place)
