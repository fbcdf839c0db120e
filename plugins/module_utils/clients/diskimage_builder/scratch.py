# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The directory of each build for its temporary files: made before anything else, removed after everything else.

``<images-dir>/.stackci-tmp/<build id>`` tells that a build was begun here. Whoever makes it holds a lock on a file in
it, which ends with its process, however that ends: what is there and not locked was left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import IO, Self

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.marks import TEMPORARY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import is_build_id

_OWNER = "owner.json"
_COMING = "coming-"
_FORGET = 3600.0


@dataclass(frozen=True)
class Leftover:
    """What a build that ended by itself or by somebody's hand has left.

    :ivar image: the image; "" when even that was not written any more.
    :ivar claim: the directory in images-dir.
    :ivar place: where its temporary files are; the same, or a directory of ours in another TMP_DIR.
    """

    build_id: str
    image: str
    claim: str
    place: str


class Claim:
    """The claim of a running build. ``with Claim.make(…)``: the lock is given back at the end, the directory stays."""

    def __init__(self, leftover: Leftover, owner: IO[str]) -> None:
        self.leftover = leftover
        self._owner = owner

    @classmethod
    def make(cls, images_dir: str, image: str, build_id: str, place: str | None = None) -> Self:
        """Claim a build that begins now.

        :param place: directory of the temporary files; None for the one in images-dir.
        :raises ImageFileError: something cannot be written.
        """
        claim = os.path.join(images_dir, TEMPORARY, build_id)
        leftover = Leftover(build_id, image, claim, place or claim)
        coming = os.path.join(images_dir, TEMPORARY, f"{_COMING}{build_id}")
        try:
            # Under its name there is none that is not locked: somebody would take it for left behind.
            os.makedirs(coming, exist_ok=True)
            owner = open(os.path.join(coming, _OWNER), "w", encoding="utf-8")  # noqa: SIM115
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            json.dump({"image": image, "place": leftover.place, "pid": os.getpid()}, owner)
            owner.flush()
            os.rename(coming, claim)
            os.makedirs(leftover.place, exist_ok=True)
        except OSError as problem:
            raise ImageFileError(
                f"{problem.filename or claim}: cannot be made or written: {problem.strerror}; it is for the temporary "
                f"files of the builds of {image}, see images-dir and TMP_DIR"
            ) from problem
        return cls(leftover, owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._owner.close()


def claimed(images_dir: str) -> list[str]:
    """Ids of the builds that living processes of this machine make here."""
    root = os.path.join(images_dir, TEMPORARY)
    with contextlib.suppress(OSError):
        return [name for name in sorted(os.listdir(root)) if is_build_id(name) and _is_owned(os.path.join(root, name))]
    return []


def leftovers(images_dir: str) -> list[Leftover]:
    """Builds that were begun here and that nobody makes any more, by id."""
    root = os.path.join(images_dir, TEMPORARY)
    found = []
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    for name in names:
        path = os.path.join(root, name)
        if is_build_id(name) and not _is_owned(path):
            found.append(_read(root, name))
        elif name.startswith(_COMING):
            with contextlib.suppress(OSError):
                if time.time() - os.stat(path).st_mtime > _FORGET and not _is_owned(path):
                    shutil.rmtree(path)
    return found


def _is_owned(claim: str) -> bool:
    with contextlib.suppress(FileNotFoundError), open(os.path.join(claim, _OWNER), "rb") as owner:
        try:
            fcntl.flock(owner, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _read(root: str, build_id: str) -> Leftover:
    claim = os.path.join(root, build_id)
    document: object = None
    with contextlib.suppress(OSError, ValueError), open(os.path.join(claim, _OWNER), encoding="utf-8") as owner:
        document = json.load(owner)
    known = document if isinstance(document, dict) else {}
    image, place = str(known.get("image") or ""), str(known.get("place") or claim)
    # Only what ends like a directory of ours is ever removed.
    ours = place.endswith(f"/{TEMPORARY}/{build_id}") and os.path.isabs(place) and ".." not in place.split("/")
    return Leftover(build_id, image, claim, place if ours else claim)
