# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of each build for its temporary files: made before anything else, removed after everything else.

``<images-dir>/.stackci-tmp/<build id>`` tells that a build was begun here. Its cycle holds a lock on a file in
it, which ends with its process, however that ends: what is there and not locked was left behind.

Temporary files that go elsewhere (TMPDIR, TMP_DIR) are in ``.stackci-tmp-<random>/<build id>`` there: no other user
can make that first. The claim names it before it is made. All of it belongs to the user of the builder and is closed to
others, and what is not so is never believed or removed: root would do it for the user who made it.
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
"""The directory with a directory for each build in images-dir; in TMP_DIR a random part follows."""
_OWNER = "owner.json"
_COMING = "coming-"
_FORGET = 3600.0
_PLACE = re.compile(rf"(/[^/\0]+)*/{re.escape(TEMPORARY)}(-[0-9a-f]{{32}})?/[^/\0]+")


@dataclass(frozen=True)
class Leftover:
    """What a build that ended by itself or was killed has left.

    :ivar image: the image; "" when even that was not written any more.
    :ivar claim: the directory in images-dir.
    :ivar place: where its temporary files are; the same, or a directory of ours in another TMP_DIR.
    """

    build_id: str
    image: str
    claim: str
    place: str


@contextlib.contextmanager
def scratch_claim(images_dir: str, image: str, build_id: str, place: str | None = None) -> Iterator[Leftover]:
    """Claim a build that begins now. The lock is given back at the end, the directory stays.

    :param place: directory of the temporary files; None for the one in images-dir.
    :raises ImageFileError: something cannot be written, or another user made it first.
    """
    claim = os.path.join(os.path.realpath(images_dir), TEMPORARY, build_id)
    leftover = Leftover(build_id, image, claim, _resolved(place) if place else claim)
    try:
        owner = _claim(leftover)
    except OSError as problem:
        raise ImageFileError(
            f"{problem.filename or claim}: cannot be made or written: {problem.strerror}; it is for the temporary "
            f"files of the builds of {image}, see images-dir and TMP_DIR"
        ) from problem
    with owner:
        yield leftover


def _resolved(place: str) -> str:
    """The directory with the operator's own links resolved, once: later ones are another user's."""
    chosen, parent, name = place.rsplit("/", 2)
    return os.path.join(os.path.realpath(chosen or "/"), parent, name)


def _claim(leftover: Leftover) -> IO[str]:
    """Make the directories of a build, the record before the rest; the open file whose lock says that it lives."""
    root_path, name = os.path.split(leftover.claim)
    os.makedirs(os.path.dirname(root_path), exist_ok=True)
    with closed(_root(root_path, create=True)) as root:
        # Under its name there is none that is not locked: another cycle would take it for left behind.
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
        os.mkdir(parent, PRIVATE, dir_fd=above)  # the name is random: what is there already is not ours
        with closed(open_own(parent, above, os.path.dirname(place))) as own:
            os.mkdir(name, PRIVATE, dir_fd=own)


def _root(path: str, *, create: bool = False) -> int:
    """A descriptor of the directory of the claims."""
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
    """Ids of the builds that living processes of this machine make here."""
    return [name for name, _left, owned in _claims(images_dir) if owned]


def leftovers(images_dir: str) -> list[Leftover]:
    """Builds that were begun here and that no cycle makes any more, by id."""
    return [left for _name, left, owned in _claims(images_dir) if not owned]


def _claims(images_dir: str) -> Iterator[tuple[str, Leftover, bool]]:
    """(build id, what its record says, whether a cycle makes it) of what was claimed by this user.

    A directory of another user says nothing; the next build reports it.
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
    # Only what is called like a directory of ours is ever removed.
    ours = _PLACE.fullmatch(place) and os.path.basename(place) == build_id and ".." not in place.split("/")
    return Leftover(build_id, image, path, place if ours else path)
