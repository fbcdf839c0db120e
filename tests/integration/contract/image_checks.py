# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Glance: images, their data and their protection."""

from __future__ import annotations

import hashlib
import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.integration.contract.harness import Lab, check, refusal, shape

NOBODY = "11111111-2222-3333-4444-555555555555"
PATCH = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
DATA = {"Content-Type": "application/octet-stream"}


@check
def versions(lab: Lab) -> Iterator[tuple[str, Any]]:
    root = lab.endpoint("image").rsplit("/v2", 1)[0]
    answer = lab.bare("GET", f"{root}/")
    yield "image: versions", [answer.status_code, shape(answer.json())]


@check
def life(lab: Lab) -> Iterator[tuple[str, Any]]:
    name = f"contract-{lab.tag}-image"
    fields = {"name": name, "disk_format": "qcow2", "container_format": "bare", "purpose": "contract"}
    made = lab.call("image", "POST", "/images", json=fields)
    image = made.json()
    yield "image: queued", [made.status_code, shape(image), image["status"]]
    path = f"/images/{image['id']}"
    empty = lab.post_server("queued", imageRef=image["id"])
    yield "create: an image without data", refusal(empty)
    pieces = iter([b"a" * 100_000, b"b" * 100_000])
    put = lab.call("image", "PUT", f"{path}/file", data=pieces, headers=DATA)
    yield "image: uploaded in chunks", [put.status_code, put.text]
    image = lab.wait(
        "an active image",
        lambda: [row for row in [lab.call("image", "GET", path).json()] if row["status"] == "active"],
    )[0]
    content = b"a" * 100_000 + b"b" * 100_000
    assert image["size"] == len(content)
    assert image["checksum"] == hashlib.md5(content).hexdigest()
    assert image["os_hash_value"] == hashlib.sha512(content).hexdigest()
    outline = {key: value for key, value in shape(image).items() if key != "virtual_size"}
    yield "image: active", [outline, image["os_hash_algo"], image["purpose"]]
    again = lab.call("image", "PUT", f"{path}/file", data=b"again", headers=DATA)
    yield "image: uploaded twice", [again.status_code, again.headers["Content-Type"].partition(";")[0]]
    yield "image: not found", refusal(lab.call("image", "GET", f"/images/{NOBODY}"))
    yield "image: a bad marker", refusal(lab.call("image", "GET", f"/images?marker={NOBODY}"))
    listing = lab.call("image", "GET", f"/images?name={name}").json()
    yield "image: listed by name", [sorted(listing), len(listing["images"])]
    page = lab.call("image", "GET", "/images?limit=1").json()
    yield "image: a full page", [sorted(page), len(page["images"]), page["next"].partition("marker=")[0]]
    yield "image: read-only", refusal(_patch(lab, path, "replace", "status", "queued"))
    yield from _protection(lab, path)


@check
def broken_off(lab: Lab) -> Iterator[tuple[str, Any]]:
    """An upload whose sender goes away, and one that is deleted meanwhile."""
    mark = f"contract-{lab.tag}"
    fields = {"name": mark, "disk_format": "raw", "container_format": "bare", "mark": mark, "owner_specified.x.y": "z"}
    image = lab.call("image", "POST", "/images", json=fields).json()
    path = f"/images/{image['id']}"
    found = lab.call("image", "GET", f"/images?mark={mark}&limit=10").json()["images"]
    other = lab.call("image", "GET", f"/images?mark={mark}-not&limit=10").json()["images"]
    yield "image: listed by a property", [len(found), found[0]["owner_specified.x.y"], len(other)]

    def status() -> str:
        return str(lab.call("image", "GET", path).json()["status"])

    connection = _begin(lab, path)
    lab.wait("a saving image", lambda: status() == "saving")
    connection.close()
    lab.wait("what becomes of it", lambda: status() != "saving")
    yield "image: its sender went away", status()
    connection = _begin(lab, path)
    lab.wait("a saving image", lambda: status() == "saving")
    deleted = lab.call("image", "DELETE", path)
    yield "image: deleted while it is sent", [deleted.status_code, lab.call("image", "GET", path).status_code]
    connection.close()


def _begin(lab: Lab, path: str) -> http.client.HTTPConnection:
    """Send a part of what was announced."""
    parts = urlsplit(f"{lab.endpoint('image')}{path}/file")
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    connection.putrequest("PUT", parts.path)
    token = lab.connection.session.get_token()
    for key, value in {**DATA, "X-Auth-Token": token, "Content-Length": str(64 << 20)}.items():
        connection.putheader(key, value)
    connection.endheaders()
    connection.send(b"c" * (4 << 20))
    return connection


def _protection(lab: Lab, path: str) -> Iterator[tuple[str, Any]]:
    changed = _patch(lab, path, "replace", "protected", True)
    yield "image: protected", [changed.status_code, changed.json()["protected"]]
    yield "image: delete a protected one", refusal(lab.call("image", "DELETE", path))
    added = _patch(lab, path, "add", "colour", "blue")
    yield "image: property added", [added.status_code, added.json()["colour"]]
    removed = _patch(lab, path, "remove", "colour", None)
    yield "image: property removed", [removed.status_code, "colour" in removed.json()]
    assert _patch(lab, path, "replace", "protected", False).status_code == 200
    gone = lab.call("image", "DELETE", path)
    yield "image: deleted", [gone.status_code, gone.text]
    yield "image: gone", lab.call("image", "GET", path).status_code


def _patch(lab: Lab, path: str, operation: str, key: str, value: Any) -> Any:
    step = {"op": operation, "path": f"/{key}"}
    if operation != "remove":
        step["value"] = value
    return lab.call("image", "PATCH", path, data=json.dumps([step]), headers=PATCH)
