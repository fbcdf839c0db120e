# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One upload, in a separate thread: lock, record, cloud image, bytes, comparison, hook, record.

After any error, the cloud image is deleted. If that fails, its id stays in the record, and the next pass deletes the
image. A cycle that is killed leaves the record, and the marks in the image.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass

from ....clients.hook import run_hook
from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.cloud_images import (
    MD5_KEY,
    OBJECT_KEY,
    SHA256_KEY,
    converted_to,
    is_not_offered,
)
from ....clients.openstack.disk_file import DiskFile
from ....imaging.due_uploads import UploadCase
from ....imaging.gating import barred, is_overtaken, needs_gate
from ....imaging.image_snapshot import ImagesView
from ....model.cloud import (
    IMAGE_BUILD,
    IMAGE_UPLOAD,
    META_PROVIDER,
    META_SITE,
    Image,
    ImageSpec,
)
from ....model.config.types import Diskimage, Provider
from ....model.errors import (
    CloudError,
    NodepoolError,
    StoreError,
)
from ....model.image import (
    Build,
    Upload,
    UploadState,
    is_unique,
)
from ....model.lines import Line, Subject, Trouble
from ..context.record_lock import RecordLost
from .gate_run import Gate, GateLeft, GateRejected
from .upload_claim import UploadClaim
from .upload_progress import (
    UploadProgress,
    bytes_text,
    rate_text,
)
from .upload_resources import Interrupted, UploadResources

LOOKS = 3
LOOK_PAUSE = 1.0
"""Number of looks for the image after an unclear answer, and the seconds between them."""


class Ended:
    """The ways in which an upload ends."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """Another builder uploads the image, or the upload is not needed any more."""
    STOPPED = "stopped"
    """The cycle was stopped during the upload; image and record are removed, if the cloud deletes the image."""
    UNDECIDED = "undecided"
    """The cycle ends before the upload's gate has decided: the next one goes on."""
    LEFT = "left"
    """ZooKeeper could not be reached: the next cycle finds the record."""


@dataclass
class UploadResult:
    """The result of an upload.

    *sent*: bytes; *seconds*: from the lock to the last write; *why*: the reason if the upload is not done.
    """

    case: UploadCase
    ended: str
    why: str = ""
    upload: Upload | None = None
    sent: int = 0
    seconds: float = 0.0
    compared: tuple[str, ...] = ()


@dataclass(frozen=True)
class UploadJob:
    """An upload to make. *judge*: returns the case again, from a fresh view, after the lock was taken."""

    case: UploadCase
    build: Build
    provider: Provider
    diskimage: Diskimage
    judge: Callable[[ImagesView], UploadCase]

    @property
    def key(self) -> tuple[str, str]:
        """The key of the job in the workers."""
        return self.build.id, self.provider.name

    @property
    def name(self) -> str:
        """The name of the upload in lines for the operator."""
        return f"provider {self.provider.name}: image {self.case.image}"

    @property
    def subject(self) -> Subject:
        """The subject of lines about this upload."""
        return Subject(provider=self.provider.name, image=self.case.image, build=self.build.id)


class UploadRun:
    """Uploads one image of one build to one provider."""

    def __init__(self, job: UploadJob, client: CloudClient, resources: UploadResources) -> None:
        self._job = job
        self._client = client
        self._resources = resources
        self._began = resources.steady()
        self._deadline = self._began + job.provider.image_upload_timeout
        self._upload_progress: UploadProgress | None = None
        self._compared: list[str] = []
        self._by_tasks = client.images.uses_tasks

    def run(self) -> UploadResult:
        """Upload and return the result. Never raises NodepoolError."""
        job, store = self._job, self._resources.store
        try:
            held = store.images.lock_provider(job.case.image, job.build.id, job.provider.name)
            if held is None:
                return self._result(Ended.SKIPPED, "another builder is uploading it")
        except StoreError as error:
            return self._result(Ended.LEFT, str(error))
        upload = self._record()
        claim = UploadClaim(
            store,
            upload,
            held,
            patience=self._resources.store_patience,
            clock=self._resources.steady,
            sleeper=self._resources.sleeper,
        )
        try:
            if not store.images.knows_uploads(job.case.image, job.build.id, job.provider.name):
                # The former holder of the lock may have written records that the cache does not show yet.
                return self._result(Ended.SKIPPED, "something has just changed")
            why = self._begin(claim)
            return self._result(Ended.SKIPPED, why) if why else self._outcome(claim)
        except StoreError as error:
            return self._result(Ended.LEFT, str(error), upload)
        finally:
            claim.release()

    def _begin(self, claim: UploadClaim) -> str:
        """Create the record; return why there is nothing to upload, "" if it was created."""
        job, upload = self._job, claim.upload
        case = job.judge(self._resources.view(job.key))
        if not case.due or case.build is None or case.build.id != job.build.id:
            return case.reason
        upload.set_state(UploadState.UPLOADING, self._resources.clock())
        claim.create()
        self._say(f"uploading build {job.build.id}, upload {upload.id}")
        return ""

    def _record(self) -> Upload:
        """Return the record of a new upload, which has the login fields from the start, as Nodepool's does."""
        build = self._job.build
        return Upload(
            image=self._job.case.image,
            build_id=build.id,
            provider=self._job.provider.name,
            username=build.username,
            python_path=build.python_path,
            shell_type=build.shell_type,
        )

    def _outcome(self, claim: UploadClaim) -> UploadResult:
        upload = claim.upload
        try:
            self._fill(claim)
            self._pass_gate(claim)
            upload.set_state(UploadState.READY, self._resources.clock())
            claim.write()
        except RecordLost as error:
            # Another builder may have adopted the record with the image. An image without a record has no owner.
            if not self._is_recorded(upload):
                self._clean(upload)
            return self._result(Ended.FAILED, str(error), upload)
        except GateLeft as error:
            return self._result(Ended.UNDECIDED, str(error), upload)
        except StoreError:
            raise
        except NodepoolError as error:
            # Check the event, too: an upload that the cycle aborts raises the error of a broken connection.
            stopped = isinstance(error, Interrupted) or self._resources.interrupted.is_set()
            clean = self._clean(upload)
            with contextlib.suppress(RecordLost):
                if stopped and clean:
                    claim.delete()
                else:
                    self._write_failed(claim)
            if stopped:
                return self._result(Ended.STOPPED, "the cycle was stopped", upload)
            return self._result(Ended.FAILED, str(error), upload)
        return self._result(Ended.DONE, "", upload)

    # -- the steps ------------------------------------------------------------------------------------------------

    def _pass_gate(self, claim: UploadClaim) -> None:
        """Test the upload if it has a gate.

        :raises GateRejected: it must not become ready.
        :raises GateLeft: the cycle ends before that is decided.
        """
        key = self._job.key
        why = barred(self._resources.view(key), claim.upload)
        if why:
            raise GateRejected(why)
        if needs_gate(self._resources.view(key), claim.upload):
            self._resources.waits(key)
            Gate(claim, self._resources, self._client).run()
            if is_overtaken(self._resources.view(key), claim.upload):
                raise GateRejected("a newer build is ready there already")

    def _fill(self, claim: UploadClaim) -> None:
        job, upload, images = self._job, claim.upload, self._client.images
        path = os.path.join(self._resources.images_dir.path, job.case.file)
        self._upload_progress = UploadProgress(DiskFile(path).size, self._say, self._resources.steady)
        file = DiskFile(path, self._progress)
        known = self._resources.checksums.of(job.case.file, self._resources.check)
        spec = self._spec(upload, known)
        image = self._made(claim, spec, file)
        external_id = image.id
        digests = {name: digits for name, digits in known.items() if digits}
        self._compared = images.verify(image, file, digests, spec.disk_format)
        if not self._compared and self._resources.is_news(("converted", job.provider.name)):
            became = converted_to(image, spec.disk_format)
            what, remedy = (
                f"from {spec.disk_format} to {became}",
                ("set image_format in clouds.yaml to the format to send"),
            )
            if not became:
                what, remedy = f"({spec.disk_format})", "set image_api_converts in clouds.yaml to expect that"
            self._say(
                f"the cloud converted the image {what}, so its size and checksum cannot be compared with the"
                f" file; {remedy}"
            )
        self._resources.check()
        self._hook(external_id, path)

    def _made(self, claim: UploadClaim, spec: ImageSpec, file: DiskFile) -> Image:
        """Make the image in the way that the cloud offers, and return it."""
        images = self._client.images
        if images.uses_tasks:
            return self._import(claim, spec, file)
        try:
            return self._send(claim, spec, file)
        except CloudError as error:
            if not is_not_offered(error) or not images.offers_tasks() or not self._clean(claim.upload):
                raise
            self._say(
                f"{error}; the cloud has an object store and glance's tasks: the image is imported by a task"
                " (image_api_use_tasks: true in clouds.yaml tries nothing else first)"
            )
        claim.write()
        self._by_tasks = True
        image = self._import(claim, spec, file)
        images.uses_tasks = True
        return image

    def _send(self, claim: UploadClaim, spec: ImageSpec, file: DiskFile) -> Image:
        """Create the image, record it and fill it."""
        external_id = self._create(spec, marks_of(claim.upload, self._resources.site))
        self._note(claim, spec, external_id)
        return self._client.images.fill(external_id, file, self._deadline)

    def _import(self, claim: UploadClaim, spec: ImageSpec, file: DiskFile) -> Image:
        """Have the cloud import the file, record the image and describe it."""
        images, place = self._client.images, place_of(claim.upload, self._resources.site)
        external_id = images.import_file(spec, file, place, self._deadline, self._resources.check)
        self._note(claim, spec, external_id)
        return images.describe(external_id, spec)

    @staticmethod
    def _note(claim: UploadClaim, spec: ImageSpec, external_id: str) -> None:
        upload = claim.upload
        upload.external_id, upload.external_name, upload.format = external_id, spec.name, spec.disk_format
        claim.write()

    def _progress(self, sent: int) -> None:
        self._resources.check()
        if self._upload_progress is not None:
            self._upload_progress(sent)

    def _spec(self, upload: Upload, checksums: dict[str, str]) -> ImageSpec:
        job = self._job
        name = job.provider.image_name_format.format(
            image_name=job.case.image, upload_id=upload.id, timestamp=str(int(self._resources.clock()))
        )
        local = job.provider.diskimages[job.case.image]
        properties = {
            MD5_KEY: checksums.get("md5", ""),
            SHA256_KEY: checksums.get("sha256", ""),
            OBJECT_KEY: f"images/{name}",
            **job.diskimage.metadata,
            **local.meta,
            **marks_of(upload, self._resources.site),
        }
        return ImageSpec(name, job.case.format, properties, tags=local.tags or job.diskimage.tags)

    def _create(self, spec: ImageSpec, marks: dict[str, str]) -> str:
        images = self._client.images
        try:
            return images.create(spec)
        except CloudError as error:
            if not error.unclear:
                raise
            for look in range(LOOKS):
                self._resources.sleeper(LOOK_PAUSE * (look > 0))
                with contextlib.suppress(CloudError):
                    found = images.find(marks)
                    if found:
                        return found[0].id
            raise

    def _hook(self, external_id: str, path: str) -> None:
        provider = self._job.provider
        if not provider.post_upload_hook:
            return
        self._say(f"running {provider.post_upload_hook}")
        run_hook(
            [provider.post_upload_hook, provider.name, external_id, path],
            self._resources.hook_timeout,
            wanted=lambda: not self._resources.interrupted.is_set(),
            name="post-upload-hook",
        )
        self._resources.check()

    def _write_failed(self, claim: UploadClaim) -> None:
        """Write a failed record as Nodepool does, but keep the id of an image that could not be deleted."""
        upload = claim.upload
        upload.external_name = upload.format = None
        upload.username = upload.python_path = upload.shell_type = None
        upload.set_state(UploadState.FAILED, self._resources.clock())
        claim.write()

    def _is_recorded(self, upload: Upload) -> bool:
        """Return True if the record exists or cannot be read; an image without a record is found by its marks."""
        try:
            return self._resources.store.images.read_upload(upload) is not None
        except StoreError:
            return True

    def _clean(self, upload: Upload) -> bool:
        """Delete the cloud image; return False if it may still exist."""
        images = self._client.images
        try:
            if upload.external_id is not None:
                images.delete(upload.external_id)
            elif self._by_tasks:
                for image in images.imported(place_of(upload, self._resources.site)):
                    images.delete(image.id)
        except CloudError as error:
            self._say(f"image {upload.external_id or ''} stays in the cloud for now: {error}")
            return False
        upload.external_id = None
        return True

    # -- messages ---------------------------------------------------------------------------------------------------

    def _say(self, text: str, kind: type[Line] = Line) -> None:
        self._resources.say(kind(f"{self._job.name}: {text}", **self._job.subject))

    def _result(self, ended: str, why: str = "", upload: Upload | None = None) -> UploadResult:
        seconds = self._resources.steady() - self._began
        sent = self._upload_progress.sent if self._upload_progress else 0
        if ended == Ended.DONE:
            self._say(f"uploaded, {bytes_text(sent)} in {seconds:.1f} s, {rate_text(sent, seconds)}")
        elif ended != Ended.SKIPPED:
            self._say(f"upload {ended}: {why}", Trouble if ended == Ended.FAILED else Line)
        return UploadResult(
            case=self._job.case,
            ended=ended,
            why=why,
            upload=upload,
            sent=sent,
            seconds=seconds,
            compared=tuple(self._compared),
        )


def marks_of(upload: Upload, site: str) -> dict[str, str]:
    """Return the properties that identify the image of an upload.

    :param site: the id of the tree; it is needed because the numbers of uploads repeat in every tree.
    """
    return {**_numbers(upload), META_SITE: site}


def images_of(upload: Upload, client: CloudClient, site: str) -> list[Image]:
    """Return the images that were made for an upload, even if its record does not name them.

    Nodepool's builder, and earlier versions of ours, do not write the id of the tree: then the build's uuid decides.

    :raises CloudError: the images cannot be listed, or one is still being imported.
    """
    found = [
        image
        for image in client.images.find(_numbers(upload))
        if not image.is_snapshot and (image.site == site if image.site else is_unique(upload.build_id))
    ]
    if found or not client.images.offers_tasks():
        return found
    # The image gets its marks after its import.
    return client.images.imported(place_of(upload, site))


def place_of(upload: Upload, site: str) -> str:
    """Return the name of the object that a cloud imports for an upload; no other upload has it, in any tree."""
    rest = hashlib.sha256(f"{site}/{upload.provider}".encode()).hexdigest()[:16]
    return f"nodepool-{upload.build_id}-{upload.id}-{rest}"


def _numbers(upload: Upload) -> dict[str, str]:
    return {IMAGE_BUILD: upload.build_id, IMAGE_UPLOAD: upload.id, META_PROVIDER: upload.provider}
