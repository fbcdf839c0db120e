# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folders in which root works although other users of the machine may write near them.

Builds run as root or with sudo. A user who may write to a folder can put a link in the place of what root is about to
write or remove. So a folder of ours is opened without following links, its owner and mode are read from what was
opened, and all that is done in it is done relative to that.
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
    """Close a descriptor at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


def open_without_links(path: str) -> int:
    """A descriptor to reach what is in a folder; no part of its path may be a link.

    :param path: absolute.
    :raises OSError: it is not there, or a part of it is a link or no folder.
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
    """A descriptor of a folder that belongs to the user of this process and that no other user may write to.

    One of our own with a wider mode, as earlier versions made it, is made private.

    :param parent: descriptor of the folder that it is in.
    :param path: what it is called in messages.
    :raises ImageFileError: another user made it, or it is a link.
    :raises OSError: it is not there, or cannot be opened.
    """
    try:
        fd = os.open(name, _FOLDER | os.O_RDONLY, dir_fd=parent)
    except NotADirectoryError as problem:
        raise ImageFileError(
            f"{path} is a link or a file, where a folder of the builder's own has to be: the user who made it could "
            "have files of others removed. See who it was, and remove it"
        ) from problem
    try:
        found = os.fstat(fd)
        if found.st_uid != os.geteuid():
            raise ImageFileError(
                f"{path} belongs to user {found.st_uid}, who could have files of others removed: builds run as user "
                f"{os.geteuid()} here. When no build of that user runs any more, remove it"
            )
        if found.st_mode & _OTHERS_WRITE:
            os.fchmod(fd, PRIVATE)
    except BaseException:
        os.close(fd)
        raise
    return fd


def make_own(name: str, parent: int, path: str) -> int:
    """As :func:`open_own`; made, for its owner only, when it is not there."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, PRIVATE, dir_fd=parent)
    return open_own(name, parent, path)


def refuse_shared(path: str, option: str, *, sticky: bool = False) -> None:
    """See that not every user of the machine may put something into a folder, or another one in its place.

    Links on the way are followed: they are the operator's, and where they lead is looked at in the same way. A folder
    that is not there yet is made by us.

    :param option: what names it, for the message.
    :param sticky: True when all may write to it if they can only remove what is theirs, as in ``/tmp``.
    :raises ImageFileError: every user may.
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
                    f"and could have root overwrite or remove other files: chmod o-w {place}, or name another folder"
                )
        if place == "/":
            return
        place = os.path.dirname(place)
