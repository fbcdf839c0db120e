# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things live in Nodepool's tree, and which of it we read."""

from __future__ import annotations

import re
import string

from ...model.errors import StoreError

ROOT = "/nodepool"
NODES = f"{ROOT}/nodes"
REQUESTS = f"{ROOT}/requests"
REQUEST_LOCKS = f"{ROOT}/requests-lock"
IMAGES = f"{ROOT}/images"
COMPONENTS = f"{ROOT}/components"
OWN = f"{ROOT}/stackci"

DOCUMENT_ROOTS = (NODES, REQUESTS, IMAGES, COMPONENTS, OWN)
"""Everything below these is kept in the cache."""
LOCKED = (NODES, REQUESTS)
"""What is in these has a lock each, which is a reading more for each."""
LOCK = "lock"
CONTENDER = "__lock__"
_IMAGE_LOCKS = (4, 5, 8, 9)
"""Where a lock may stand in a path below images: of an image's builds, of a build, of a build at a provider, of an
upload. Anything may be called "lock" elsewhere: an image, a provider."""
_IMPOSSIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]|//|/\.\.?(?:/|$)")
_PLAIN = frozenset(string.ascii_letters + string.digits + "-_.+@ ():,")


def can_be(path: str) -> bool:
    """True when there can be a znode of that path: others write ids into documents that are none.

    The rules are those of ZooKeeper's own ``PathUtils.validatePath``; a path that could not be encoded would end the
    thread that talks to the server. (A path that ends in a slash is the beginning of a sequence.)
    """
    return _IMPOSSIBLE.search(path) is None


def split(path: str) -> tuple[str, str]:
    """Parent and name; the parent of a top-level znode is ""."""
    parent, _slash, name = path.rpartition("/")
    return parent, name


def below(path: str, root: str) -> bool:
    """True when *path* is *root* or lies below it."""
    return path == root or path.startswith(root + "/")


def is_lock(path: str) -> bool:
    """True for a lock directory and everything in it: only its existence matters, its data is never read."""
    if below(path, REQUEST_LOCKS):
        return path != REQUEST_LOCKS
    if "/" + LOCK not in path:
        return False
    segments = path.split("/")[1:]
    if segments[1:2] == ["images"]:
        return any(segments[place : place + 1] == [LOCK] for place in _IMAGE_LOCKS)
    return LOCK in segments[2:]


def is_cached(path: str) -> bool:
    """True for what the cache follows."""
    return below(path, REQUEST_LOCKS) or any(below(path, root) for root in DOCUMENT_ROOTS)


def image(name: str) -> str:
    """An image's container, with its flags."""
    return f"{IMAGES}/{name}"


def builds(image_name: str) -> str:
    """The directory of an image's builds; the lock in it is that of building the image."""
    return f"{IMAGES}/{image_name}/builds"


def build(image_name: str, build_id: str) -> str:
    """A build's record."""
    return f"{builds(image_name)}/{build_id}"


def uploads(image_name: str, build_id: str, provider: str) -> str:
    """The directory of a build's uploads to a provider; the lock in it is that of uploading."""
    return f"{build(image_name, build_id)}/providers/{provider}/images"


def own(path: str) -> str:
    """The full path of a document of ours.

    :raises StoreError: when *path* cannot be a path below our subtree.
    """
    segments = path.split("/")
    for segment in segments:
        if not segment or segment in (".", "..", LOCK) or any(ord(letter) < 32 for letter in segment):
            raise StoreError(
                f"{path!r} cannot be stored in ZooKeeper: {segment!r} is no name of a znode of ours; "
                "use segment() on names that users choose"
            )
    return f"{OWN}/{path}"


def segment(name: str) -> str:
    """A name that a user chose, as one segment of a path: unchanged where possible, else percent-encoded."""
    if name in (".", "..", LOCK):
        return _encoded(name)
    return "".join(letter if letter in _PLAIN else _encoded(letter) for letter in name)


def _encoded(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
