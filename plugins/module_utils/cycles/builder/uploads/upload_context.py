# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The context of the uploads cycle: its configuration, clients, image formats, images-dir, and the state of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ....clients.diskimage_builder.images_dir import ImagesDir
from ....clients.openstack.cloud_client import CloudClient
from ....clients.zookeeper.store import Store
from ....imaging.due_uploads import UploadCase, UploadCode, judge_choice, missing_first
from ....imaging.image_snapshot import ImagesView
from ....imaging.retention import (
    DeleteUpload,
    Deletion,
    MarkBuild,
    plan_deletions,
)
from ....model.config.gate_labels import gate_of
from ....model.config.types import NodepoolConfig
from ....model.errors import CloudAuthError, ConfigError
from ....model.image import Build, Upload
from ..context.builder_options import UploadOptions
from ..context.observe_images import (
    local_files,
    provider_formats,
    view_images,
)
from .upload import UploadJob


class UploadContext:
    """The current configuration and what follows from it. Only the cycle's thread changes it, others may read.

    :param create: False to not create a missing builder_id.txt (check mode).
    :raises ImageFileError: images-dir cannot be used.
    """

    def __init__(self, options: UploadOptions, config: NodepoolConfig, store: Store, *, create: bool = True) -> None:
        self.options = options
        self.config = config
        self.store = store
        self.images_dir = ImagesDir(config.images_dir or "")
        self.builder_id = self.images_dir.builder_id(create=create)
        self.forced = {
            (image, provider.name)
            for provider in config.providers.values()
            for image in provider.diskimages
            if options.force and options.concerns(image, provider.name)
        }
        """(image, provider) of uploads that were chosen with force and not tried yet."""
        self.lost: frozenset[str] = frozenset()
        """Paths of uploads whose image is not in the cloud."""
        self._clients: dict[str, CloudClient] = {}
        self._past_calls: dict[str, Counter[tuple[str, str]]] = {}
        self.formats, self.problems = provider_formats(config, options.clouds_config)

    def reload(self, config: NodepoolConfig | None) -> None:
        """Use a new configuration (None: only clouds.yaml was written). Work under way is not affected."""
        if config is not None and config.images_dir:
            self.config = config
        for name, counts in self._calls_by_key():
            self._past_calls.setdefault(name, Counter()).update(counts)
        self._clients.clear()
        self.formats, self.problems = provider_formats(self.config, self.options.clouds_config)

    def client(self, provider: str) -> CloudClient | None:
        """Return the client of a provider; None if clouds.yaml cannot be used for it (see *problems*)."""
        if provider not in self._clients:
            try:
                self._clients[provider] = self.options.client(self.config.providers[provider])
            except CloudAuthError as error:
                self.problems[provider] = str(error)
                return None
        return self._clients[provider]

    def abort_uploads(self) -> None:
        """Abort the uploads under way, also where a cloud accepts no more bytes."""
        for client in self._clients.values():
            client.abort_uploads()

    def view(self, now: float, busy: frozenset[tuple[str, str]]) -> ImagesView:
        """Return the state of all images.

        :param busy: (build id, provider) of the work under way in this cycle.
        :raises ImageFileError: images-dir cannot be read.
        """
        return view_images(
            self.store,
            self.config,
            now=now,
            provider_formats=self.formats,
            files=local_files(self.images_dir),
            builder_id=self.builder_id,
            uploading=busy,
            lost=self.lost,
        )

    def judge(self, view: ImagesView, provider: str, image: str, *, holding: bool = True) -> UploadCase:
        """Return the case of an upload; *holding*: this cycle has its lock."""
        force = (image, provider) in self.forced
        return judge_choice(view, provider, image, build_id=self.options.build_id, force=force, holding=holding)

    def job(self, case: UploadCase, build: Build) -> UploadJob:
        """Return the job of an upload."""
        return UploadJob(
            case=case,
            build=build,
            provider=self.config.providers[case.provider],
            diskimage=self.config.diskimages[case.image],
            judge=lambda view: self.judge(view, case.provider, case.image),
        )

    def resumable(self, upload: Upload, cases: Iterable[UploadCase]) -> UploadCase | None:
        """Return the case of an abandoned upload whose gate had begun, if its build would be uploaded now."""
        gate = self.store.gates.get(upload.provider, upload.image)
        if gate is None or not gate.is_of(upload) or gate_of(self.config, upload.image) is None:
            return None
        found = [case for case in cases if (case.provider, case.image) == (upload.provider, upload.image)]
        wanted = (case for case in found if case.code in (UploadCode.MISSING, UploadCode.BACKOFF, UploadCode.NO_FILE))
        return next((case for case in wanted if case.build is not None and case.build.id == upload.build_id), None)

    def cases(self, view: ImagesView) -> list[UploadCase]:
        """Return the cases of all chosen uploads; images that a provider does not have at all come first."""
        return missing_first(
            self.judge(view, provider.name, image, holding=False)
            for provider in view.config.providers.values()
            for image in provider.diskimages
            if self.options.concerns(image, provider.name)
        )

    def deletions(self, view: ImagesView) -> Iterator[Deletion]:
        """Yield the due deletions that the options choose."""
        options = self.options
        for planned in plan_deletions(view):
            if isinstance(planned, DeleteUpload):
                if options.concerns(planned.upload.image, planned.upload.provider):
                    yield planned
            elif options.provider is None:
                image = planned.build.image if isinstance(planned, MarkBuild) else planned.image
                if options.image in (None, image):
                    yield planned

    def check_choice(self) -> None:
        """Check that the chosen build exists.

        :raises ConfigError: it does not exist.
        """
        options = self.options
        if options.build_id is None or options.image is None:
            return
        builds = [build.id for build in self.store.images.builds(options.image)]
        if options.build_id not in builds:
            there = ", ".join(builds) or "none"
            raise ConfigError([f"build_id: image {options.image} has no build {options.build_id!r}; it has {there}"])

    def calls(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the number of calls of each provider's API by kind and status, including those of former clients."""
        total = {name: Counter(counts) for name, counts in self._past_calls.items()}
        for name, counts in self._calls_by_key():
            total.setdefault(name, Counter()).update(counts)
        document: dict[str, dict[str, dict[str, int]]] = {}
        for name, counts in total.items():
            for (kind, status), count in sorted(counts.items()):
                document.setdefault(name, {}).setdefault(kind, {})[status] = count
        return document

    def _calls_by_key(self) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
        for name, client in self._clients.items():
            yield name, Counter({key: count.calls for key, count in client.counters.snapshot().items()})
