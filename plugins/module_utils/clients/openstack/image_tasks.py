# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads for clouds that accept no image data in glance: a task of glance imports the file from swift.

That is so where the entry in clouds.yaml has ``image_api_use_tasks``, or where the cloud offers nothing else.

Only the name can be given to the import; everything else is set on the image afterwards. Until then the image has no
marks. It is found by its task, whose ``import_from`` is a path that no other upload has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from ...model.backoff import backoff
from ...model.errors import CloudError, CloudImageBroken, CloudNotFound, CloudUnavailable
from . import json_values
from .disk_file import DiskFile, FilePart
from .kinds import in_path
from .rest import Rest
from .transport import UploadTimes

CONTAINER = "images"
"""The container that openstacksdk uses, too."""
PART = 1 << 30
"""Bytes of an object in swift; a larger file is sent in parts, as swift takes no object above 5 GiB by default."""
KEPT = 86400
"""Seconds after which swift deletes the objects by itself, if nobody has done so."""
LONGEST_PAUSE = 15.0
LOOKED_THROUGH = 200
"""Largest number of tasks that are looked through for that of an upload; the newest come first."""
_ENDED_WELL, _FAILED = "success", "failure"
_TASK = "GET /tasks/{id}"


class TaskUploads:
    """The calls to swift and to the tasks of glance. All are bounded in time and raise the Cloud* errors.

    :param stall: seconds for which swift may accept no data.
    """

    def __init__(
        self,
        provider: str,
        rest: Rest,
        *,
        stall: float,
        clock: Callable[[], float] = time.monotonic,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self._provider = provider
        self._rest = rest
        self._stall = stall
        self._clock = clock
        self._sleeper = sleeper

    def run(
        self, name: str, disk_format: str, file: DiskFile, place: str, deadline: float, check: Callable[[], None]
    ) -> str:
        """Send the file to swift, have glance import it as an image called *name*, and return the id of the image.

        :param place: the name of the object in swift, which no other upload has.
        :param deadline: time of the clock by which that must be done.
        :param check: called between the calls; may raise.
        :raises CloudError: the image was not made, or the task has not ended in time: see :meth:`find`.
        """
        objects: list[str] = []
        try:
            self._rest.call("object-store", "PUT", f"/{CONTAINER}")
            self._send(file, place, objects, deadline, check)
            return self._wait(self._begin(name, disk_format, place), deadline, check)
        finally:
            self._remove(objects)

    def may_use(self) -> bool:
        """Return True when glance lets this account list tasks: as it comes, it lets administrators only.

        :raises CloudUnavailable: it cannot be told now.
        """
        try:
            self._rest.call("image", "GET", "/tasks", params={"type": "import", "limit": 1}, key="tasks")
        except CloudUnavailable as error:
            if error.status == 501:
                return False
            raise
        except CloudError:
            return False
        return True

    def find(self, place: str) -> str | None:
        """Return the id of the image that was imported from *place*; None when there is no such import, or it failed.

        :raises CloudUnavailable: the import is under way.
        """
        for task in self._tasks(place):
            status = task.get("status")
            if status == _ENDED_WELL:
                return self._image_of(task)
            if status != _FAILED:
                raise self._late(_TASK, f"the import of {CONTAINER}/{place} is still {status}")
        return None

    # -- swift ----------------------------------------------------------------------------------------------------

    def _send(self, file: DiskFile, place: str, objects: list[str], deadline: float, check: Callable[[], None]) -> None:
        """Send the file; the names of the objects that may exist now are added to *objects*."""
        if file.size <= PART:
            objects.append(place)
            self._put(place, FilePart(file, 0, file.size), deadline)
            return
        manifest: list[dict[str, Any]] = []
        for number, begin in enumerate(range(0, file.size, PART)):
            check()
            part, name = FilePart(file, begin, min(PART, file.size - begin)), f"{place}-{number:04d}"
            objects.append(name)
            digest = self._put(name, part, deadline)
            manifest.append({"path": f"/{CONTAINER}/{name}", "etag": digest, "size_bytes": len(part)})
        objects.append(place)
        path, params = self._path(place), {"multipart-manifest": "put"}
        headers = {"X-Delete-After": str(KEPT)}
        self._rest.call("object-store", "PUT", path, body=manifest, params=params, headers=headers)
        # A swift without static large objects stores the manifest itself, and glance would import that.
        shown = self._rest.call("object-store", "HEAD", path).headers.get("Content-Length")
        if shown != str(file.size):
            raise self._broken(f"swift shows {shown} bytes of {CONTAINER}/{place}, which has {file.size}")

    def _put(self, name: str, part: FilePart, deadline: float) -> str:
        """Send a part of the file and return its md5; swift says with which it has stored the object."""
        left = deadline - self._clock()
        if left < 1.0:
            raise self._late("PUT /object-store", "it could not start in time")
        self._rest.renew(left)
        times = UploadTimes(stall=min(self._stall, left), total=left)
        headers = {"X-Delete-After": str(KEPT)}
        answer = self._rest.call("object-store", "PUT", self._path(name), data=part, times=times, headers=headers)
        stored = (answer.headers.get("Etag") or "").strip('"')
        if stored and stored != part.md5:
            raise self._broken(f"swift has stored {CONTAINER}/{name} with the md5 {stored} instead of {part.md5}")
        return part.md5

    def _remove(self, objects: list[str]) -> None:
        for name in reversed(objects):
            try:
                self._rest.call("object-store", "DELETE", self._path(name))
            except CloudError:
                continue  # swift deletes it after a day

    @staticmethod
    def _path(name: str) -> str:
        return f"/{CONTAINER}/{quote(name)}"

    # -- tasks ----------------------------------------------------------------------------------------------------

    def _begin(self, name: str, disk_format: str, place: str) -> str:
        """Begin the import and return the id of its task."""
        wanted = {
            "import_from": f"{CONTAINER}/{place}",
            "import_from_format": disk_format,
            "image_properties": {"name": name},
        }
        try:
            answer = self._rest.call("image", "POST", "/tasks", body={"type": "import", "input": wanted}, key="id")
        except CloudError as error:
            if not error.unclear:
                raise
            task = next(self._tasks(place), None)
            if task is None:
                raise
            return str(task["id"])
        return str(self._read(json_values.ident, answer.document))

    def _wait(self, task_id: str, deadline: float, check: Callable[[], None]) -> str:
        looks, trouble = 0, None
        while True:
            check()
            status = "unknown"
            try:
                task, trouble = self._task(task_id), None
                status = str(task.get("status"))
            except CloudUnavailable as error:
                task, trouble = {}, error
            if status == _ENDED_WELL:
                return self._image_of(task)
            if status == _FAILED:
                reason = json_values.optional_text(task, "message") or "no reason given"
                raise self._broken(f"the import failed: {reason}")
            looks += 1
            pause = backoff(looks, first=LONGEST_PAUSE / 15, most=LONGEST_PAUSE)
            if self._clock() + pause > deadline:
                raise trouble or self._late(_TASK, f"task {task_id} is still {status}")
            self._sleeper(pause)

    def _tasks(self, place: str) -> Iterator[dict[str, Any]]:
        """Yield the tasks that import from *place*, the newest first. The list does not show what they import."""
        params = {"type": "import", "sort_key": "created_at", "sort_dir": "desc", "limit": LOOKED_THROUGH}
        answer = self._rest.call("image", "GET", "/tasks", params=params, key="tasks")
        rows = self._read(lambda document: json_values.sequence(document, "tasks"), answer.document)
        for row in rows[:LOOKED_THROUGH]:
            try:
                task = self._task(self._read(json_values.ident, row))
            except CloudNotFound:
                continue
            given = task.get("input")
            if isinstance(given, dict) and given.get("import_from") == f"{CONTAINER}/{place}":
                yield task

    def _task(self, task_id: str) -> dict[str, Any]:
        return dict(self._rest.call("image", "GET", f"/tasks/{in_path(task_id)}", key="status").document)

    def _image_of(self, task: dict[str, Any]) -> str:
        result = task.get("result")
        image_id = result.get("image_id") if isinstance(result, dict) else None
        if not isinstance(image_id, str) or not image_id:
            raise self._rest.senseless(_TASK, "the task succeeded, but its result has no image_id")
        return image_id

    def _read(self, make: Callable[[Any], Any], document: Any) -> Any:
        try:
            return json_values.read(make, document)
        except json_values.Unreadable as problem:
            raise self._rest.senseless("GET /tasks", str(problem)) from problem

    def _broken(self, what: str) -> CloudImageBroken:
        return CloudImageBroken(f"provider {self._provider}: {what}", provider=self._provider, call=_TASK)

    def _late(self, call: str, what: str) -> CloudUnavailable:
        return CloudUnavailable(f"provider {self._provider}: {call}: {what}", provider=self._provider, call=call)
