# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Glance v2: images and their data, also by import (glance-direct).

With the settings ``images_become`` and ``images_rewritten`` the cloud converts what arrives: size and checksums, and
with the first also the format, are those of other data.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.simcloud.answers import Answer, glance_error
from tests.simcloud.call import Call
from tests.simcloud.config import CloudConfig, Settings
from tests.simcloud.paging import BadPage, cut, parse_limit
from tests.simcloud.timing import Scheduler, iso

PAGE = 25
LARGEST_PAGE = 1000
IMPORT_SECONDS = 0.2
NUMBERS = ("min_disk", "min_ram")
TYPES: dict[str, type] = {**dict.fromkeys(NUMBERS, int), "protected": bool, "os_hidden": bool, "tags": list}
"""Types of an image's fields in glance's schema; all others are text."""
READ_ONLY = frozenset(
    """id status size virtual_size checksum os_hash_algo os_hash_value owner
    created_at updated_at self file schema""".split()
)
NOT_FILTERS = frozenset({"limit", "marker", "sort_key", "sort_dir", "sort", "os_hidden", "member_status"})


class ImageState:
    """The images of one cloud, kept as the documents that the API shows; their data lies below ``folder``."""

    def __init__(self, config: CloudConfig, project_id: str, folder: Path, scheduler: Scheduler) -> None:
        self.images: dict[str, dict[str, Any]] = {}
        self.journal: dict[str, dict[str, Any]] = {}
        """What was ever stored: id → MD5 checksum, and when it was stored and deleted."""
        self.folder = folder
        self._sha256: dict[str, str] = {}
        self._project_id = project_id
        self._scheduler = scheduler
        for item in config.images:
            fields: dict[str, Any] = {"name": item.name, "disk_format": "qcow2", "container_format": "bare"}
            fields |= {"min_disk": item.min_disk, "min_ram": item.min_ram, **item.properties}
            image = self.add(item.id, fields)
            digest = hashlib.sha512(item.id.encode()).hexdigest()
            image.update(status="active", size=item.size, virtual_size=item.size, checksum=digest[:32])
            image.update(os_hash_algo="sha512", os_hash_value=digest)
            image.update(status=item.status, os_hidden=item.hidden, visibility=item.visibility)
            if item.status == "queued":
                image.update(size=None, virtual_size=None, checksum=None, os_hash_algo=None, os_hash_value=None)
            if item.visibility == "community":
                image["owner"] = "0" * 32

    def add(self, ident: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Make a queued image of the fields that the client sent."""
        now = iso(self._scheduler.now())
        image = {
            **{key: value for key, value in fields.items() if key not in READ_ONLY},
            "visibility": fields.get("visibility", "shared"),
            "size": None,
            "virtual_size": None,
            "status": "queued",
            "checksum": None,
            "protected": bool(fields.get("protected", False)),
            "min_ram": int(fields.get("min_ram", 0)),
            "min_disk": int(fields.get("min_disk", 0)),
            "owner": self._project_id,
            "os_hidden": bool(fields.get("os_hidden", False)),
            "os_hash_algo": None,
            "os_hash_value": None,
            "id": ident,
            "created_at": now,
            "updated_at": now,
            "tags": list(fields.get("tags", [])),
            "self": f"/v2/images/{ident}",
            "file": f"/v2/images/{ident}/file",
            "schema": "/v2/schemas/image",
        }
        for key in ("name", "disk_format", "container_format"):
            image.setdefault(key, None)
        self.images[ident] = image
        return image

    def touch(self, image: dict[str, Any]) -> None:
        image["updated_at"] = iso(self._scheduler.now())

    def now(self) -> float:
        return self._scheduler.now()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        self._scheduler.later(seconds, action)

    def data_file(self, ident: str) -> Path:
        return self.folder / ident

    def sha256(self, ident: str) -> str | None:
        """The checksum of what is stored, which glance does not tell; None without data that is whole."""
        try:
            # Who looks on during uploads asks again and again; what is stored does not change.
            if ident not in self._sha256 and ident in self.journal:
                with self.data_file(ident).open("rb") as data:
                    self._sha256[ident] = hashlib.file_digest(data, "sha256").hexdigest()
        except FileNotFoundError:
            return None
        return self._sha256.get(ident)

    def stored(self, ident: str, md5: str) -> None:
        """Note that an image has all its data."""
        self.journal[ident] = {"md5": md5, "stored": self.now(), "deleted": None}
        self._sha256.pop(ident, None)


class ImageApi:
    """Answers glance's calls for one cloud."""

    def __init__(self, state: ImageState, settings: Settings) -> None:
        self._state = state
        self._settings = settings

    @staticmethod
    def versions(root: str) -> Answer:
        """Answer the unversioned root; ``root`` is its URL."""
        links = [{"rel": "self", "href": f"{root}/v2/"}]
        rows = [
            {"id": f"v2.{minor}", "status": "CURRENT" if minor == 15 else "SUPPORTED", "links": links}
            for minor in (15, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
        ]
        return Answer(300, {"versions": rows})

    def handle(self, call: Call) -> Answer:
        match call.method, call.path:
            case "GET", ["images"]:
                return self._list(call)
            case "POST", ["images"]:
                return self._create(call)
            case "GET", ["images", ident]:
                return Answer(200, self._get(ident))
            case "PATCH", ["images", ident]:
                return self._patch(self._get(ident), call.json())
            case "DELETE", ["images", ident]:
                return self._delete(self._get(ident))
            case "GET", ["images", ident, "file"]:
                return self._download(self._get(ident))
            case "POST", ["images", ident, "actions", "deactivate" | "reactivate" as action]:
                return self._act(self._get(ident), action)
            case "POST", ["images", ident, "import"]:
                return self._import(self._get(ident), call.json())
            case "GET", ["info", "import"]:
                methods = ["glance-direct", "web-download", "copy-image"]
                kind = "Import methods available."
                return Answer(200, {"import-methods": {"description": kind, "type": "array", "value": methods}})
            case "GET", ["schemas", kind]:
                return Answer(200, {"name": kind, "properties": {}, "additionalProperties": {"type": "string"}})
        raise glance_error(404, "The resource could not be found.")

    async def upload(self, call: Call, ident: str) -> Answer:
        """Take the data of a queued image from the stream of the call, for the store or into the staging area."""
        image = self._get(ident)
        staged = call.path[-1:] == ["stage"]
        if image["status"] != "queued":
            wanted = "uploading" if staged else "saving"
            raise glance_error(409, f"Image status transition from {image['status']} to {wanted} is not allowed")
        if not staged and (not image["disk_format"] or not image["container_format"]):
            raise glance_error(400, "Properties disk_format, container_format must be set prior to saving data.")
        assert call.stream is not None
        image["status"] = "uploading" if staged else "saving"
        size = 0
        self._state.folder.mkdir(parents=True, exist_ok=True)
        target = self._state.data_file(ident)
        try:
            with target.open("wb") as data:
                async for piece in call.stream:
                    data.write(piece)
                    size += len(piece)
        except BaseException:
            # As in glance: an upload that breaks off leaves the image queued and nothing stored.
            image["status"] = "queued"
            target.unlink(missing_ok=True)
            raise
        if ident not in self._state.images:
            target.unlink(missing_ok=True)
            raise glance_error(410, f"Image {ident} could not be found after upload.")
        if staged:
            image["size"] = size
        else:
            self.store(image)
        return Answer(204)

    def store(self, image: dict[str, Any]) -> None:
        """Make an image active with the data that is there, converted when the cloud does that."""
        target = self._state.data_file(image["id"])
        becomes = self._settings.images_become or image["disk_format"]
        if becomes != image["disk_format"] or self._settings.images_rewritten:
            target.write_bytes(b"converted" + target.read_bytes())
            image["disk_format"] = becomes
        size = target.stat().st_size
        with target.open("rb") as data:
            md5 = hashlib.file_digest(data, "md5").hexdigest()
        with target.open("rb") as data:
            sha512 = hashlib.file_digest(data, "sha512").hexdigest()
        image.update(status="active", size=size, virtual_size=size, checksum=md5, stores="file")
        image.update(os_hash_algo="sha512", os_hash_value=sha512)
        self._state.stored(image["id"], md5)
        self._state.touch(image)

    def _import(self, image: dict[str, Any], wanted: Any) -> Answer:
        """Begin to import what was staged. As in glance, the image is ready some time after the answer."""
        method = wanted.get("method", {}).get("name") if isinstance(wanted, dict) else None
        if method != "glance-direct":
            raise glance_error(400, f"Unknown import method name '{method}'.")
        if image["status"] != "uploading":
            raise glance_error(409, f"Image needs to be staged before '{method}' method can be used")
        image["status"] = "importing"
        self._state.later(IMPORT_SECONDS, lambda: self._imported(image["id"]))
        return Answer(202)

    def _imported(self, ident: str) -> None:
        image = self._state.images.get(ident)
        if image is not None and image["status"] == "importing":
            self.store(image)

    def _get(self, ident: str) -> dict[str, Any]:
        image = self._state.images.get(ident)
        if image is None:
            raise glance_error(404, f"No image found with ID {ident}")
        return image

    def _list(self, call: Call) -> Answer:
        hidden = (call.first("os_hidden") or "").lower() == "true"
        chosen = [image for image in self._state.images.values() if image["os_hidden"] is hidden]
        if call.first("visibility") is None:
            # Without the filter, glance leaves out the community images of other projects.
            chosen = [item for item in chosen if item["visibility"] != "community" or item["owner"] != "0" * 32]
        for key, value in call.query:
            if key not in NOT_FILTERS:
                chosen = [image for image in chosen if _matches(image, key, value)]
        chosen.sort(key=lambda image: (image["created_at"], image["id"]), reverse=True)
        try:
            limit = parse_limit(call.first("limit"), LARGEST_PAGE, PAGE)
            page, _more = cut(chosen, lambda image: str(image["id"]), limit, call.first("marker"))
        except BadPage as bad:
            text = str(bad)
            raise glance_error(
                400, f"No image found with ID {call.first('marker')}" if text.startswith("marker") else text
            ) from None
        query = [(key, value) for key, value in call.query if key != "marker"]
        first = f"/v2/images?{urlencode(query)}" if query else "/v2/images"
        body: dict[str, Any] = {"images": page, "first": first, "schema": "/v2/schemas/images"}
        # Glance adds the link whenever the page is full.
        if page and len(page) == limit:
            body["next"] = f"/v2/images?{urlencode([*query, ('marker', page[-1]['id'])])}"
        return Answer(200, body)

    def _create(self, call: Call) -> Answer:
        fields = call.json()
        if not isinstance(fields, dict):
            raise glance_error(400, "Malformed JSON in request body.")
        for key in ("status", "owner", "created_at", "checksum", "size"):
            if key in fields:
                raise glance_error(403, f"Attribute '{key}' is read-only.")
        tags = fields.get("tags", [])
        if not isinstance(tags, list) or not all(isinstance(tag, str) and len(tag) <= 255 for tag in tags):
            raise glance_error(400, f"Provided object does not match schema 'image': {tags!r} is not of type 'array'.")
        ident = str(fields.get("id") or uuid.uuid4())
        if ident in self._state.images:
            raise glance_error(409, f"Image ID {ident} already exists!")
        image = self._state.add(ident, fields)
        return Answer(201, image, {"Location": f"{call.root}/images/{ident}"})

    def _patch(self, image: dict[str, Any], operations: Any) -> Answer:
        if not isinstance(operations, list):
            raise glance_error(400, "Request body must be a JSON array of operation objects.")
        for operation in operations:
            key = str(operation.get("path", "")).removeprefix("/").replace("~1", "/").replace("~0", "~")
            if key in READ_ONLY:
                raise glance_error(403, f"Attribute '{key}' is read-only.")
            match operation.get("op"):
                case "add" | "replace":
                    value = operation.get("value")
                    if not isinstance(value, TYPES.get(key, str)) or (key in NUMBERS and isinstance(value, bool)):
                        raise glance_error(400, f"Provided object does not match schema 'image': {value!r}")
                    image[key] = value
                case "remove":
                    if key not in image:
                        raise glance_error(409, f"Property {key} does not exist.")
                    del image[key]
                case other:
                    raise glance_error(400, f"Unsupported operation {other}")
        self._state.touch(image)
        return Answer(200, image)

    def _delete(self, image: dict[str, Any]) -> Answer:
        ident = image["id"]
        if image["protected"]:
            raise glance_error(403, f"Image {ident} is protected and cannot be deleted.")
        del self._state.images[ident]
        if ident in self._state.journal:
            self._state.journal[ident]["deleted"] = self._state.now()
        self._state.data_file(ident).unlink(missing_ok=True)
        return Answer(204)

    def _act(self, image: dict[str, Any], action: str) -> Answer:
        """Deactivate or reactivate; as in glance, either way only an image that is active or deactivated."""
        if image["status"] not in ("active", "deactivated"):
            raise glance_error(403, f"Not allowed to {action} image in status '{image['status']}'")
        image["status"] = "deactivated" if action == "deactivate" else "active"
        self._state.touch(image)
        return Answer(204)

    def _download(self, image: dict[str, Any]) -> Answer:
        path = self._state.data_file(image["id"])
        if image["status"] == "deactivated":
            raise glance_error(403, "The requested image has been deactivated. Image data download is forbidden.")
        if image["status"] != "active" or not path.exists():
            return Answer(204)
        return Answer(200, path.read_bytes(), content_type="application/octet-stream")


def _matches(image: dict[str, Any], key: str, value: str) -> bool:
    if key == "tag":
        return value in image["tags"]
    held = image.get(key)
    if isinstance(held, bool):
        return str(held).lower() == value.lower()
    if value.startswith("in:"):
        return str(held) in [part.strip('"') for part in value[3:].split(",")]
    return held is not None and str(held) == value
