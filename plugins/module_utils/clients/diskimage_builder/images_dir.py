# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""images-dir: who owns it, what is in it, how much room there is."""

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
"""Name of the algorithm, which is the extension of the file, and how many characters it has."""
_BLOCK = 512
_CHUNK = _MIB = 1 << 20


@dataclass(frozen=True)
class Entry:
    """Something in images-dir. *size*: bytes on disk. *modified*: UNIX time."""

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
        """The content of builder_id.txt, which names the owner of the files; made when it is not there.

        :param create: False returns "" then, and writes nothing.
        :raises ImageFileError: it cannot be read or written, or is empty.
        """
        path = os.path.join(self.path, BUILDER_ID_FILE)
        found = self._read(path)
        if found is None:
            if not create:
                return ""
            self._write_once(path, str(uuid.uuid4()))
            found = self._read(path)
        if not found:
            raise ImageFileError(f"{path}: is empty; it names the owner of the image files: write a uuid, or remove it")
        return found

    @property
    def tree_id_path(self) -> str:
        """Where the id of the tree stands that has the records of these files."""
        return os.path.join(self.path, TREE_ID_FILE)

    def tree_id(self) -> str:
        """The id of the tree that the files belong to; "" when that is not written down.

        :raises ImageFileError: it cannot be read.
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
        """Write down whose the files are, unless that is known.

        :raises ImageFileError: it cannot be written.
        """
        self._write_once(self.tree_id_path, tree)

    def _write_once(self, path: str, text: str) -> None:
        """A file with that text, unless it is there; the directory is made."""
        part = f"{path}.{uuid.uuid4().hex}"
        try:
            os.makedirs(self.path, exist_ok=True)
            with open(part, "w", encoding="ascii") as file:
                file.write(text)
            # Of two builders that start at the same time one wins, and both go by its id.
            with contextlib.suppress(FileExistsError):
                os.link(part, path)
        except OSError as problem:
            raise self._problem(path, "cannot be written", problem) from problem
        finally:
            with contextlib.suppress(OSError):
                os.unlink(part)

    @staticmethod
    def _problem(path: str, what: str, problem: OSError) -> ImageFileError:
        return ImageFileError(f"{path}: {what}: {problem.strerror or problem}; see images-dir in nodepool.yaml")

    def entries(self) -> list[Entry]:
        """What is in it, by name; nothing when it is not there.

        :raises ImageFileError: it cannot be read.
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
        """Names of everything that begins with *base* and a dot."""
        return [entry.name for entry in self.entries() if entry.name.startswith(f"{base}.")]

    def remove_build(self, base: str) -> None:
        """Remove everything that begins with *base* and a dot, as far as that is possible."""
        self.remove(self.of_build(base))

    def sizes(self, base: str, formats: Iterable[str]) -> dict[str, int]:
        """Format → bytes on disk of the image file; a file that is not there is left out."""
        sizes = {}
        for name in formats:
            with contextlib.suppress(OSError):
                sizes[name] = os.stat(os.path.join(self.path, f"{base}.{name}")).st_blocks * _BLOCK
        return sizes

    def remove(self, names: Iterable[str]) -> list[str]:
        """Remove files and directories; those that are gone are fine.

        :return: what could not be removed, one sentence each.
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
                    raise ImageFileError(f"{name!r} is no name of a file in {self.path}")
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
        """What the checksum files of an image file say: algorithm → digits. Those that make no sense are left out."""
        found = {}
        for algorithm, length in CHECKSUMS.items():
            with contextlib.suppress(OSError):
                with open(os.path.join(self.path, f"{name}.{algorithm}"), encoding="ascii", errors="replace") as file:
                    digits = file.read(length).lower()
                if len(digits) == length and set(digits) <= set("0123456789abcdef"):
                    found[algorithm] = digits
        return found

    def write_checksums(self, name: str, attend: Callable[[], None] = lambda: None) -> dict[str, str]:
        """Compute the checksums of an image file and write them beside it, as md5sum and sha256sum do.

        :param attend: called again and again meanwhile.
        :raises ImageFileError: the file cannot be read, or they cannot be written.
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
    """A sentence for each file system that cannot take what is needed.

    :param needs: directory → bytes; those of directories on the same file system add up. One that does not exist
        counts as the nearest one above it that does.
    :param reason: whence it is known what is needed.
    """
    totals: dict[int, tuple[str, int, int]] = {}
    for path, needed in needs.items():
        place = os.path.abspath(path)
        while not os.path.exists(place) and place != "/":
            place = os.path.dirname(place)
        try:
            device, stat = os.stat(place).st_dev, os.statvfs(place)
        except OSError:
            continue  # the write that fails will tell what is wrong
        first, before, _free = totals.get(device, (path, 0, 0))
        totals[device] = (first, before + needed, stat.f_bavail * stat.f_frsize)
    return [
        f"{path} has {free // _MIB} MiB free, but {-(-needed // _MIB)} MiB are needed {reason}: remove something, or"
        " use a larger file system"
        for path, needed, free in totals.values()
        if needed > free
    ]
