# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of each build for its temporary files. A build makes it first, and it is removed last.

``<images-dir>/.stackci-tmp/<build id>``, the claim, says that a build was started here. The cycle holds a lock on a
file in it, which ends with the process of the cycle in any case: a claim without a lock was left behind.

Temporary files in another directory (TMPDIR, TMP_DIR) are in ``.stackci-tmp-<random>/<build id>`` there: no other user
can make that first. The claim names this directory before it is made. All these directories belong to the user of the
builder and are closed to others. One that is not so is never trusted or removed: otherwise root would remove files for
the user who made it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from ...model.errors import ImageFileError
from ...model.image import is_build_id
from .folders import (
    PRIVATE,
    closed,
    make_own,
    open_own,
    open_without_links,
)

TEMPORARY = ".stackci-tmp"
"""Name of the directory in images-dir that has a directory for each build; in TMP_DIR a random part is added."""
_OWNER = "owner.json"
_COMING = "coming-"
_FORGET = 3600.0
_PLACE = re.compile(rf"(/[^/\0]+)*/{re.escape(TEMPORARY)}(-[0-9a-f]{{32}})?/[^/\0]+")


@dataclass(frozen=True)
class Leftover:
    """The directories of a build, which remain when it ended or was killed.

    :ivar image: the image; "" when the build was killed before it wrote the image's name.
    :ivar claim: the directory in images-dir.
    :ivar place: the directory of the temporary files; the claim, or the build's directory in another TMP_DIR.
    """

    build_id: str
    image: str
    claim: str
    place: str


@contextlib.contextmanager
def scratch_claim(images_dir: str, image: str, build_id: str, place: str | None = None) -> Iterator[Leftover]:
    """Claim a build that starts now. At the end of the block the lock is released; the directory stays.

    :param place: directory of the temporary files; None for the one in images-dir.
    :raises ImageFileError: a directory or file cannot be written, or another user made it first.
    """
    claim = os.path.join(os.path.realpath(images_dir), TEMPORARY, build_id)
    leftover = Leftover(build_id, image, claim, _resolved(place) if place else claim)
    try:
        owner = _claim(leftover)
    except OSError as problem:
        raise ImageFileError(
            f"{problem.filename or claim}: cannot be created or written: {problem.strerror}; builds of {image}"
            f" need it for temporary files: check images-dir and TMP_DIR"
        ) from problem
    with owner:
        yield leftover


def _resolved(place: str) -> str:
    """Return the directory with the operator's links resolved, once: links that appear later are another user's."""
    chosen, parent, name = place.rsplit("/", 2)
    return os.path.join(os.path.realpath(chosen or "/"), parent, name)


def _claim(leftover: Leftover) -> IO[str]:
    """Make the directories of a build, its record first; return the locked file, which shows that the build runs."""
    root_path, name = os.path.split(leftover.claim)
    os.makedirs(os.path.dirname(root_path), exist_ok=True)
    with closed(_root(root_path, create=True)) as root:
        # The claim gets its name only when it is locked: another cycle would count an unlocked claim as left behind.
        coming = f"{_COMING}{name}"
        with closed(make_own(coming, root, os.path.join(root_path, coming))) as claim:
            owner = os.fdopen(_open_file(claim, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8")
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            json.dump({"image": leftover.image, "place": leftover.place, "pid": os.getpid()}, owner)
            owner.flush()
            os.rename(coming, name, src_dir_fd=root, dst_dir_fd=root)
            if leftover.place != leftover.claim:
                _make_place(leftover.place)
        except BaseException:
            owner.close()
            raise
    return owner


def _make_place(place: str) -> None:
    chosen, parent, name = place.rsplit("/", 2)
    os.makedirs(chosen or "/", exist_ok=True)
    with closed(open_without_links(chosen or "/")) as above:
        os.mkdir(parent, PRIVATE, dir_fd=above)  # the name is random: an existing directory is another user's
        with closed(open_own(parent, above, os.path.dirname(place))) as own:
            os.mkdir(name, PRIVATE, dir_fd=own)


def _root(path: str, *, create: bool = False) -> int:
    """Return a descriptor of the directory of the claims."""
    above, name = os.path.split(path)
    with closed(open_without_links(above)) as parent:
        return (make_own if create else open_own)(name, parent, path)


def _open_file(claim: int, flags: int) -> int:
    fd = os.open(_OWNER, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600, dir_fd=claim)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise FileNotFoundError(_OWNER)


def claimed(images_dir: str) -> list[str]:
    """Return the ids of the builds in images-dir that processes of this machine are running now."""
    return [name for name, _left, owned in _claims(images_dir) if owned]


def leftovers(images_dir: str) -> list[Leftover]:
    """Return the builds that were started in images-dir and that no cycle runs any more, sorted by id."""
    return [left for _name, left, owned in _claims(images_dir) if not owned]


def _claims(images_dir: str) -> Iterator[tuple[str, Leftover, bool]]:
    """Yield (build id, its directories, whether a cycle runs it) for each claim of this user.

    A directory of another user is ignored here; the next build reports it.
    """
    root_path = os.path.join(os.path.realpath(images_dir), TEMPORARY)
    with contextlib.suppress(OSError, ImageFileError), closed(_root(root_path)) as root:
        for name in sorted(os.listdir(root)):
            if is_build_id(name):
                with contextlib.suppress(OSError, ImageFileError), closed(open_own(name, root, name)) as claim:
                    yield name, _read(claim, os.path.join(root_path, name)), _is_owned(claim)
            elif name.startswith(_COMING):
                _forget(name, root)


def _forget(name: str, root: int) -> None:
    with contextlib.suppress(OSError, ImageFileError), closed(open_own(name, root, name)) as coming:
        if time.time() - os.fstat(coming).st_mtime > _FORGET and not _is_owned(coming):
            shutil.rmtree(name, dir_fd=root)


def _is_owned(claim: int) -> bool:
    with contextlib.suppress(FileNotFoundError), closed(_open_file(claim, os.O_RDONLY)) as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _read(claim: int, path: str) -> Leftover:
    document: object = None
    build_id = os.path.basename(path)
    with contextlib.suppress(OSError, ValueError), os.fdopen(_open_file(claim, os.O_RDONLY), encoding="utf-8") as owner:
        document = json.load(owner)
    known = document if isinstance(document, dict) else {}
    image, place = str(known.get("image") or ""), str(known.get("place") or path)
    # Only a directory whose name has the form of a build's directory is ever removed.
    ours = _PLACE.fullmatch(place) and os.path.basename(place) == build_id and ".." not in place.split("/")
    return Leftover(build_id, image, path, place if ours else path)
