# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plans look at: plain values, gathered by the cycle, with no way back to the world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..model.config.types import NodepoolConfig, Provider
from ..model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from .notes import BuildNotes, Failures


@dataclass(frozen=True)
class LocalFile:
    """Something in images-dir that belongs to a build: an image, a checksum, the manifest directory.

    *name*: as in images-dir. *format*: of the image that it is or belongs to; "" for the manifest and anything else.
    *is_image*: it is the image itself. *size*: bytes on disk. *modified*: UNIX time.
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
    """All that ZooKeeper knows of an image.

    *requested*, *paused*: numbers of the transactions that wrote the flags (compare with ``Build.born``); None when
    they are not set. *locked*: a builder builds it. *uploading*: (build id, provider) of the uploads whose lock is
    taken. *empty*: ids of build znodes without data, what remains where a deleted build was locked. *unreadable*:
    ids of those that hold something else than a document.
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
    """UNIX time at which a build was asked for."""
    upload_failures: Mapping[str, Failures] = field(default_factory=dict)
    """Provider → failed uploads in a row."""

    def build(self, build_id: str) -> Build | None:
        """The build of that id."""
        return next((build for build in self.builds if build.id == build_id), None)

    def ready_builds(self) -> list[Build]:
        """Ready builds, the newest first."""
        ready = [build for build in self.builds if build.state == BuildState.READY]
        return sorted(ready, key=age_order, reverse=True)

    def uploads_of(self, build_id: str, provider: str | None = None) -> list[Upload]:
        """Uploads of a build, to *provider* or anywhere."""
        return [
            upload
            for upload in self.uploads
            if upload.build_id == build_id and (provider is None or upload.provider == provider)
        ]

    def has_ready_upload(self, build_id: str, provider: str) -> bool:
        """True when the build is in the provider's cloud."""
        return any(upload.state == UploadState.READY for upload in self.uploads_of(build_id, provider))


@dataclass(frozen=True)
class ImagesView:
    """The world of images at one moment, as this builder sees it.

    :ivar now: UNIX time.
    :ivar images: by name, those of ZooKeeper; one that is not there has never had a build, a request or a pause.
    :ivar provider_formats: provider → ``image_format`` of its clouds.yaml entry; a provider is left out when that
        cannot be told (no such entry, no readable file).
    :ivar files: what is in images-dir, looked at *before* ZooKeeper was read; None when it was not read.
    :ivar builder_id: content of builder_id.txt; "" when there is none.
    :ivar former: ids that this builder had before its images-dir was lost, and builder_id.txt with it.
    :ivar building: ids of the builds that this process is making.
    :ivar uploading: (build id, provider) of the uploads that this process is making or deleting.
    :ivar lost: paths of the uploads whose image glance does not know any more, asked twice.
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

    def image(self, name: str) -> ImageState:
        """What is known of an image; empty when nothing is."""
        return self.images.get(name) or ImageState(name)

    def providers_of(self, image: str) -> Iterator[Provider]:
        """The providers that list the image, in the order of the configuration."""
        return (provider for provider in self.config.providers.values() if image in provider.diskimages)

    def files_of(self, build_id: str) -> list[LocalFile]:
        """What of a build is on this disk."""
        return [file for file in self.files or () if file.build_id == build_id]

    def is_ours(self, build: Build) -> bool:
        """True when this builder made it."""
        return bool(self.builder_id) and build.builder_id == self.builder_id

    def is_from_here(self, build: Build) -> bool:
        """True when this builder made it, perhaps under an id that it has lost: no other builder has its files."""
        return self.is_ours(build) or build.builder_id in self.former


def age_order(build: Build) -> tuple[float, int, str]:
    """Sort key of ready builds, by age as Nodepool tells it."""
    return build.state_time or 0.0, build.born, build.id
