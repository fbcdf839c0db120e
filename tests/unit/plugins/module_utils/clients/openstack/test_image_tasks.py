# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Uploads by swift and tasks of glance, on a cloud in memory; bytes travel in the integration tests."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import image_tasks
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.disk_file import DiskFile, FilePart
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.faults import error_from_answer
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.image_tasks import TaskUploads
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.rest import ApiAnswer
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudImageBroken,
    CloudUnavailable,
)

PLACE = "nodepool-b1-0000000001-x"


class Stopped(Exception):
    """The cycle ends."""


class Cloud:
    """Stands in for Rest: swift keeps what it gets, and glance makes an image after some looks.

    *faults*: kind → statuses of the next answers; the work of one above 499 is done all the same.
    """

    def __init__(self, *statuses: str) -> None:
        self.objects: dict[str, bytes] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.statuses = list(statuses) or ["pending", "processing", "success"]
        self.faults: dict[str, list[int]] = {}
        self.seen: list[str] = []
        self.assembles = True

    def renew(self, seconds: float) -> None:
        pass

    def senseless(self, call: str, what: str) -> CloudError:
        return CloudUnavailable(f"{call}: {what}", provider="p1", call=call)

    def call(self, service: str, method: str, path: str, **options: Any) -> ApiAnswer:
        kind = f"{method} {path.split('/')[1]}" if service == "image" else f"{method} swift"
        self.seen.append(kind)
        queue = self.faults.get(kind, [])
        status = queue.pop(0) if queue else 200
        answer = self._work(service, method, path, options) if status == 200 or status >= 500 else None
        if status != 200 or answer is None:
            body = json.dumps({"message": "no"})
            code = 404 if status == 200 else status
            raise error_from_answer(provider="p1", call=kind, status=code, body=body, headers={})
        return answer

    def _work(self, service: str, method: str, path: str, options: dict[str, Any]) -> ApiAnswer | None:
        if service == "object-store":
            return self._swift(method, path, options)
        if method == "POST":
            ident = f"t{len(self.tasks)}"
            self.tasks[ident] = {"id": ident, "status": "pending", **options["body"]}
            return ApiAnswer(201, self.tasks[ident], {})
        if path == "/tasks":
            rows = [{"id": ident, "status": task["status"]} for ident, task in reversed(self.tasks.items())]
            return ApiAnswer(200, {"tasks": rows}, {})
        task = self.tasks[path.rpartition("/")[2]]
        if self.statuses:
            task["status"] = self.statuses.pop(0)
        task |= {"result": {"image_id": "i1"} if task["status"] == "success" else None, "message": "bad vhd"}
        return ApiAnswer(200, task, {})

    def _swift(self, method: str, path: str, options: dict[str, Any]) -> ApiAnswer | None:
        name = path.removeprefix("/images").lstrip("/")
        if method == "PUT" and name:
            assert options["headers"]["X-Delete-After"] == "86400"
            rows = options.get("body")
            if rows is not None:
                parts = [self.objects[row["path"].removeprefix("/images/")] for row in rows]
                self.objects[name] = b"".join(parts) if self.assembles else json.dumps(rows).encode()
            else:
                self.objects[name] = b"".join(bytes(piece) for piece in options["data"])
            return ApiAnswer(201, None, {"Etag": hashlib.md5(self.objects[name]).hexdigest()})
        if method in ("HEAD", "DELETE"):
            if name not in self.objects:
                return None
            size = len(self.objects.pop(name) if method == "DELETE" else self.objects[name])
            return ApiAnswer(200, None, {"Content-Length": str(size)})
        return ApiAnswer(201, None, {})


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def file(tmp_path) -> DiskFile:
    (tmp_path / "x.vhd").write_bytes(b"abcdefgh")
    return DiskFile(str(tmp_path / "x.vhd"))


def run(cloud: Cloud, file: DiskFile, *, seconds: float = 60.0, check: Any = lambda: None) -> str:
    clock = Clock()
    tasks = TaskUploads("p1", cloud, stall=5.0, clock=clock, sleeper=clock.sleep)  # type: ignore[arg-type]
    return tasks.run("debian-1", "vhd", file, PLACE, clock.now + seconds, check)


def find(cloud: Cloud) -> str | None:
    return TaskUploads("p1", cloud, stall=5.0).find(PLACE)  # type: ignore[arg-type]


def test_the_file_is_imported_from_an_object_that_goes_afterwards(file) -> None:
    cloud = Cloud()
    assert run(cloud, file) == "i1"
    assert cloud.tasks["t0"]["input"] == {
        "import_from": f"images/{PLACE}",
        "import_from_format": "vhd",
        "image_properties": {"name": "debian-1"},
    }
    assert cloud.objects == {} and file.handed_out == file.size
    assert find(cloud) == "i1"


@pytest.mark.parametrize("part", [3, 4, 8, 9])
def test_a_large_file_is_sent_in_parts(file, monkeypatch, part) -> None:
    monkeypatch.setattr(image_tasks, "PART", part)
    cloud, kept = Cloud(), dict[str, bytes]()
    monkeypatch.setattr(TaskUploads, "_remove", lambda self, objects: kept.update(cloud.objects))
    assert run(cloud, file) == "i1"
    assert kept[PLACE] == b"abcdefgh"
    assert len(kept) == (1 if part >= 8 else 1 + -(-8 // part))


def test_a_swift_that_does_not_assemble_parts_is_told(file, monkeypatch) -> None:
    monkeypatch.setattr(image_tasks, "PART", 3)
    cloud = Cloud()
    cloud.assembles = False
    with pytest.raises(CloudImageBroken, match=r"swift shows \d+ bytes of images/nodepool-b1"):
        run(cloud, file)
    assert cloud.objects == {} and cloud.tasks == {}


def test_an_object_that_arrived_damaged_is_told(file, monkeypatch) -> None:
    cloud = Cloud()
    monkeypatch.setattr(FilePart, "__iter__", lambda self: iter([b"other"]))
    with pytest.raises(CloudImageBroken, match="swift has stored"):
        run(cloud, file)


def test_a_task_that_fails_says_why(file) -> None:
    cloud = Cloud("pending", "failure")
    with pytest.raises(CloudImageBroken, match="the import failed: bad vhd"):
        run(cloud, file)
    assert cloud.objects == {} and find(cloud) is None


def test_a_task_that_takes_too_long_is_found_later(file) -> None:
    cloud = Cloud(*["processing"] * 50)
    with pytest.raises(CloudUnavailable, match="task t0 is still processing"):
        run(cloud, file)
    with pytest.raises(CloudUnavailable, match=r"is still processing"):
        find(cloud)
    cloud.statuses = ["success"]
    assert find(cloud) == "i1"


def test_an_unanswered_task_is_not_begun_twice(file) -> None:
    cloud = Cloud()
    cloud.faults["POST tasks"] = [504]
    assert run(cloud, file) == "i1"
    assert cloud.seen.count("POST tasks") == 1


def test_a_refused_task_is_no_task(file) -> None:
    cloud = Cloud()
    cloud.faults["POST tasks"] = [403]
    with pytest.raises(CloudError, match="403"):
        run(cloud, file)
    assert cloud.objects == {} and find(cloud) is None


def test_looks_that_fail_are_repeated(file) -> None:
    cloud = Cloud()
    cloud.faults["GET tasks"] = [503, 500]
    assert run(cloud, file) == "i1"


def test_the_end_of_the_cycle_ends_the_wait(file) -> None:
    cloud = Cloud(*["processing"] * 50)

    def check() -> None:
        if cloud.tasks:
            raise Stopped

    with pytest.raises(Stopped):
        run(cloud, file, check=check)
    assert cloud.objects == {}


def test_tasks_of_other_uploads_are_not_taken(file) -> None:
    cloud = Cloud()
    cloud.tasks["t9"] = {"id": "t9", "status": "success", "input": {"import_from": "images/other"}}
    assert find(cloud) is None


def test_a_success_without_an_image_makes_no_sense(file) -> None:
    cloud = Cloud("success")
    cloud.tasks["t9"] = {"id": "t9", "status": "success", "input": {"import_from": f"images/{PLACE}"}}
    cloud._work = lambda *words: ApiAnswer(  # type: ignore[method-assign]
        200, {"tasks": [{"id": "t9"}], **cloud.tasks["t9"], "result": {}}, {}
    )
    with pytest.raises(CloudUnavailable, match="has no image_id"):
        find(cloud)


def test_a_part_is_read_again_from_its_beginning(file) -> None:
    part = FilePart(file, 2, 3)
    assert len(part) == 3
    for _twice in range(2):
        assert b"".join(bytes(piece) for piece in part) == b"cde"
        assert part.md5 == hashlib.md5(b"cde").hexdigest()
        assert file.handed_out == 5
