# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of a text file of bounded size. Every failure becomes an error with a sentence for the operator."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from ..model.errors import ConfigError

RETRIES = 3
RETRY_AFTER = 0.5
"""Seconds between two attempts. Configuration management may remove a file before it writes the new one."""

LARGEST_FILE = 32 * 1024 * 1024
"""Maximum size of a file in bytes, unless the caller knows files of another size."""


def is_encrypted(text: str) -> bool:
    """Return True for the text of a file that is encrypted with ansible-vault."""
    return text.lstrip().startswith("$ANSIBLE_VAULT;")


def read_text(path: str, sleep: Callable[[float], None], largest: int = LARGEST_FILE) -> str:
    """Return the text of the UTF-8 file *path*; wait at most 1.5 s for a missing file.

    :param largest: maximum size in bytes.
    :raises ConfigError: the file cannot be read.
    """
    for attempt in range(RETRIES + 1):
        try:
            return _decode(path, _read(path, largest))
        except FileNotFoundError as error:
            if attempt == RETRIES:
                raise ConfigError([f"{path}: does not exist: check the path"]) from error
            sleep(RETRY_AFTER)
        except (OSError, ValueError) as error:
            raise ConfigError([_reason(path, error)]) from error
    raise AssertionError("unreachable")


def _read(path: str, largest: int) -> bytes:
    with open(path, "rb", opener=_open) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError([f"{path}: is not a regular file: copy its content into one"])
        data = file.read(largest + 1)
    if len(data) > largest:
        raise ConfigError([f"{path}: is larger than {largest // 1024 // 1024} MiB: check that this is the right file"])
    return data


def _open(path: str, flags: int) -> int:
    # Opening a pipe without a writer would wait for ever.
    return os.open(path, flags | os.O_NONBLOCK)


def _decode(path: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError([f"{path}:{line}: is not UTF-8 text (byte {error.start}): save the file as UTF-8"]) from error


def _reason(path: str, error: OSError | ValueError) -> str:
    if isinstance(error, IsADirectoryError):
        return f"{path}: is a directory: give the path of the file in it"
    if isinstance(error, PermissionError):
        return f"{path}: cannot be read by user id {os.geteuid()}: change its owner or mode"
    if isinstance(error, OSError):
        return f"{path}: cannot be read: {error.strerror or error}"
    return f"{path!r}: is not a path: {error}"
