# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The last state of a tree, kept on this host for the time in which ZooKeeper cannot be reached.

The file holds the documents of the tree, so it is as secret as they are: mode 0600, in a folder that no other user may
write to. It is only shown, never acted on.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import stat
import time
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from glob import escape, glob
from itertools import islice
from typing import IO, Any, NamedTuple

from ...model.config.types import ZooKeeperSettings
from ..private_file import open_private_folder, write_private
from ..state_folder import SERVICES
from .link import connect_errors, paths
from .link.tree import Tree

LARGEST = 64 * 1024 * 1024
"""Most characters of the file before it is compressed. A larger tree is not kept."""
FORGET = 7 * 86400.0
"""Age in seconds from which a file is neither shown nor left in its folder."""
_LONGEST_LINE = 8 * 1024 * 1024
"""Most characters of a document in the file. ZooKeeper accepts a megabyte, of which each byte may take six."""
_TOO_LARGE = f"its documents have more than {LARGEST // 2**20} MiB"
_PREFIX = "tree-"


class TooLarge(Exception):
    """The tree is too large to be kept."""


class KeptStat(NamedTuple):
    """The fields of a stat that are kept; see :class:`link.tree.Stat`."""

    czxid: int
    mzxid: int
    version: int
    ctime: int
    mtime: int
    numChildren: int = 0  # noqa: N815 (kazoo's name)
    cversion: int = 0


@dataclass(frozen=True)
class KeptTree:
    """A tree as it was.

    :param seen: UNIX time until which it was up to date.
    """

    tree: Tree
    seen: float


def keep(folder: str, settings: ZooKeeperSettings, tree: Tree, seen: float) -> None:
    """Write *tree* to its file in *folder*, and delete old files of other trees.

    :param seen: UNIX time until which it was up to date.
    :raises TooLarge: the tree is too large.
    :raises FolderNotPrivate: another user could replace files in the folder, or it cannot be made or opened.
    :raises ConfigError: the file cannot be written.
    """
    os.close(open_private_folder(folder))
    entries, locks = tree.entries()
    if sum(len(entry.data) for entry in entries.values()) > LARGEST:
        raise TooLarge(_TOO_LARGE)
    lines = [json.dumps({"seen": seen, "documents": len(entries), "locks": len(locks)})]
    for path, entry in entries.items():
        found = entry.stat
        text = entry.data.decode("utf-8", "surrogateescape")
        lines.append(json.dumps([path, text, found.czxid, found.mzxid, found.version, found.ctime, found.mtime]))
    lines += map(json.dumps, sorted(locks))
    if sum(map(len, lines)) + len(lines) > LARGEST:
        raise TooLarge(_TOO_LARGE)
    write_private(os.path.join(folder, file_name(settings)), gzip.compress("\n".join(lines).encode(), 1))
    for path in glob(os.path.join(escape(folder), f"{_PREFIX}*.json.gz")):
        with contextlib.suppress(OSError):
            if time.time() - os.stat(path).st_mtime > FORGET:
                os.unlink(path)


def find(own_folder: str, settings: ZooKeeperSettings, now: float) -> KeptTree | None:
    """Return the newest kept state of the tree of *settings*; None when there is none that is younger than FORGET.

    :param own_folder: the folder of this user's processes; files of other users in it do not count. The folders of the
        services of this host are looked into as well.
    """
    name = file_name(settings)
    found = [_read(os.path.join(own_folder, name), {os.geteuid()})]
    services = [*glob(SERVICES), *glob(os.path.dirname(SERVICES))]  # the web service has no folder for sessions
    found += [_read(os.path.join(folder, name), None) for folder in services]
    known = [kept for kept in found if kept is not None and now - kept.seen <= FORGET]
    return max(known, key=lambda kept: kept.seen, default=None)


def file_name(settings: ZooKeeperSettings) -> str:
    """Return the name of the file: the servers, in any order, and the chroot name the tree."""
    hosts, chroot = sorted(connect_errors.host_names(settings)), connect_errors.connection_string(settings)
    key = json.dumps([hosts, chroot.partition("/")[2]])
    return f"{_PREFIX}{hashlib.sha256(key.encode()).hexdigest()[:16]}.json.gz"


def _read(path: str, owners: Collection[int] | None) -> KeptTree | None:
    """Return the content of a file; None when there is none, it is damaged, or another user may have written it.

    :param owners: the users whose file is believed; None for the owner of its folder.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            found = os.fstat(fd)
            trusted = {os.stat(os.path.dirname(path)).st_uid} if owners is None else owners
            if not stat.S_ISREG(found.st_mode) or found.st_uid not in trusted or found.st_mode & 0o077:
                return None
            with gzip.open(file, "rt", encoding="utf-8") as unpacked:
                return _parse(unpacked)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError):
        return None


def _parse(file: IO[str]) -> KeptTree:
    """Read the lines of a file.

    :raises ValueError, KeyError, TypeError: it is no such file, or a part is missing.
    """
    left = LARGEST
    head = json.loads(_line(file))
    seen, documents, locks = float(head["seen"]), int(head["documents"]), int(head["locks"])
    tree = Tree()
    for line in islice(iter(lambda: _line(file), ""), documents):
        left -= len(line)
        if left < 0:
            raise ValueError("too large")
        _put(tree, json.loads(line))
        documents -= 1
    for line in islice(iter(lambda: _line(file), ""), locks):
        tree.touch(str(json.loads(line)))
        locks -= 1
    if documents or locks:
        raise ValueError("a part is missing")
    return KeptTree(tree, seen)


def _line(file: IO[str]) -> str:
    line = file.readline(_LONGEST_LINE)
    if len(line) >= _LONGEST_LINE:
        raise ValueError("a line is too long")
    return line


def _put(tree: Tree, item: list[Any]) -> None:
    path, text, *numbers = item
    if not paths.below(path, paths.ROOT):
        raise ValueError("not a path of the tree")
    tree.put(path, text.encode("utf-8", "surrogateescape"), KeptStat(*map(int, numbers)))
