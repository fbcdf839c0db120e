# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A file on its way to a cloud, read in pieces: it is never in memory as a whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator

from ...model.errors import ImageFileError

PIECE = 1 << 18
"""Bytes in memory at a time. Larger pieces are not faster; a piece is also what a stall is measured by."""


class DiskFile:
    """The bytes of a file. Each iteration starts from the beginning; a piece is valid until the next one is asked for.

    :param progress: told how many bytes of this attempt have been handed out; what it raises ends the reading.
    :raises ImageFileError: it cannot be read, is empty, or changes its size on the way.
    """

    def __init__(self, path: str, progress: Callable[[int], None] = lambda sent: None) -> None:
        self.path = path
        self.handed_out = 0
        """Bytes of the present attempt that have been taken."""
        self._progress = progress
        try:
            self.size = os.stat(path).st_size
        except OSError as problem:
            raise _unreadable(path, problem) from problem
        if self.size == 0:
            raise ImageFileError(f"{path} is empty: build the image again")

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[memoryview]:
        self.handed_out = 0
        for piece in _pieces(self.path, self.size):
            yield piece
            # Only now has it been taken.
            self.handed_out += len(piece)
            self._progress(self.handed_out)

    def digest(self, algorithm: str) -> str | None:
        """Its checksum in hex; None for an algorithm that this Python does not know. Reads the whole file."""
        if algorithm not in hashlib.algorithms_available:
            return None
        made = hashlib.new(algorithm, usedforsecurity=False)
        for piece in _pieces(self.path, self.size):
            made.update(piece)
        return made.hexdigest()


def _pieces(path: str, size: int) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(PIECE))
    read = 0
    try:
        with open(path, "rb", buffering=0) as file:
            while got := file.readinto(buffer):
                read += got
                if read > size:
                    break
                yield buffer[:got]
    except OSError as problem:
        raise _unreadable(path, problem) from problem
    if read != size:
        raise ImageFileError(f"{path} changed while it was read: the files of a finished build must not be written to")


def _unreadable(path: str, problem: OSError) -> ImageFileError:
    return ImageFileError(f"{path} cannot be read: {problem.strerror or problem}")
