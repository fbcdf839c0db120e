# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud that takes images only by swift and a task of glance."""

from __future__ import annotations

import hashlib

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import image_tasks
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.stop import STOPPED
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker
from tests.support.image_process import UploadProcess, run_module
from tests.support.launcher_case import Cloud

SIZE = 5 * MEGABYTE + 17


@pytest.fixture
def cloud(builder: Builder) -> Cloud:
    made = builder.cloud("one", image_format="vhd", image_api_use_tasks=True)
    made.settings(object_store=True)
    for kind in ("POST /images", "PUT /images/{id}/file", "POST /images/{id}/import"):
        made.fault(kind, "status", status=403, message="policy forbids it")
    return made


def configure(builder: Builder) -> None:
    builder.configure(taker("one", diskimages=[{"name": IMAGE, "meta": {"colour": "blue", "tags": ["ci"]}}]))


@pytest.mark.parametrize("part", [image_tasks.PART, MEGABYTE])
def test_a_build_is_uploaded_by_a_task(builder: Builder, cloud: Cloud, monkeypatch, part: int) -> None:
    monkeypatch.setattr(image_tasks, "PART", part)
    configure(builder)
    build = builder.build(size=SIZE, formats=("vhd",))
    (row,) = builder.run()["uploads"]["done"]
    ((ident, image),) = builder.in_cloud().items()
    assert (row["external_id"], row["bytes"], image["status"], image["tags"]) == (ident, SIZE, "active", ["ci"])
    assert image["sha256"] == hashlib.sha256(builder.file(build, "vhd").read_bytes()).hexdigest()
    options = builder.options()
    client = options.client(options.load().providers["one"])
    (found,) = client.images.find({"nodepool_build_id": build.id})
    client.close()
    assert (found.id, found.properties["colour"], found.properties["visibility"]) == (ident, "blue", "private")
    (upload,) = builder.uploads()
    assert (upload.state, upload.external_id, upload.external_name) == ("ready", ident, found.name)
    assert cloud.state()["objects"] == {}
    assert builder.run()["changed"] is False


def test_what_the_cloud_makes_of_it_need_not_be_equal(builder: Builder, cloud: Cloud) -> None:
    cloud.settings(images_rewritten=True)
    configure(builder)
    builder.build(formats=("vhd",))
    (row,) = builder.run()["uploads"]["done"]
    assert row["compared"] == [] and builder.states() == ["ready"]


@pytest.fixture
def terse(builder: Builder) -> Cloud:
    """A cloud of which clouds.yaml does not say how it takes images."""
    made = builder.cloud("one")
    made.settings(object_store=True)
    builder.configure()
    return made


@pytest.mark.parametrize("refused", ["POST /images", "PUT /images/{id}/file"])
@pytest.mark.parametrize("status", [403, 405])
def test_a_cloud_that_offers_nothing_else_is_found_out(
    builder: Builder, terse: Cloud, refused: str, status: int
) -> None:
    for kind in (refused, "GET /info/import"):
        terse.fault(kind, "status", status=status, message="policy forbids it")
    builder.build(size=SIZE)
    (row,) = builder.run()["uploads"]["done"]
    assert list(builder.in_cloud()) == [row["external_id"]]
    assert (terse.state()["objects"], len(terse.calls("POST /tasks"))) == ({}, 1)
    assert builder.states() == ["ready"]
    assert builder.run()["changed"] is False


def test_tasks_that_the_account_may_not_use_are_not_tried(builder: Builder, terse: Cloud) -> None:
    for kind in ("PUT /images/{id}/file", "GET /info/import", "GET /tasks"):
        terse.fault(kind, "status", status=403, message=f"policy forbids {kind.split()[0]}")
    builder.build()
    (row,) = builder.run()["uploads"]["failed"]
    assert "policy forbids PUT" in row["error"]
    assert (builder.in_cloud(), terse.calls("PUT /object-store/*/images/*")) == ({}, [])


def test_an_import_that_was_found_out_and_killed_leaves_one_good_image(builder: Builder, terse: Cloud) -> None:
    terse.fault("PUT /images/{id}/file", "status", status=403)
    terse.fault("GET /info/import", "status", status=404)
    terse.fault("PATCH /images/{id}", "hang", count=1)
    builder.build()
    with UploadProcess(builder, until="deadline") as process:
        eventually(lambda: terse.calls("PATCH /images/{id}"), 40)
        process.kill()
    (first,) = builder.in_cloud()
    (record,) = builder.uploads()
    record.external_id = None  # as if it had been killed before it wrote the id
    builder.store.images.write_upload(record)
    result = run_module(builder)
    assert [row["upload_id"] for row in result["uploads"]["deleted"]] == [record.id]
    (ident,) = builder.in_cloud()
    assert ident != first and [row["external_id"] for row in result["uploads"]["done"]] == [ident]


def test_a_cloud_without_tasks_is_told(builder: Builder) -> None:
    builder.cloud("one", image_api_use_tasks=True)
    builder.configure()
    builder.build()
    (row,) = builder.run()["uploads"]["failed"]
    assert "image_api_use_tasks" in row["error"] and "no object store" in row["error"]
    assert builder.in_cloud() == {}


@pytest.mark.parametrize(
    ("kind", "status"),
    [("PUT /object-store/*/images/*", 507), ("POST /tasks", 403), ("PATCH /images/{id}", 403)],
)
def test_what_is_refused_leaves_nothing(builder: Builder, cloud: Cloud, kind: str, status: int) -> None:
    cloud.fault(kind, "status", status=status, count=4)
    configure(builder)
    builder.build(formats=("vhd",))
    (row,) = builder.run()["uploads"]["failed"]
    assert str(status) in row["error"]
    assert (builder.in_cloud(), cloud.state()["objects"]) == ({}, {})


def test_the_answer_to_a_task_that_got_lost(builder: Builder, cloud: Cloud) -> None:
    cloud.fault("POST /tasks", "status_after", status=504, count=1)
    configure(builder)
    builder.build(formats=("vhd",))
    assert len(builder.run()["uploads"]["done"]) == 1
    assert len(builder.in_cloud()) == 1


def test_the_end_of_the_cycle_during_the_import_leaves_nothing(builder: Builder, cloud: Cloud) -> None:
    configure(builder)
    builder.build(size=SIZE, formats=("vhd",))
    with builder.stay() as cycle:
        eventually(lambda: cloud.calls("POST /tasks"), 40)
        cycle.stop.ask(STOPPED)
        eventually(lambda: not cycle.running, 40)
    assert cycle.result["uploads"]["done"] == []
    eventually(lambda: cloud.calls("POST /tasks") and not cloud.state()["objects"])
    # The image may have come meanwhile: it is deleted, and the build is uploaded by the next cycle.
    result = builder.run()
    assert len(result["uploads"]["done"]) == 1

    def is_clean() -> bool:
        """What glance still imports cannot be deleted yet: a cycle tells it, and leaves it to a later one."""
        if set(builder.states()) != {"ready"}:
            assert all(
                "of images/" in one["error"] and " is still " in one["error"] for one in builder.run()["undeleted"]
            )
        return set(builder.states()) == {"ready"}

    eventually(is_clean, 40)
    assert set(builder.in_cloud()) == {result["uploads"]["done"][0]["external_id"]}


def test_a_killed_upload_whose_image_has_no_marks_yet_leaves_one_good_image(builder: Builder, cloud: Cloud) -> None:
    cloud.fault("PATCH /images/{id}", "hang", count=1)
    configure(builder)
    build = builder.build(formats=("vhd",))
    with UploadProcess(builder, until="deadline") as process:
        eventually(lambda: cloud.calls("PATCH /images/{id}"), 40)
        process.kill()
    (first,) = builder.in_cloud()
    (record,) = builder.uploads()
    record.external_id = None  # as if it had been killed before it wrote the id
    builder.store.images.write_upload(record)
    cloud.clear_faults()
    for kind in ("POST /images", "PUT /images/{id}/file"):
        cloud.fault(kind, "status", status=403, message="policy forbids it")
    eventually(lambda: builder.states() == ["uploading"])
    result = run_module(builder)
    assert [row["upload_id"] for row in result["uploads"]["deleted"]] == [record.id]
    ((ident, image),) = builder.in_cloud().items()
    assert ident != first and image["status"] == "active"
    assert [row["build_id"] for row in result["uploads"]["done"]] == [build.id]
