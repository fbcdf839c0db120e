# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths in Nodepool's tree, and which of them the cache holds."""

from __future__ import annotations

import re
import string
from collections.abc import Collection
from functools import lru_cache

from ....model.errors import StoreError

ROOT = "/nodepool"
NODES = f"{ROOT}/nodes"
REQUESTS = f"{ROOT}/requests"
REQUEST_LOCKS = f"{ROOT}/requests-lock"
IMAGES = f"{ROOT}/images"
COMPONENTS = f"{ROOT}/components"
OWN = f"{ROOT}/stackci"
_CONTROL = re.compile(r"[\x00-\x1f]")

DOCUMENT_ROOTS = (NODES, REQUESTS, IMAGES, COMPONENTS, OWN)
"""Everything below these is kept in the cache."""
IMAGE_ROOTS = (IMAGES, COMPONENTS, OWN)
"""What a client keeps that looks at no node and no request, such as one that only builds images."""
LOCKED = (NODES, REQUESTS)
"""Each record in these has a lock, which costs one more read for each."""
LOCK = "lock"
CONTENDER = "__lock__"
_IMAGE_LOCKS = (4, 5, 8, 9)
"""Positions that a lock may have in a path below images: the lock of an image's builds, of a build, of a build at a
provider, of an upload. At other positions, "lock" is a normal name, e.g. of an image or a provider."""
_BUILD, _UPLOAD = 6, 10
"""Number of slashes and names in the paths of a build and of an upload, with the one before the first slash."""
_IMPOSSIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]|//|/\.\.?(?:/|$)")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-_.+@ ():,")


def can_be(path: str) -> bool:
    """Return True when a znode can have that path: other clients write documents with ids that are not valid in paths.

    The rules are those of ZooKeeper's own ``PathUtils.validatePath``; a path that cannot be encoded would end the
    thread that talks to the server. A path that ends in a slash is valid: it is the beginning of a sequence znode.
    """
    return _IMPOSSIBLE.search(path) is None


def split(path: str) -> tuple[str, str]:
    """Return the parent and the name of *path*; the parent of a top-level znode is ""."""
    parent, _slash, name = path.rpartition("/")
    return parent, name


def below(path: str, root: str) -> bool:
    """Return True when *path* is *root* or lies below it."""
    return path == root or path.startswith(root + "/")


def shared_record(path: str) -> str | None:
    """Return the path of the node, request, build or upload to which *path* or a lock at *path* belongs, if any."""
    if path.startswith(IMAGES + "/"):
        segments = path.split("/")
        for length in (_UPLOAD, _BUILD):
            if len(segments) >= length and segments[length - 1] != LOCK:
                return "/".join(segments[:length])
        return None
    for root, records in ((NODES, NODES), (REQUESTS, REQUESTS), (REQUEST_LOCKS, REQUESTS)):
        if path.startswith(root + "/"):
            return f"{records}/{path[len(root) + 1 :].partition('/')[0]}"
    return None


def is_lock(path: str) -> bool:
    """Return True for a lock directory and all below it: only their existence matters, their data is never read."""
    if below(path, REQUEST_LOCKS):
        return path != REQUEST_LOCKS
    if "/" + LOCK not in path:
        return False
    segments = path.split("/")[1:]
    if segments[1:2] == ["images"]:
        return any(segments[place : place + 1] == [LOCK] for place in _IMAGE_LOCKS)
    return LOCK in segments[2:]


def is_cached(path: str, roots: Collection[str] = DOCUMENT_ROOTS) -> bool:
    """Return True for a path that a cache of *roots* follows; locks of requests go with the requests."""
    for root in roots:  # A loop: this is asked for each change of the tree, and a generator takes twice as long.
        if below(path, root):
            return True
    return REQUESTS in roots and below(path, REQUEST_LOCKS)


def image(name: str) -> str:
    """Return the path of an image; its flags are below it."""
    return f"{IMAGES}/{name}"


def builds(image_name: str) -> str:
    """Return the directory of an image's builds; its lock is for building the image."""
    return f"{IMAGES}/{image_name}/builds"


def build(image_name: str, build_id: str) -> str:
    """Return the path of a build's record."""
    return f"{builds(image_name)}/{build_id}"


def uploads(image_name: str, build_id: str, provider: str) -> str:
    """Return the directory of a build's uploads to a provider; its lock is for uploading."""
    return f"{build(image_name, build_id)}/providers/{provider}/images"


@lru_cache(maxsize=2_000)
def own(path: str) -> str:
    """Return the full path of one of the collection's own documents.

    :raises StoreError: *path* cannot be a path below ``OWN``.
    """
    for segment in path.split("/"):
        if not segment or segment in (".", "..", LOCK) or _CONTROL.search(segment):
            raise StoreError(
                f"{path!r} cannot be stored in ZooKeeper: {segment!r} is not a valid name for a znode; use"
                f" segment() on names that users choose"
            )
    return f"{OWN}/{path}"


@lru_cache(maxsize=2_000)
def segment(name: str) -> str:
    """Return a name that a user chose, as one segment of a path: unchanged or, where needed, percent-encoded."""
    if name in (".", "..", LOCK):
        return _encoded(name)
    return "".join(letter if letter in _PLAIN else _encoded(letter) for letter in name)


def _encoded(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
