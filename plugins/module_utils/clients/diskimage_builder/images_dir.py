# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder images-dir: its owner, its content and its free space."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...model.errors import ImageFileError
from .folders import closed

BUILDER_ID_FILE = "builder_id.txt"
TREE_ID_FILE = "tree_id.txt"
CHECKSUMS = {"md5": 32, "sha256": 64}
"""Name of the algorithm, which is the extension of the checksum file → number of hex digits."""
_BLOCK = 512
_CHUNK = _MIB = 1 << 20


@dataclass(frozen=True)
class Entry:
    """A file or directory in images-dir. *size*: bytes on disk. *modified*: UNIX time."""

    name: str
    is_directory: bool
    size: int
    modified: float


class ImagesDir:
    """The directory with the image files of a builder.

    :param path: ``images-dir`` of nodepool.yaml.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def builder_id(self, *, create: bool = True) -> str:
        """Return the content of builder_id.txt, which names the owner of the files; create it when it is missing.

        :param create: False: return "" when the file is missing, and write nothing.
        :raises ImageFileError: the file cannot be read or written, or is empty.
        """
        path = os.path.join(self.path, BUILDER_ID_FILE)
        found = self._read(path)
        if found is None:
            if not create:
                return ""
            self._write_once(path, str(uuid.uuid4()))
            found = self._read(path)
        if not found:
            raise ImageFileError(
                f"{path}: is empty; it must hold the id of the owner of the image files: write"
                f" a UUID into it, or remove it"
            )
        return found

    @property
    def tree_id_path(self) -> str:
        """Path of the file with the id of the tree that has the records of the image files."""
        return os.path.join(self.path, TREE_ID_FILE)

    def tree_id(self) -> str:
        """Return the id of the tree that the image files belong to; "" when the file with the id is missing.

        :raises ImageFileError: the file cannot be read.
        """
        return self._read(self.tree_id_path) or ""

    def _read(self, path: str) -> str | None:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                return file.read(200).strip()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise self._problem(path, "cannot be read", problem) from problem

    def write_tree_id(self, tree: str) -> None:
        """Write the id of the tree that the image files belong to, unless its file exists.

        :raises ImageFileError: the file cannot be written.
        """
        self._write_once(self.tree_id_path, tree)

    def _write_once(self, path: str, text: str) -> None:
        """Create a file with *text*, unless it exists; creates the directory."""
        part = f"{path}.{uuid.uuid4().hex}"
        try:
            os.makedirs(self.path, exist_ok=True)
            with open(part, "w", encoding="ascii") as file:
                file.write(text)
            # Of two builders that start at the same time, one creates the file, and both use its id.
            with contextlib.suppress(FileExistsError):
                os.link(part, path)
        except OSError as problem:
            raise self._problem(path, "cannot be written", problem) from problem
        finally:
            with contextlib.suppress(OSError):
                os.unlink(part)

    @staticmethod
    def _problem(path: str, what: str, problem: OSError) -> ImageFileError:
        return ImageFileError(f"{path}: {what}: {problem.strerror or problem}; check images-dir in nodepool.yaml")

    def entries(self) -> list[Entry]:
        """Return the files and directories in it, sorted by name; none when images-dir does not exist.

        :raises ImageFileError: images-dir cannot be read.
        """
        found = []
        try:
            with os.scandir(self.path) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        stat = entry.stat(follow_symlinks=False)
                        is_directory = entry.is_dir(follow_symlinks=False)
                        found.append(Entry(entry.name, is_directory, stat.st_blocks * _BLOCK, stat.st_mtime))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise self._problem(self.path, "cannot be read", problem) from problem
        return sorted(found, key=lambda entry: entry.name)

    def of_build(self, base: str) -> list[str]:
        """Return the names of all entries that begin with *base* and a dot."""
        return [entry.name for entry in self.entries() if entry.name.startswith(f"{base}.")]

    def remove_build(self, base: str) -> None:
        """Remove all entries that begin with *base* and a dot, as far as possible."""
        self.remove(self.of_build(base))

    def sizes(self, base: str, formats: Iterable[str]) -> dict[str, int]:
        """Return format → bytes on disk of the image file, without the files that do not exist."""
        sizes = {}
        for name in formats:
            with contextlib.suppress(OSError):
                sizes[name] = os.stat(os.path.join(self.path, f"{base}.{name}")).st_blocks * _BLOCK
        return sizes

    def empty(self, base: str, formats: Iterable[str]) -> list[str]:
        """Return the formats whose image file exists and has no byte of data."""
        found = []
        for name in formats:
            with contextlib.suppress(OSError):
                if os.stat(os.path.join(self.path, f"{base}.{name}")).st_size == 0:
                    found.append(name)
        return found

    def remove(self, names: Iterable[str]) -> list[str]:
        """Remove files and directories. It is not an error when one does not exist.

        :return: one sentence for each that could not be removed.
        """
        problems = []
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        except OSError as problem:
            return [f"files in {self.path} cannot be removed: {problem.strerror}"]
        with closed(fd):
            for name in names:
                if "/" in name or name in ("", ".", ".."):
                    raise ImageFileError(f"{name!r} is not the name of a file in {self.path}")
                try:
                    if stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
                        shutil.rmtree(name, dir_fd=fd)
                    else:
                        os.unlink(name, dir_fd=fd)
                except FileNotFoundError:
                    continue
                except OSError as problem:
                    problems.append(f"{os.path.join(self.path, name)} cannot be removed: {problem.strerror}")
        return problems

    def checksums(self, name: str) -> dict[str, str]:
        """Return algorithm → digits from the checksum files of an image file, without invalid ones."""
        found = {}
        for algorithm, length in CHECKSUMS.items():
            with contextlib.suppress(OSError):
                with open(os.path.join(self.path, f"{name}.{algorithm}"), encoding="ascii", errors="replace") as file:
                    digits = file.read(length).lower()
                if len(digits) == length and set(digits) <= set("0123456789abcdef"):
                    found[algorithm] = digits
        return found

    def write_checksums(self, name: str, attend: Callable[[], None] = lambda: None) -> dict[str, str]:
        """Compute the checksums of an image file and write them beside it, in the format of md5sum and sha256sum.

        :param attend: called after each MiB that was read.
        :raises ImageFileError: the file cannot be read, or a checksum cannot be written.
        """
        path = os.path.join(self.path, name)
        digests = {algorithm: hashlib.new(algorithm, usedforsecurity=False) for algorithm in CHECKSUMS}
        try:
            with open(path, "rb") as file:
                while chunk := file.read(_CHUNK):
                    for digest in digests.values():
                        digest.update(chunk)
                    attend()
            found = {algorithm: digest.hexdigest() for algorithm, digest in digests.items()}
            for algorithm, digits in found.items():
                with open(f"{path}.{algorithm}", "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(f"{digits}  {path}\n")
        except OSError as problem:
            raise self._problem(path, "its checksums cannot be computed or written", problem) from problem
        return found


def lacking_room(needs: Mapping[str, int], reason: str = "by what the last build took") -> list[str]:
    """Return a sentence for each file system that has too little free space.

    :param needs: directory → needed bytes; the bytes of directories on the same file system are added up. For a
        directory that does not exist, the nearest existing one above it counts.
    :param reason: how the need is known, for the sentence.
    """
    totals: dict[int, tuple[str, int, int]] = {}
    for path, needed in needs.items():
        place = os.path.abspath(path)
        while not os.path.exists(place) and place != "/":
            place = os.path.dirname(place)
        try:
            device, stat = os.stat(place).st_dev, os.statvfs(place)
        except OSError:
            continue  # a later write fails and tells what is wrong
        first, before, _free = totals.get(device, (path, 0, 0))
        totals[device] = (first, before + needed, stat.f_bavail * stat.f_frsize)
    return [
        f"{path} has {free // _MIB} MiB free, but {-(-needed // _MIB)} MiB are needed {reason}: free some"
        f" space, or use a larger file system"
        for path, needed, free in totals.values()
        if needed > free
    ]
