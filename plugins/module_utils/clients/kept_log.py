# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the end of a log that this collection has written, for people who may not read other files of the host."""

from __future__ import annotations

import os
import stat

MOST = 256 * 1024
"""Bytes of a log that are read; of a longer one the last."""
_HERE = frozenset({"", ".", ".."})


def read_log_end(base: str, folder: str, name: str, most: int = MOST) -> str | None:
    """Return the end of the log *name* in *folder* below *base*; None if there is no such file, or it cannot be read.

    Neither the folder nor the file may be a link, and what is no regular file is not read.
    """
    if any(part in _HERE or "/" in part or "\0" in part for part in (folder, name)):
        return None
    try:
        return _read(base, folder, name, most)
    except (OSError, ValueError):
        return None


def _read(base: str, folder: str, name: str, most: int) -> str | None:
    # A pipe without a writer would wait for ever.
    kind = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    above = os.open(base, kind | os.O_DIRECTORY)
    try:
        place = os.open(folder, kind | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    finally:
        os.close(above)
    try:
        file = os.open(name, kind | os.O_NOFOLLOW, dir_fd=place)
    finally:
        os.close(place)
    with os.fdopen(file, "rb") as found:
        status = os.fstat(found.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        found.seek(max(0, status.st_size - most))
        return found.read(most).decode("utf-8", "replace")
