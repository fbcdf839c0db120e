# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls that upload disk images: create an image, fill it from a file, wait for it and compare it with the file.

The data goes to ``PUT /images/{id}/file``. Clouds that refuse this take it by glance's interoperable import, method
glance-direct: ``PUT /images/{id}/stage``, then ``POST /images/{id}/import``. An import is also where glance itself
converts images (its plugin image_conversion).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from ...model.backoff import backoff
from ...model.cloud import Image, ImageSpec
from ...model.errors import (
    CloudError,
    CloudImageBroken,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudUnavailable,
)
from . import json_values, shapes
from .disk_file import DiskFile
from .image_tasks import TaskUploads
from .kinds import in_path
from .paging import pages
from .rest import Rest
from .transport import UploadTimes

_BY_IMPORT = "glance-direct"
_NOT_OFFERED = frozenset({403, 404, 405, 501})
"""Statuses with which a cloud refuses a way of uploading as such."""
_MAY_CONVERT = "; if the cloud converts uploaded images, set image_api_converts to true in clouds.yaml"
_FAILED_IMPORT = "os_glance_failed_import"
"""Property of an image: the stores into which glance could not import it."""
T = TypeVar("T")

MD5_KEY = "owner_specified.openstack.md5"
SHA256_KEY = "owner_specified.openstack.sha256"
OBJECT_KEY = "owner_specified.openstack.object"
"""Properties by which openstacksdk recognises images that it or this collection uploaded."""

_UNLISTED = {"hidden": {"os_hidden": "true"}, "community": {"visibility": "community"}}
"""Why glance's list leaves an image out → the filter that shows it."""
_UUID = re.compile(r"^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$", re.IGNORECASE)
ACTIVE = "active"
ON_ITS_WAY = frozenset({"saving", "importing", "uploading", "queued"})
LONGEST_PAUSE = 5.0
"""Maximum seconds between two looks at an image that is not active yet; the first pause is a tenth of it."""
LEAST_TIME = 1.0
TRIES = 4
"""Tries of a change that may be repeated."""
_PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
PAGE = 1000


def is_not_offered(error: CloudError) -> bool:
    """Return True when a cloud has refused a way of uploading as such."""
    return error.status in _NOT_OFFERED and not isinstance(error, CloudQuotaRefused)


def converted_to(image: Image, disk_format: str) -> str:
    """Return the format of which glance says that an image sent as *disk_format* has; "" when it was not converted."""
    named = image.properties.get("disk_format", "")
    return named if named != disk_format else ""


class CloudImages:
    """The calls about images that a builder needs. All block, are bounded in time and raise the Cloud* errors.

    :param by_tasks: the cloud accepts images by tasks only: see :mod:`.image_tasks`.
    :param by_import: upload by import from the beginning; otherwise only where the cloud refuses the direct way.
    :param converts: the cloud may write images anew when they arrive, also in the same format.
    :param stall: seconds for which the cloud may accept no data during an upload.
    """

    def __init__(
        self,
        provider: str,
        rest: Rest,
        *,
        properties: Mapping[str, str] | None = None,
        by_tasks: bool = False,
        by_import: bool = False,
        converts: bool = False,
        stall: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self._provider = provider
        self._rest = rest
        self._properties = dict(properties or {})
        self.uses_tasks = by_tasks
        """True when images are made by :meth:`import_file` and :meth:`describe` instead of create and fill."""
        self._offers_tasks: bool | None = None if not by_tasks else True
        self._tasks = TaskUploads(provider, rest, stall=stall, clock=clock, sleeper=sleeper)
        self._by_import = by_import
        self._converts = converts
        self._stall = stall
        self._clock = clock
        self._sleeper = sleeper

    def reach(self) -> None:
        """Make the smallest possible call, to see whether the cloud accepts the login and the image service answers."""
        self._rest.call("image", "GET", "/images", params={"limit": 1}, key="images")

    def create(self, spec: ImageSpec) -> str:
        """Create an empty image and return its id. After an error with *unclear* it may exist: see find."""
        body = {**self._properties, **shapes.image_body(spec)}
        answer = self._rest.call("image", "POST", "/images", body=body, key="id")
        return self._read("POST /images", json_values.ident, answer.document)

    def import_file(
        self, spec: ImageSpec, file: DiskFile, place: str, deadline: float, check: Callable[[], None]
    ) -> str:
        """Make an image of the file by a task and return its id. It has the name and nothing else of *spec*.

        :param place: a name that no other upload has, by which :meth:`imported` finds the image.
        :param deadline: time of the clock by which that must be done.
        :param check: called from time to time; may raise.
        :raises CloudError: the image was not made in time; the task may go on.
        """
        if not self._rest.has("object-store"):
            raise CloudRefused(
                f"provider {self._provider}: its clouds.yaml entry has image_api_use_tasks, but the cloud has"
                f" no object store to import from: set it to false if the cloud accepts direct uploads or"
                f" imports (glance-direct)",
                provider=self._provider,
                call="POST /tasks",
            )
        return self._tasks.run(spec.name, spec.disk_format, file, place, deadline, check)

    def offers_tasks(self) -> bool:
        """Return True when the cloud has an object store, and its glance lets this account use tasks.

        :raises CloudUnavailable: it cannot be told now.
        """
        if self._offers_tasks is None:
            self._offers_tasks = self._rest.has("object-store") and self._tasks.may_use()
        return self._offers_tasks

    def imported(self, place: str) -> list[Image]:
        """Return the image that a task has made of *place*, if it is there.

        :raises CloudUnavailable: the task is under way.
        """
        image_id = self._tasks.find(place)
        image = self.get(image_id) if image_id is not None else None
        return [image] if image is not None else []

    def describe(self, image_id: str, spec: ImageSpec) -> Image:
        """Set on an image what :meth:`create` would have set, except its formats, and return it."""
        told = {**self._properties, **shapes.image_body(spec)}
        changes = [
            {"op": "add", "path": "/" + key.replace("~", "~0").replace("/", "~1"), "value": value}
            for key, value in told.items()
            if key not in ("disk_format", "container_format")
        ]
        for looks in range(1, TRIES + 1):
            try:
                answer = self._rest.call(
                    "image", "PATCH", f"/images/{in_path(image_id)}", body=changes, key="id", headers=_PATCH
                )
                return self._read("PATCH /images/{id}", shapes.image_from, answer.document)
            except CloudUnavailable:
                if looks == TRIES:
                    raise
                self._sleeper(backoff(looks, first=LONGEST_PAUSE / 10, most=LONGEST_PAUSE))
        raise AssertionError("not reached")

    def get(self, image_id: str) -> Image | None:
        """Return the image, None when it is gone."""
        try:
            answer = self._rest.call("image", "GET", f"/images/{in_path(image_id)}", key="id")
        except CloudNotFound:
            return None
        return self._read("GET /images/{id}", shapes.image_from, answer.document)

    def find(self, marks: Mapping[str, str]) -> list[Image]:
        """Return the project's images that have all these properties, even where glance does not filter by them."""
        found = self._list({"owner": self._rest.project_id(), **marks})
        return [image for image in found if all(image.properties.get(key) == value for key, value in marks.items())]

    def named(self, name_or_id: str) -> list[Image]:
        """Return the image with this id, or else all images with this exact name, whatever their status.

        When none of them is active, also those that glance's ordinary list leaves out, so that they can be named.
        """
        if _UUID.match(name_or_id):
            image = self.get(name_or_id)
            if image is not None:
                return [image]
        # A database of glance's may take no notice of the case of letters.
        found = [image for image in self._list({"name": name_or_id}) if image.name == name_or_id]
        if not any(image.status == ACTIVE for image in found):
            for why, filters in _UNLISTED.items():
                with suppress(CloudRefused):  # an older glance does not know the filter
                    known = {image.id for image in found}
                    more = self._list({"name": name_or_id, **filters})
                    new = [image for image in more if image.id not in known and image.name == name_or_id]
                    found += [replace(image, unlisted=why) for image in new]
        return found

    def _list(self, filters: Mapping[str, str]) -> list[Image]:
        kind = "GET /images"

        def page(marker: str | None) -> object:
            params = {**filters, "limit": PAGE, **({"marker": marker} if marker else {})}
            return self._rest.call("image", "GET", "/images", params=params, key="images").document

        return pages(
            page,
            "images",
            PAGE,
            shapes.image_from,
            lambda what: self._rest.senseless(kind, what),
            lambda what: self._rest.remarks.put(kind, what and f"{kind}: {what}"),
        )

    def fill(self, image_id: str, file: DiskFile, deadline: float) -> Image:
        """Fill an empty image and wait until it is active.

        :param deadline: time of the clock by which both must be done.
        :raises CloudError: the image did not become active; the caller has to delete it.
        """
        if self._by_import:
            return self._fill_by_import(image_id, file, deadline)
        try:
            self._send(image_id, "file", file, deadline)
        except CloudError as error:
            if is_not_offered(error):
                if not self._offers_import():
                    raise
                image = self._fill_by_import(image_id, file, deadline)
                self._by_import = True
                return image
            if not error.unclear or file.handed_out < file.size:
                raise
            # The whole file was sent, and only the answer is missing: a proxy may have timed out.
            try:
                return self._wait(image_id, deadline, sure=False)
            except CloudImageBroken:
                raise error from None
        return self._wait(image_id, deadline, sure=True)

    def _offers_import(self) -> bool:
        """Return True when glance's discovery names the method glance-direct."""
        try:
            methods = self._rest.call("image", "GET", "/info/import", key="import-methods").document["import-methods"]
        except CloudError:
            return False
        return isinstance(methods, dict) and _BY_IMPORT in (methods.get("value") or ())

    def _fill_by_import(self, image_id: str, file: DiskFile, deadline: float) -> Image:
        self._send(image_id, "stage", file, deadline)
        try:
            body = {"method": {"name": _BY_IMPORT}}
            self._rest.call("image", "POST", f"/images/{in_path(image_id)}/import", body=body)
        except CloudError as error:
            if not error.unclear:
                raise
        return self._wait(image_id, deadline, sure=False)

    def _send(self, image_id: str, place: str, file: DiskFile, deadline: float) -> None:
        left = deadline - self._clock()
        if left < LEAST_TIME:
            raise self._late(f"PUT /images/{{id}}/{place}", "it could not start in time")
        # Glance uses the token again after it has received all bytes.
        self._rest.renew(left)
        times = UploadTimes(stall=min(self._stall, left), total=left)
        self._rest.call("image", "PUT", f"/images/{in_path(image_id)}/{place}", data=file, times=times)

    def _wait(self, image_id: str, deadline: float, *, sure: bool) -> Image:
        """Wait until the image is active and return it.

        :param sure: False when it is unknown whether the cloud received the whole file, and for an import, which makes
            the image queued again when it fails: then a queued image, which has no data, will never get any.
        """
        looks = 0
        trouble: CloudError | None = None
        while True:
            try:
                image, trouble = self.get(image_id), None
            except CloudUnavailable as error:
                image, trouble = None, error
            if trouble is None:
                if image is not None and image.status == ACTIVE:
                    return image
                status = "gone" if image is None else image.status
                failed = "" if image is None else image.properties.get(_FAILED_IMPORT, "")
                if failed:
                    raise self._broken(image_id, f"could not be imported into the store {failed}")
                if status not in ON_ITS_WAY or (status == "queued" and not sure):
                    raise self._broken(image_id, f"is {status} after its upload")
            looks += 1
            pause = backoff(looks, first=LONGEST_PAUSE / 10, most=LONGEST_PAUSE)
            if self._clock() + pause > deadline:
                raise trouble or self._late("GET /images/{id}", f"image {image_id} is still {status}")
            self._sleeper(pause)

    def verify(self, image: Image, file: DiskFile, known: Mapping[str, str], disk_format: str = "") -> list[str]:
        """Compare the size and checksums that glance has for an image with the file.

        A cloud may convert an image when it arrives; then size and checksums are those of other data. Such an image is
        known by another format than *disk_format*, or by the option *converts*: it only must have data.

        :param known: checksums of the file in hex, by algorithm; when glance has none of these algorithms, the checksum
            is computed with one that it has.
        :param disk_format: format of the file; "" to compare in any case.
        :return: what was compared: "size" and algorithms; empty for a converted image.
        :raises CloudImageBroken: something differs.
        :raises ImageFileError: it differs because the file is not as it was built.
        """
        if image.size == 0:
            raise self._broken(image.id, f"has no data, and {file.path} has {file.size} bytes")
        if disk_format and converted_to(image, disk_format):
            return []
        try:
            return self._compared(image, file, known)
        except CloudImageBroken:
            # What a task imports, the cloud takes apart and puts together again.
            if disk_format and (self._converts or self.uses_tasks):
                return []
            if image.size in (None, file.size):
                file.check_unchanged(known)
            raise

    def _compared(self, image: Image, file: DiskFile, known: Mapping[str, str]) -> list[str]:
        compared = ["size"]
        if image.size is not None and image.size != file.size:
            raise self._broken(image.id, f"has {image.size} bytes, but {file.path} has {file.size}{_MAY_CONVERT}")
        said = {"md5": image.properties.get("checksum")}
        said[image.properties.get("os_hash_algo", "")] = image.properties.get("os_hash_value")
        told = {algorithm: value for algorithm, value in said.items() if algorithm and value}
        if told and not told.keys() & known.keys():
            algorithm = next(iter(told))
            computed = file.digest(algorithm)
            known = {algorithm: computed} if computed else {}
        for algorithm in sorted(told.keys() & known.keys()):
            if told[algorithm] != known[algorithm]:
                raise self._broken(
                    image.id,
                    f"has the {algorithm} {told[algorithm]}, but {file.path} has {known[algorithm]}{_MAY_CONVERT}",
                )
            compared.append(algorithm)
        return compared

    def delete(self, image_id: str) -> bool:
        """Delete the image, in whatever state it is; return False when it was already gone.

        :raises CloudConflict: the image is in use.
        """
        try:
            self._rest.call("image", "DELETE", f"/images/{in_path(image_id)}")
        except CloudNotFound:
            return False
        except CloudRefused as refusal:
            if refusal.status != 410:
                raise
            return False
        return True

    def _read(self, kind: str, make: Callable[[Any], T], document: Any) -> T:
        """Return ``make(document)``.

        :raises CloudUnavailable: *make* cannot read it.
        """
        try:
            return json_values.read(make, document)
        except json_values.Unreadable as problem:
            raise self._rest.senseless(kind, str(problem)) from problem

    def _broken(self, image_id: str, what: str) -> CloudImageBroken:
        return CloudImageBroken(
            f"provider {self._provider}: image {image_id} {what}", provider=self._provider, call="GET /images/{id}"
        )

    def _late(self, call: str, what: str) -> CloudUnavailable:
        return CloudUnavailable(f"provider {self._provider}: {call}: {what}", provider=self._provider, call=call)
