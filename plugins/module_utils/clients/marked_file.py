# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files whose first line says who wrote them: only such files are replaced and removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from ..model.errors import ConfigError
from .private_file import NO_FILE, is_no_file, write_private

LARGEST = 16 * 1024 * 1024
"""Characters that are read of a file."""


def write_marked(
    path: str, mark: str, text: str, mode: int, is_ours: Callable[[str], bool] = lambda text: False
) -> bool:
    """Write *mark* and *text*; return False when the file has both already, and the mode.

    :param mark: the first line, without its end.
    :param is_ours: True for the text of a file without the mark that is replaced all the same.
    :raises ConfigError: somebody else has written the file, or it cannot be written.
    """
    whole, there = f"{mark}\n{text}", _read(path, mark, is_ours)
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


def _read(path: str, mark: str, is_ours: Callable[[str], bool] = lambda text: False) -> str | None:
    """Return the text of the file, None when there is none. An empty file, as mktemp makes it, counts as none.

    :raises ConfigError: its first line is another one.
    """
    if is_no_file(path):  # opening a pipe would wait for its other end
        raise ConfigError([f"{path}: {NO_FILE}"])
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(LARGEST)
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be read: {problem.strerror}: name another file"]) from problem
    if not text:
        return None
    if text.partition("\n")[0] != mark and not is_ours(text):
        what = f"somebody else has written this file, as its first line is not {mark!r}, so it is not changed"
        raise ConfigError([f"{path}: {what}: name another file"])
    return text
