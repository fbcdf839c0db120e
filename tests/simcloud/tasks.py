# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Glance's tasks of the type import, which take images from swift.

As in stock glance they are for administrators, except in clouds with ``object_store``.
"""

from __future__ import annotations

import uuid
from typing import Any

from tests.simcloud.answers import Answer, glance_error
from tests.simcloud.call import Call
from tests.simcloud.config import Settings
from tests.simcloud.image import ImageApi, ImageState
from tests.simcloud.objects import ObjectApi
from tests.simcloud.timing import iso

BEGINS, TAKES = 0.1, 0.3
"""Seconds until a task is processed, and until it has ended."""
NEEDED = ("import_from", "image_properties")
"""As at Rackspace, whose clouds import from swift. Stock glance, which does not, also needs import_from_format."""


class TaskApi:
    """Answers ``/v2/tasks``."""

    def __init__(self, images: ImageState, api: ImageApi, objects: ObjectApi, settings: Settings) -> None:
        self._images = images
        self._api = api
        self._objects = objects
        self._settings = settings
        self.tasks: dict[str, dict[str, Any]] = {}

    def handle(self, call: Call) -> Answer:
        if not self._settings.object_store:
            raise glance_error(403, "You are not authorized to complete this action.")
        match call.method, call.path:
            case "POST", ["tasks"]:
                return self._begin(call.json())
            case "GET", ["tasks"]:
                rows = sorted(self.tasks.values(), key=lambda task: task["created_at"], reverse=True)
                hidden = ("input", "result", "message")
                shown = [{key: value for key, value in row.items() if key not in hidden} for row in rows]
                return Answer(200, {"tasks": shown, "first": "/v2/tasks", "schema": "/v2/schemas/tasks"})
            case "GET", ["tasks", ident] if ident in self.tasks:
                return Answer(200, self.tasks[ident])
        raise glance_error(404, "No task found with the given id.")

    def _begin(self, wanted: Any) -> Answer:
        if not isinstance(wanted, dict) or wanted.get("type") != "import" or not isinstance(wanted.get("input"), dict):
            raise glance_error(400, "Provided object does not match schema 'task'.")
        now = iso(self._images.now())
        ident = str(uuid.uuid4())
        self.tasks[ident] = {
            "id": ident,
            "type": "import",
            "status": "pending",
            "owner": "project",
            "input": wanted["input"],
            "result": None,
            "message": "",
            "created_at": now,
            "updated_at": now,
            "self": f"/v2/tasks/{ident}",
            "schema": "/v2/schemas/task",
        }
        self._images.later(BEGINS, lambda: self.tasks[ident].update(status="processing"))
        self._images.later(BEGINS + TAKES, lambda: self._end(self.tasks[ident]))
        return Answer(201, self.tasks[ident])

    def _end(self, task: dict[str, Any]) -> None:
        given = task["input"]
        lacking = [key for key in NEEDED if key not in given]
        data = self._objects.read(str(given.get("import_from", "")))
        if lacking or data is None:
            text = f"Input does not contain '{lacking[0]}' field" if lacking else "The object could not be read."
            task.update(status="failure", message=text)
            return
        # Nothing but the name can be given.
        fields = {"name": given["image_properties"].get("name"), "disk_format": given.get("import_from_format", "vhd")}
        image = self._images.add(str(uuid.uuid4()), {**fields, "container_format": "bare", "visibility": "private"})
        self._images.folder.mkdir(parents=True, exist_ok=True)
        self._images.data_file(image["id"]).write_bytes(data)
        self._api.store(image)
        task.update(status="success", result={"image_id": image["id"]})
