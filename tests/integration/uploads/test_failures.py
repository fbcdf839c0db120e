# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong: nothing half-uploaded stays, the others go on, and it is tried again later."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from kazoo.security import ACL, Id, Permissions

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.store import Store
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame import opening
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from tests.support.fixtures_zookeeper import eventually, expire_session
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker

FILE = "PUT /images/{id}/file"
SIZE = 24 * MEGABYTE
NOTES = f"image-uploads/one/{IMAGE}"


def script(folder: Path, text: str) -> str:
    path = folder / "hook"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def failures(builder: Builder) -> int:
    return int((builder.store.own.get(NOTES) or {}).get("failures", 0))


@pytest.mark.parametrize(
    ("fault", "options", "said"),
    [
        ("reset", {"at": SIZE // 2}, "the connection broke"),
        ("status", {"at": SIZE // 2, "status": 503, "message": "no store"}, "503: 503 Service Unavailable no store"),
        ("status", {"status": 413, "message": "Image exceeds the storage quota"}, "413"),
        ("hang", {"at": SIZE // 4}, "the server accepted no data for 0.6 s"),
    ],
)
def test_an_upload_that_breaks(builder: Builder, fault: str, options: dict[str, Any], said: str) -> None:
    cloud = builder.cloud()
    builder.configure()
    builder.build(size=SIZE)
    before = {path.name for path in builder.images_dir.iterdir()}
    cloud.fault(FILE, fault, count=1, **options)
    result = builder.run(api_timeout=0.3)
    left = {path.name for path in builder.images_dir.iterdir()} - before
    assert left <= {"tree_id.txt"}, "nothing of it is left on the disk"
    (row,) = result["uploads"]["failed"]
    assert said in row["error"]
    assert builder.in_cloud() == {}
    assert [(each["code"], each["image"]) for each in result["waiting"]] == [("backoff", IMAGE)]
    assert failures(builder) == 1
    assert builder.uploads() == [], "its record goes, too"
    # A little later it is tried again, under a new number.
    builder.store.own.put(NOTES, {**builder.store.own.get(NOTES), "not_before": time.time() - 1})
    (row,) = builder.run()["uploads"]["done"]
    assert row["upload_id"] > "0000000001"
    assert failures(builder) == 0
    (image,) = builder.in_cloud().values()
    assert image["status"] == "active"


def test_failures_back_off(builder: Builder) -> None:
    builder.cloud().fault("POST /images", "status", status=500)
    builder.configure()
    builder.build()
    waits = []
    for number in (1, 2, 3):
        builder.run()
        assert failures(builder) == number
        document = builder.store.own.get(NOTES)
        waits.append(document["not_before"] - document["failed_at"])
        builder.store.own.put(NOTES, {**document, "not_before": time.time() - 1})
    assert [round(wait / 10) for wait in waits] in ([1, 2, 4], [1, 2, 3])
    # A new build is tried at once.
    builder.store.own.put(NOTES, {**builder.store.own.get(NOTES), "not_before": time.time() + 1000})
    builder.site.cloud.clear_faults()
    assert builder.run()["uploads"]["done"] == []
    build = builder.build()
    assert [row["build_id"] for row in builder.run()["uploads"]["done"]] == [build.id]


@pytest.mark.parametrize("fault", ["status_after", "reset_after", "hang_after"])
def test_a_create_whose_answer_is_lost(builder: Builder, fault: str) -> None:
    cloud = builder.cloud()
    cloud.fault("POST /images", fault, status=504, count=1)
    builder.configure()
    builder.build()
    (row,) = builder.run(api_timeout=0.5)["uploads"]["done"]
    assert list(builder.in_cloud()) == [row["external_id"]]
    assert cloud.counts()["by_kind"]["POST /images"] == 1


def test_a_failed_upload_that_never_had_an_image_goes_without_a_deletion_in_the_cloud(builder: Builder) -> None:
    """Nodepool and builders that died leave such records."""
    cloud = builder.cloud()
    builder.configure()
    builder.build()
    builder.run()
    (good,) = builder.uploads()
    failed = Upload(image=IMAGE, build_id=good.build_id, provider="one")
    failed.set_state(UploadState.FAILED, (good.state_time or 0.0) - 1.0)
    builder.store.images.create_upload(failed)
    eventually(lambda: len(builder.uploads()) == 2)
    before = cloud.counts()["by_kind"].get("DELETE /images/{id}", 0)
    deleted = builder.run()["uploads"]["deleted"]
    assert [row["upload_id"] for row in deleted] == [failed.id]
    assert [upload.id for upload in builder.uploads()] == [good.id]
    assert list(builder.in_cloud()) == [good.external_id]
    assert cloud.counts()["by_kind"].get("DELETE /images/{id}", 0) == before


def test_an_image_that_cannot_be_deleted_at_once_is_deleted_later(builder: Builder) -> None:
    cloud = builder.cloud()
    cloud.fault(FILE, "status", status=500)
    cloud.fault("DELETE /images/{id}", "status", status=503, count=2)
    builder.configure()
    builder.build()
    result = builder.run()
    assert len(builder.in_cloud()) == 1
    (upload,) = builder.uploads()
    assert upload.external_id in builder.in_cloud()
    (row,) = result["undeleted"]
    assert (row["upload_id"], row["external_id"]) == (upload.id, upload.external_id)
    builder.run()
    assert builder.in_cloud() == {}
    assert builder.uploads() == []


def test_a_dead_and_a_hanging_provider_stop_nobody(builder: Builder) -> None:
    for name in ("dead", "hanging", "one"):
        builder.cloud(name)
    builder.site.clouds["dead"].fault("* /*", "reset")
    builder.site.clouds["hanging"].fault(FILE, "hang")
    builder.configure(taker("dead"), taker("hanging"), taker("one"))
    builder.build(size=SIZE)
    with builder.stay(api_timeout=20.0) as cycle:
        eventually(lambda: builder.states("one") == ["ready"], 8)
        builder.build(size=SIZE)
        eventually(lambda: builder.states("one") == ["ready", "ready"], 8)
        assert builder.states("hanging") == ["uploading", "uploading"]
    assert [row["provider"] for row in cycle.result["uploads"]["done"]] == ["one", "one"]


def test_a_provider_without_an_entry_in_clouds_yaml(builder: Builder) -> None:
    builder.cloud("one")
    builder.configure(taker("one"), {**taker("gone"), "cloud": "one"})
    text = builder.site.config.read_text().replace(
        '"name": "gone",\n   "cloud": "one"', '"name": "gone", "cloud": "no"'
    )
    assert '"no"' in text
    builder.site.config.write_text(text)
    builder.build()
    result = builder.run()
    assert [row["provider"] for row in result["uploads"]["done"]] == ["one"]
    assert "has no entry 'no'" in result["left_out"]["gone"]


def test_a_provider_that_takes_no_images_is_not_even_looked_for(builder: Builder) -> None:
    cloud = builder.cloud("one")
    plain = {**taker("none"), "cloud": "nowhere"}
    del plain["diskimages"]
    for pool in plain["pools"]:
        for label in pool["labels"]:
            del label["diskimage"]
            label["cloud-image"] = "debian-12"
    builder.site.configure(
        taker("one"), plain, images_dir=str(builder.images_dir), diskimages=[{"name": IMAGE, "elements": ["x"]}]
    )
    builder.build()
    result = builder.run()
    assert [row["provider"] for row in result["uploads"]["done"]] == ["one"]
    assert result["left_out"] == {} and len(builder.in_cloud("one")) == 1 and cloud.calls(FILE)


def test_an_upload_ends_with_its_time(builder: Builder) -> None:
    # All of it would take longer than any test may.
    builder.cloud().fault(FILE, "throttle", rate=MEGABYTE // 20)
    builder.configure(taker("one", image_upload_timeout=2))
    builder.build(size=SIZE)
    (row,) = builder.run()["uploads"]["failed"]
    assert "no complete answer within" in row["error"]
    assert builder.in_cloud() == {}


def test_the_hook_is_told_what_was_uploaded(builder: Builder) -> None:
    hook = script(builder.site.folder, 'echo "$@" >>"$0.log"')
    builder.configure(taker("one", post_upload_hook=hook))
    build = builder.build()
    (row,) = builder.run()["uploads"]["done"]
    assert Path(f"{hook}.log").read_text() == f"one {row['external_id']} {builder.file(build)}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo it is not good; exit 3", "exited with code 3: it is not good"),
        ("sleep 60", "did not end within 0.5 s"),
        (None, "cannot be run: No such file"),
    ],
)
def test_a_hook_that_fails(builder: Builder, text: str | None, said: str) -> None:
    hook = script(builder.site.folder, text) if text else "/nowhere/hook"
    builder.configure(taker("one", post_upload_hook=hook))
    builder.build()
    (row,) = builder.run(hook_timeout=0.5)["uploads"]["failed"]
    assert row["error"].startswith("post-upload-hook") and said in row["error"]
    assert builder.in_cloud() == {}
    assert failures(builder) == 1


@pytest.mark.parametrize(("fault", "options"), [("throttle", {"rate": 4 * MEGABYTE}), ("hang", {"at": MEGABYTE})])
def test_a_stopped_cycle_leaves_nothing_half_uploaded(builder: Builder, fault: str, options: dict[str, Any]) -> None:
    cloud = builder.cloud()
    cloud.fault(FILE, fault, **options)
    builder.configure()
    build = builder.build(size=SIZE)
    with builder.stay(api_timeout=60.0) as cycle:
        eventually(lambda: builder.in_cloud() and next(iter(builder.in_cloud().values()))["status"] == "saving")
    assert cycle.result["ended"] == "stopped"
    assert [row["build_id"] for row in cycle.result["uploads"]["stopped"]] == [build.id]
    assert builder.in_cloud() == {}
    assert builder.uploads() == []
    assert failures(builder) == 0


def test_what_is_under_way_at_the_deadline_is_finished(builder: Builder) -> None:
    builder.cloud().fault(FILE, "throttle", rate=16 * MEGABYTE)
    builder.configure()
    builder.build(size=SIZE)
    result = builder.run(duration=0.5)
    assert result["ended"] == "deadline"
    assert len(result["uploads"]["done"]) == 1


def test_a_session_that_is_lost_during_an_upload_costs_nothing(builder: Builder, monkeypatch) -> None:
    stores = []

    class Kept(Store):
        def __init__(self, *args, **options) -> None:
            super().__init__(*args, **options)
            stores.append(self)

    monkeypatch.setattr(opening, "Store", Kept)
    cloud = builder.cloud()
    cloud.fault(FILE, "throttle", rate=8 * MEGABYTE)
    builder.configure()
    build = builder.build(size=SIZE)
    with builder.stay() as cycle:
        eventually(lambda: builder.states() == ["uploading"] and builder.uploads()[0].external_id)
        expire_session(builder.site.zookeeper, stores[0])
        eventually(lambda: builder.states() == ["ready"], 30)
    assert [row["upload_id"] for row in cycle.result["uploads"]["done"]] == ["0000000001"]
    (image,) = builder.in_cloud().values()
    assert image["sha256"] == hashlib.sha256(builder.file(build).read_bytes()).hexdigest()


def test_a_record_that_was_taken_away_meanwhile(builder: Builder) -> None:
    builder.cloud().fault(FILE, "throttle", rate=8 * MEGABYTE)
    builder.configure()
    builder.build(size=SIZE)
    with builder.stay() as cycle:
        upload = eventually(lambda: next(iter(u for u in builder.uploads() if u.external_id), None))
        builder.store.images.delete_upload(upload)
        eventually(lambda: cycle.told("upload failed: the record"), 30)
        eventually(lambda: upload.external_id not in builder.in_cloud())


def test_a_tree_that_is_exchanged_ends_the_cycle_and_costs_no_file(builder: Builder) -> None:
    """In the new tree there is no record of the build whose files are here."""
    builder.configure()
    build = builder.build()

    def exchange() -> None:
        with builder.stay() as cycle:
            eventually(lambda: builder.states() == ["ready"], 60)
            builder.site.requestor.put("/nodepool/stackci/site", {"id": "f" * 32})
            eventually(lambda: not cycle.running, 60)

    with pytest.raises(TreeExchanged, match="has changed since the start"):
        exchange()
    assert builder.file(build).exists()
    assert len(builder.in_cloud()) == 1


@pytest.mark.parametrize("how", ["for-reading", "ephemeral"])
def test_records_that_others_do_not_let_be_changed_stop_no_image(builder: Builder, how: str) -> None:
    """Any client may make such builds and uploads; all others go on."""
    builder.configure()
    build = builder.build()
    alien = f"/nodepool/images/alien/builds/{'f' * 32}"
    upload = f"/nodepool/images/{IMAGE}/builds/{build.id}/providers/one/images/0000000007"
    for_reading = [ACL(Permissions.READ, Id("world", "anyone")), ACL(Permissions.ALL, Id("digest", "else:x"))]
    options: dict[str, Any] = {"acl": for_reading} if how == "for-reading" else {"ephemeral": True}
    client = builder.site.requestor.client
    for path, document in (
        (alien, {"state": "ready", "builder_id": "gone", "formats": "raw"}),
        (upload, {"state": "deleting", "external_id": "gone", "external_name": "x"}),
    ):
        client.ensure_path(path.rpartition("/")[0])
        client.create(path, json.dumps(document).encode(), **options)
    with builder.stay() as cycle:
        assert eventually(lambda: all(cycle.told(f"{path} is ignored and not changed") for path in (alien, upload)))
        last = builder.build()
        assert eventually(lambda: ("ready", last.id) in {(one.state, one.build_id) for one in builder.uploads()})
        assert not cycle.told("restarting")
    assert client.exists(alien) and client.exists(upload)
