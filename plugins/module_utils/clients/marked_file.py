# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files whose first line says who wrote them: only such files are replaced and removed."""

from __future__ import annotations

import os
import stat

from ..model.errors import ConfigError
from .private_file import write_private

LARGEST = 16 * 1024 * 1024
"""Characters that are read of a file."""


def write_marked(path: str, mark: str, text: str, mode: int) -> bool:
    """Write *mark* and *text*; return False when the file has both already, and the mode.

    :param mark: the first line, without its end.
    :raises ConfigError: somebody else has written the file, or it cannot be written.
    """
    whole, there = f"{mark}\n{text}", _read(path, mark)
    if there == whole and stat.S_IMODE(os.stat(path).st_mode) == mode:
        return False
    write_private(path, whole, mode)
    return True


def is_marked_file(path: str, mark: str) -> bool:
    """Return True if the file is there; raise as :func:`write_marked` does."""
    return _read(path, mark) is not None


def remove_marked(path: str, mark: str) -> bool:
    """Remove the file; return False when there is none.

    :raises ConfigError: somebody else has written it, or it cannot be removed.
    """
    if _read(path, mark) is None:
        return False
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be removed: {problem.strerror}"]) from problem
    return True


def _read(path: str, mark: str) -> str | None:
    """Return the text of the file, None when there is none.

    :raises ConfigError: its first line is another one.
    """
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be read: {problem.strerror}: name another file"]) from problem
    if text.partition("\n")[0] != mark:
        raise ConfigError(
            [f"{path}: this file was not written for this lease, so it is not changed: name another file"]
        )
    return text
