# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clouds.yaml with which a provider could last be used, kept on this host for the time in which it cannot.

A copy holds the text of the file, with its passwords, so it has mode 0600 in a folder that no other user may write to.
There is one for each entry: a mistake in one must not replace what is known of the others. secure.yaml is not kept.
A copy that no provider has used for a month is deleted. The time of the last use is the access time of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
from glob import escape, glob

from ..model.errors import ConfigError
from .private_file import FolderNotPrivate, open_private_folder, write_private
from .text_file import read_text

FORGET = 30 * 86400.0
"""Seconds without use after which a copy is deleted."""
_DAY = 86400.0
_PREFIX = "clouds-"


def keep(folder: str, clouds_config: str | None, found: str | None, cloud: str, region: str | None) -> None:
    """Store the text of the file *found* for the entry *cloud*, unless it is stored already. Without success: nothing.

    :param clouds_config: the path that was asked for; None for the places of openstacksdk.
    """
    path = _path(folder, clouds_config, cloud, region)
    with contextlib.suppress(FolderNotPrivate, ConfigError, OSError):
        os.close(open_private_folder(folder))
        text = read_text(found or "", lambda _seconds: None)
        now = time.time()
        is_new = not _is_ours(path)
        unused = is_new or now - os.stat(path).st_atime > _DAY
        if is_new or read_text(path, lambda _seconds: None) != text:
            write_private(path, text)
        if unused:
            _note_use(path, now)
            _forget_unused(folder, now)


def find(folder: str, clouds_config: str | None, cloud: str, region: str | None) -> tuple[str, float] | None:
    """Return the path of the copy for an entry and the UNIX time at which it was stored; None when there is none."""
    path = _path(folder, clouds_config, cloud, region)
    try:
        os.close(open_private_folder(folder))
        if not _is_ours(path):
            return None
        _note_use(path, time.time())
        return path, os.stat(path).st_mtime
    except (FolderNotPrivate, OSError):
        return None


def _note_use(path: str, now: float) -> None:
    """Set the access time, which a file system may not do for a read; the time of the last write stays."""
    os.utime(path, (now, os.stat(path).st_mtime))


def _forget_unused(folder: str, now: float) -> None:
    """Delete the copies that nobody has used for a long time: they hold passwords."""
    for path in glob(os.path.join(escape(folder), f"{_PREFIX}*.yaml")):
        with contextlib.suppress(OSError):
            if now - os.lstat(path).st_atime > FORGET and _is_ours(path):
                os.unlink(path)


def _is_ours(path: str) -> bool:
    """Return True for a file that only this user could write or read."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _path(folder: str, clouds_config: str | None, cloud: str, region: str | None) -> str:
    key = json.dumps([clouds_config and os.path.abspath(clouds_config), cloud, region])
    return os.path.join(folder, f"{_PREFIX}{hashlib.sha256(key.encode()).hexdigest()[:16]}.yaml")
