# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of a file that no other user may read, as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile

from ..model.errors import ConfigError

PRIVATE = 0o600


def is_private(path: str) -> bool:
    """Return True for a regular file of mode 0600."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == PRIVATE


def write_private(path: str, text: str) -> None:
    """Replace the file *path*, with mode 0600. After a crash the file is the old or the new one.

    :raises ConfigError: the file cannot be written.
    """
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise ConfigError([f"{path}: cannot be written: {problem.strerror}: check the folder"]) from problem
