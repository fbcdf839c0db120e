# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of disk images: builds below ``/nodepool/images/<image>/builds`` and their uploads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .documents import Reader, StatefulDocument

DEFAULT_USERNAME = "zuul"
DEFAULT_PYTHON = "/usr/bin/python2"
_BUILD_ID = re.compile(r"[0-9a-f]{32}|\d{10}")
_UUID_LENGTH = 32
_UPLOAD_ID = re.compile(r"\d{10}")
_UPLOAD_PATH = re.compile(r"/nodepool/images/(?P<image>[^/]+)/builds/(?P<build>[^/]+)/providers/[^/]+/images/[^/]+")

STALE_AFTER = 2
"""An image is stale when it is older than this many times its rebuild-age."""


class BuildState:
    """The states of a build."""

    BUILDING = "building"
    READY = "ready"
    DELETING = "deleting"
    FAILED = "failed"

    ALL = frozenset((BUILDING, READY, DELETING, FAILED))


class UploadState:
    """The states of an upload."""

    UPLOADING = "uploading"
    READY = "ready"
    DELETING = "deleting"
    FAILED = "failed"

    ALL = frozenset((UPLOADING, READY, DELETING, FAILED))


def is_build_id(name: str) -> bool:
    """Return True for a uuid in hex and for the ten digits of old versions; ``lock`` is not a build."""
    return _BUILD_ID.fullmatch(name) is not None


def is_unique(build_id: str) -> bool:
    """Return True for a uuid, which no other tree has. The numbers of old versions are the same in all trees."""
    return len(build_id) == _UUID_LENGTH and is_build_id(build_id)


def is_upload_id(name: str) -> bool:
    """Return True for the name of an upload's znode."""
    return _UPLOAD_ID.fullmatch(name) is not None


def build_of_path(path: str | None) -> tuple[str, str] | None:
    """Return (image, build id) of the path of an upload, which a node's record has as ``image_id``.

    :return: None for anything else: the node was made of a cloud-image.
    """
    found = _UPLOAD_PATH.fullmatch(path or "")
    return (found["image"], found["build"]) if found is not None and is_build_id(found["build"]) else None


def _formats(value: Any) -> list[str]:
    return sorted(item for item in value.split(",") if item) if isinstance(value, str) else []


_ABSENT = {"username": DEFAULT_USERNAME, "python_path": DEFAULT_PYTHON}


@dataclass
class Build(StatefulDocument):
    """A disk image on a builder's disk. *id* is a uuid in hex, or ten digits in old trees.

    *born* is the number of the ZooKeeper transaction that created the record (0 while it is not stored). These numbers
    give the order of builds, requests and pauses without any clock.
    """

    STATES: ClassVar[frozenset[str]] = BuildState.ALL
    NEEDED: ClassVar[tuple[str, ...]] = ("state",)
    ABSENT: ClassVar[Mapping[str, Any]] = _ABSENT
    READ: ClassVar[Mapping[str, Reader]] = {"formats": _formats}
    BESIDE: ClassVar[tuple[str, ...]] = ("image", "path", "born")

    image: str = ""
    path: str = ""
    born: int = 0
    state: str = BuildState.BUILDING
    builder: str | None = None
    builder_id: str | None = None
    formats: list[str] = field(default_factory=list)
    username: str | None = None
    python_path: str | None = None
    shell_type: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the document; the formats are one sorted string, and the key is left out when there are none."""
        document = super().to_document()
        formats = document.pop("formats")
        if formats is not self.formats:  # as another program has written it
            document["formats"] = formats
        elif formats:
            document["formats"] = ",".join(sorted(formats))
        return document


def age_order(build: Build) -> tuple[float, int, str]:
    """Return the sort key of ready builds, by age as Nodepool defines it."""
    return build.state_time or 0.0, build.born, build.id


@dataclass
class Upload(StatefulDocument):
    """A build in a provider's cloud. *path* is its full znode path, which node records have as ``image_id``."""

    STATES: ClassVar[frozenset[str]] = UploadState.ALL
    NEEDED: ClassVar[tuple[str, ...]] = ("state",)
    ABSENT: ClassVar[Mapping[str, Any]] = _ABSENT
    BESIDE: ClassVar[tuple[str, ...]] = ("image", "build_id", "provider", "path")

    image: str = ""
    build_id: str = ""
    provider: str = ""
    path: str = ""
    state: str = UploadState.UPLOADING
    external_id: str | None = None
    external_name: str | None = None
    format: str | None = None
    username: str | None = None
    python_path: str | None = None
    shell_type: str | None = None


def upload_order(upload: Upload, build: Build | None) -> tuple[float, int, str, float, str]:
    """Return the sort key of ready uploads of an image at a provider: nodes are made from the last one.

    The order is that of the builds: one that is uploaded again, or passes its test later, does not replace a newer one.

    :param build: its build; None if the record is gone: then the time of the upload counts.
    """
    made = age_order(build) if build is not None else (upload.state_time or 0.0, 0, "")
    return (*made, upload.state_time or 0.0, upload.path)
