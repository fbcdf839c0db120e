# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk image file that is read in pieces for an upload: it is never in memory as a whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping

from ...model.errors import ImageFileError

PIECE = 1 << 18
"""Bytes in memory at a time. Larger pieces are not faster. A stall is measured for each piece."""


class DiskFile:
    """The bytes of a file. Each iteration starts from the beginning; a piece is valid until the next one is read.

    :param progress: called with the number of bytes that were taken in this attempt; an exception that it raises ends
        the reading.
    :raises ImageFileError: the file cannot be read, is empty, or changes its size while it is read.
    """

    def __init__(self, path: str, progress: Callable[[int], None] = lambda sent: None) -> None:
        self.path = path
        self.handed_out = 0
        """The number of bytes that were taken in this attempt."""
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
            # The consumer asks for the next piece: it has taken this one.
            self.took(len(piece))

    def took(self, size: int) -> None:
        """Note that so many bytes more were taken."""
        self.handed_out += size
        self._progress(self.handed_out)

    def digest(self, algorithm: str) -> str | None:
        """Read the whole file and return its checksum in hex; None for an algorithm that this Python does not know."""
        if algorithm not in hashlib.algorithms_available:
            return None
        made = hashlib.new(algorithm, usedforsecurity=False)
        for piece in _pieces(self.path, self.size):
            made.update(piece)
        return made.hexdigest()

    def check_unchanged(self, built: Mapping[str, str]) -> None:
        """Read the whole file, to see whether it is as it was built.

        :param built: its checksums then, in hex, by algorithm.
        :raises ImageFileError: it is not, or cannot be read.
        """
        for algorithm, before in built.items():
            now = self.digest(algorithm)
            if now is not None and now != before:
                raise ImageFileError(
                    f"{self.path} was changed after its build: its {algorithm} is {now}, and it was built with"
                    f" {before}: build the image again, or remove the files {self.path}.md5 and .sha256 if the"
                    f" change was meant"
                )
            if now is not None:
                return


class FilePart:
    """The bytes of a part of a file, as :class:`DiskFile`; *md5* is known after they were read."""

    def __init__(self, file: DiskFile, begin: int, size: int) -> None:
        self.md5 = ""
        self._file = file
        self._begin = begin
        self._size = size

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[memoryview]:
        made, left = hashlib.md5(usedforsecurity=False), self._size
        self._file.handed_out = self._begin
        for piece in _pieces(self._file.path, self._file.size, self._begin):
            taken = piece[:left]
            made.update(taken)
            yield taken
            left -= len(taken)
            self._file.took(len(taken))
            if not left:
                self.md5 = made.hexdigest()
                return


def _pieces(path: str, size: int, begin: int = 0) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(PIECE))
    read = begin
    try:
        with open(path, "rb", buffering=0) as file:
            file.seek(begin)
            while got := file.readinto(buffer):
                read += got
                if read > size:
                    break
                yield buffer[:got]
    except OSError as problem:
        raise _unreadable(path, problem) from problem
    if read != size:
        raise ImageFileError(f"{path} changed while it was read: nothing may write to the files of a finished build")


def _unreadable(path: str, problem: OSError) -> ImageFileError:
    return ImageFileError(f"{path} cannot be read: {problem.strerror or problem}")
