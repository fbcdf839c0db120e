# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One quick start at a time works in a folder: two would each make a keypair, and note only one of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator

from ...model.errors import ConfigError
from .folder_notes import OTHER_FOLDER

WAIT_SECONDS = 60.0
PAUSE = 0.2


@contextlib.contextmanager
def locked(
    folder: str,
    say: Callable[[str], None] = lambda line: None,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Make the folder and lock it; afterwards remove it if it is empty. A kill ends the lock.

    :raises ConfigError: another process keeps it locked, or the folder cannot be used.
    """
    end, told = clock() + WAIT_SECONDS, False
    while (descriptor := _lock(folder)) is None:
        if clock() > end:
            raise ConfigError(
                [f"{folder}: another quick start is at work in it: repeat when it has ended, {OTHER_FOLDER}"]
            )
        if not told:
            say(f"waiting for another quick start that is at work in {folder}")
            told = True
        sleep(PAUSE)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        os.close(descriptor)


def _lock(folder: str) -> int | None:
    """Return a descriptor of the locked folder; None while another process has it."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as problem:
        raise ConfigError([f"{folder}: cannot be used: {problem.strerror}: correct it, {OTHER_FOLDER}"]) from problem
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it may have removed the folder.
        if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
