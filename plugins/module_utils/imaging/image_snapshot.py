# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The input of the plans: plain values that the cycle has gathered. They have no access to ZooKeeper or a cloud."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Optional, TypeVar

from ..model.build_verdict import NONE, BuildVerdict
from ..model.cloud import Image
from ..model.config.types import NodepoolConfig, Provider
from ..model.gate import GateRecord
from ..model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
    age_order,
)
from .listed import OtherBuilders
from .notes import BuildNotes, Failures

T = TypeVar("T")
SeenImages = Mapping[tuple[str, str], Optional[Image]]  # noqa: UP045 (evaluated when it is imported)
"""(provider, id in its cloud) → the image; None where glance does not know the id. Where it is unknown, no entry."""


@dataclass(frozen=True)
class LocalFile:
    """A file or directory in images-dir that belongs to a build: an image, a checksum, the manifest directory.

    *name*: its name in images-dir. *format*: the format of the image that it is or belongs to; "" for the manifest and
    other files. *is_image*: it is the image itself. *size*: bytes on disk. *modified*: UNIX time.
    """

    name: str
    image: str
    build_id: str
    format: str = ""
    is_image: bool = False
    size: int = 0
    modified: float = 0.0


@dataclass(frozen=True)
class ImageState:
    """The records of an image in ZooKeeper.

    *requested*, *paused*: numbers of the transactions that wrote the flags (compare with ``Build.born``); None when
    they are not set. *locked*: a builder builds the image. *uploading*: (build id, provider) of the uploads whose lock
    is taken. *empty*: ids of build znodes without data; they remain when a deleted build was locked. *unreadable*: ids
    of build znodes whose data is not a document.
    """

    name: str
    builds: Sequence[Build] = ()
    uploads: Sequence[Upload] = ()
    requested: int | None = None
    paused: int | None = None
    locked: bool = False
    uploading: frozenset[tuple[str, str]] = frozenset()
    empty: frozenset[str] = frozenset()
    unreadable: frozenset[str] = frozenset()
    notes: BuildNotes = field(default_factory=BuildNotes)
    requested_at: float | None = None
    """UNIX time at which a build was requested."""
    upload_failures: Mapping[str, Failures] = field(default_factory=dict)
    """Provider → failed uploads in a row."""
    verdicts: Mapping[str, BuildVerdict] = field(default_factory=dict)
    """Build id → what is decided about it."""
    gates: Mapping[str, GateRecord] = field(default_factory=dict)
    """Provider → the test of an upload there."""

    def build(self, build_id: str) -> Build | None:
        """Return the build with that id."""
        return self._builds_by_id.get(build_id)

    @cached_property
    def ready_builds(self) -> tuple[Build, ...]:
        """The ready builds, the newest first."""
        ready = [build for build in self.builds if build.state == BuildState.READY]
        return tuple(sorted(ready, key=age_order, reverse=True))

    @cached_property
    def youngest_building(self) -> Build | None:
        """The build that was begun last of those in state building."""
        building = (build for build in self.builds if build.state == BuildState.BUILDING)
        return max(building, key=lambda build: (build.born, build.id), default=None)

    def verdict(self, build_id: str) -> BuildVerdict:
        """Return what is decided about a build; an empty verdict if nothing is."""
        return self.verdicts.get(build_id, NONE)

    def is_usable(self, build_id: str, now: float) -> bool:
        """Return False for a build from which no nodes may be made anywhere."""
        return self.verdict(build_id).is_used(now)

    def uploads_of(self, build_id: str, provider: str | None = None) -> list[Upload]:
        """Return the uploads of a build to *provider*, or to all providers."""
        uploads = self._uploads_by_build.get(build_id, [])
        return [upload for upload in uploads if provider is None or upload.provider == provider]

    @cached_property
    def uploads_by_provider(self) -> Mapping[str, Sequence[Upload]]:
        """The uploads of each provider."""
        return _grouped(self.uploads, lambda upload: upload.provider)

    @cached_property
    def _builds_by_id(self) -> dict[str, Build]:
        return {build.id: build for build in self.builds}

    @cached_property
    def _uploads_by_build(self) -> Mapping[str, Sequence[Upload]]:
        return _grouped(self.uploads, lambda upload: upload.build_id)

    def has_ready_upload(self, build_id: str, provider: str) -> bool:
        """True when the build is in the provider's cloud."""
        return any(upload.state == UploadState.READY for upload in self.uploads_of(build_id, provider))


@dataclass(frozen=True)
class ImagesView:
    """All images at one moment, as this builder sees them.

    :ivar now: UNIX time.
    :ivar images: the images in ZooKeeper by name; an image without entry has never had a build, a request or a pause.
    :ivar provider_formats: provider → ``image_format`` of its clouds.yaml entry; a provider is left out when that
        is unknown (no such entry, no readable file).
    :ivar files: the files in images-dir, read *before* ZooKeeper was read; None when images-dir was not read.
    :ivar builder_id: content of builder_id.txt; "" when there is none.
    :ivar former: ids that this builder had before it lost its images-dir and the builder_id.txt in it.
    :ivar building: ids of the builds that this process is making.
    :ivar uploading: (build id, provider) of the uploads that this process is making or deleting.
    :ivar lost: paths of the uploads whose image glance does not know any more; glance was asked twice.
    :ivar others: the other builders of the tree, and what they list.
    :ivar absent: ids of builders whose files were needed while no cycle of theirs ran → since when, in UNIX seconds.
    """

    now: float
    config: NodepoolConfig
    images: Mapping[str, ImageState] = field(default_factory=dict)
    provider_formats: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[LocalFile] | None = None
    builder_id: str = ""
    former: frozenset[str] = frozenset()
    building: frozenset[str] = frozenset()
    uploading: frozenset[tuple[str, str]] = frozenset()
    lost: frozenset[str] = frozenset()
    others: OtherBuilders = field(default_factory=OtherBuilders)
    absent: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def kept(self) -> dict[tuple[str, str], list[Upload]]:
        """(image, provider) → the uploads that the provider keeps, as far as they were worked out."""
        return {}

    def image(self, name: str) -> ImageState:
        """Return the state of an image; an empty one when ZooKeeper has none."""
        return self.images.get(name) or ImageState(name)

    def providers_of(self, image: str) -> Iterator[Provider]:
        """Return the providers that list the image, in the order of the configuration."""
        return (provider for provider in self.config.providers.values() if image in provider.diskimages)

    def lists(self, image: str) -> bool:
        """True when a builder of the tree builds the image."""
        return image in self.config.diskimages or self.others.list_image(image)

    def lists_at(self, provider: str, image: str) -> bool:
        """True when a builder of the tree uploads the image to the provider."""
        settings = self.config.providers.get(provider)
        here = settings is not None and image in settings.diskimages
        return here or self.others.list_upload(provider, image)

    def may_be_listed_elsewhere(self, build: Build) -> bool:
        """True when the build is that of a live builder that does not tell what it lists."""
        return not self.is_from_here(build) and self.others.has_host(build.builder)

    def files_of(self, build_id: str) -> list[LocalFile]:
        """Return the files of a build on this disk."""
        return list(self._files_by_build.get(build_id, ()))

    @cached_property
    def _files_by_build(self) -> Mapping[str, Sequence[LocalFile]]:
        return _grouped(self.files or (), lambda file: file.build_id)

    def is_ours(self, build: Build) -> bool:
        """True when this builder made the build."""
        return bool(self.builder_id) and build.builder_id == self.builder_id

    def is_from_here(self, build: Build) -> bool:
        """True when this builder made the build, under its present or a former id: no other builder has its files."""
        return self.is_ours(build) or build.builder_id in self.former


def _grouped(things: Iterable[T], key: Callable[[T], str]) -> Mapping[str, Sequence[T]]:
    groups: dict[str, list[T]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups
