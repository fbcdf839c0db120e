# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Swift: containers and objects of one account, and static large objects. Only clouds with ``object_store`` have it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from tests.simcloud.answers import Answer, Refusal
from tests.simcloud.call import Call

LARGEST = 5 * (1 << 30) + 2
"""Swift's max_file_size."""


@dataclass
class StoredObject:
    """An object; *parts*: of a static large object its parts, "container/name"."""

    path: Path
    size: int
    etag: str
    delete_after: str | None
    parts: tuple[str, ...] = ()


class ObjectApi:
    """Answers swift's calls below ``/v1/AUTH_project``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.containers: dict[str, dict[str, StoredObject]] = {}

    def handle(self, call: Call) -> Answer:
        match call.method, call.path:
            case "PUT", [_account, container]:
                known = container in self.containers
                self.containers.setdefault(container, {})
                return Answer(202 if known else 201)
            case "PUT", [_account, container, name]:
                return self._assemble(call, self._container(container), name)
            case "HEAD", [_account, container, name]:
                found = self._object(container, name)
                return Answer(200, b"", {"Content-Length": str(found.size), "Etag": f'"{found.etag}"'})
            case "DELETE", [_account, container, name]:
                self._object(container, name)
                del self.containers[container][name]
                return Answer(204)
        raise _refusal(404, "Not Found")

    async def upload(self, call: Call) -> Answer:
        """Store an object from the stream of the call; nothing is stored of one that breaks off."""
        _account, container, name = call.path
        there = self._container(container)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / hashlib.sha256(f"{container}/{name}".encode()).hexdigest()
        digest, size = hashlib.md5(usedforsecurity=False), 0
        assert call.stream is not None
        with path.with_suffix(".new").open("wb") as file:
            async for piece in call.stream:
                size += len(piece)
                if size > LARGEST:
                    raise _refusal(413, "Request Entity Too Large")
                digest.update(piece)
                file.write(piece)
        path.with_suffix(".new").replace(path)
        there[name] = StoredObject(path, size, digest.hexdigest(), call.headers.get("X-Delete-After"))
        return Answer(201, None, {"Etag": digest.hexdigest()})

    def read(self, place: str) -> bytes | None:
        """Return the data of "container/name"; None when there is no such object, or a part of it is missing."""
        container, _slash, name = place.partition("/")
        found = self.containers.get(container, {}).get(name)
        if found is None:
            return None
        if not found.parts:
            return found.path.read_bytes()
        parts = [self.read(part) for part in found.parts]
        return None if None in parts else b"".join(part for part in parts if part is not None)

    def _assemble(self, call: Call, there: dict[str, StoredObject], name: str) -> Answer:
        """Store a static large object; each part is compared with what is stored."""
        if call.first("multipart-manifest") != "put":
            raise _refusal(400, "Bad Request")
        parts = []
        for row in json.loads(call.body):
            container, _slash, part = str(row["path"]).lstrip("/").partition("/")
            found = self.containers.get(container, {}).get(part)
            if found is None or (found.size, found.etag) != (row["size_bytes"], row["etag"]):
                raise _refusal(400, f"Errors: {row['path']}, 404 Not Found")
            parts.append((f"{container}/{part}", found))
        size, etags = sum(found.size for _place, found in parts), "".join(found.etag for _place, found in parts)
        etag = hashlib.md5(etags.encode(), usedforsecurity=False).hexdigest()
        after = call.headers.get("X-Delete-After")
        there[name] = StoredObject(Path(), size, etag, after, tuple(place for place, _found in parts))
        return Answer(201, None, {"Etag": f'"{etag}"'})

    def _container(self, name: str) -> dict[str, StoredObject]:
        if name not in self.containers:
            raise _refusal(404, "The resource could not be found.")
        return self.containers[name]

    def _object(self, container: str, name: str) -> StoredObject:
        found = self._container(container).get(name)
        if found is None:
            raise _refusal(404, "The resource could not be found.")
        return found


def _refusal(status: int, text: str) -> Refusal:
    body = f"<html><h1>{text}</h1></html>".encode()
    return Refusal(Answer(status, body, content_type="text/html; charset=UTF-8"))
