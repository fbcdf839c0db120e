# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 in the middle, and ZooKeeper going away: the next cycle leaves nothing of it but what is whole."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Build
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker
from tests.support.image_process import UploadProcess, run_module
from tests.support.launcher_case import Cloud, CloudBank, Site
from tests.support.zookeeper_server import ZooKeeperServer

FILE = "PUT /images/{id}/file"
SIZE = 24 * MEGABYTE
START_SECONDS = 40.0
"""How long a process may need until it works, on a busy machine."""
SESSION = 1000.0
"""Longer than any test may take: whoever works after a death does not wait for the end of its session."""

Moment = Callable[[Builder], object]


def one_image(builder: Builder, build) -> None:
    """Exactly one good image, and a record that says so."""
    ((ident, image),) = builder.in_cloud().items()
    assert image["status"] == "active"
    assert image["sha256"] == hashlib.sha256(builder.file(build).read_bytes()).hexdigest()
    (upload,) = builder.uploads()
    assert (upload.state, upload.external_id) == ("ready", ident)


def put_began(builder: Builder) -> object:
    return [image for image in builder.in_cloud().values() if image["status"] == "saving"]


def made(builder: Builder) -> object:
    return builder.in_cloud()


def recorded(builder: Builder) -> object:
    return builder.uploads()


def hooked(builder: Builder) -> object:
    return (builder.site.folder / "hook.began").exists()


@pytest.mark.parametrize(
    ("fault", "moment"),
    [
        (("POST /images", "hang", {}), recorded),
        (("POST /images", "hang_after", {}), made),
        ((FILE, "hang", {"at": 0}), made),
        ((FILE, "hang", {"at": SIZE // 2}), put_began),
        (None, hooked),
    ],
    ids=["before the image", "after the image", "before the bytes", "half way", "in the hook"],
)
def test_a_killed_upload_is_cleaned_and_done_again(builder: Builder, fault, moment: Moment) -> None:
    cloud = builder.cloud()
    hook = builder.site.folder / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {hook}.began\ntest -e {hook}.done || sleep 5\n")
    hook.chmod(0o755)
    builder.configure(taker("one", post_upload_hook=str(hook)), zookeeper_timeout=SESSION)
    build = builder.build(size=SIZE)
    if fault is not None:
        kind, name, options = fault
        cloud.fault(kind, name, count=1, **options)
        Path(f"{hook}.done").touch()
    with UploadProcess(builder, until="deadline") as process:
        eventually(lambda: moment(builder), START_SECONDS)
        process.kill()
    cloud.clear_faults()
    Path(f"{hook}.done").touch()
    eventually(lambda: builder.states() == ["uploading"])
    result = run_module(builder)
    assert [row["build_id"] for row in result["uploads"]["done"]] == [build.id]
    one_image(builder, build)


def killed_when_whole(builder: Builder, cloud: Cloud | None = None, image_format: str = "raw") -> Build:
    """A build all of whose bytes are in the cloud, and an upload that did not live to see it."""
    cloud = cloud or builder.cloud()
    builder.configure()
    build = builder.build(size=SIZE, formats=(image_format,))
    cloud.fault("GET /images/{id}", "hang", count=1)
    with UploadProcess(builder, until="deadline") as process:
        eventually(lambda: [image for image in builder.in_cloud().values() if image["status"] == "active"], 40)
        process.kill()
    cloud.clear_faults()
    cloud.clear_calls()
    eventually(lambda: builder.states() == ["uploading"])
    return build


@pytest.mark.parametrize("with_id", [True, False])
def test_a_killed_upload_that_is_whole_is_adopted(builder: Builder, with_id: bool) -> None:
    build = killed_when_whole(builder)
    (record,) = builder.uploads()
    (ident,) = builder.in_cloud()
    if not with_id:
        record.external_id = None
        builder.store.images.write_upload(record)
    result = run_module(builder)
    assert (result["uploads"]["done"], result["uploads"]["deleted"], result["changed"]) == ([], [], True)
    (row,) = result["uploads"]["adopted"]
    assert (row["upload_id"], row["build_id"], row["external_id"]) == (record.id, build.id, ident)
    one_image(builder, build)
    (upload,) = builder.uploads()
    (image,) = builder.in_cloud().values()
    assert (upload.id, upload.external_name, upload.format) == (record.id, image["name"], "raw")
    assert (upload.username, upload.python_path) == (build.username, build.python_path)
    calls = {call["kind"] for call in builder.site.clouds["one"].calls()}
    assert not calls & {FILE, "POST /images", "DELETE /images/{id}"}
    assert builder.run()["changed"] is False


@pytest.mark.parametrize(
    ("entry", "setting"), [({}, {"images_become": "raw"}), ({"image_api_converts": True}, {"images_rewritten": True})]
)
def test_a_killed_upload_that_the_cloud_has_converted_is_adopted(builder: Builder, entry, setting) -> None:
    cloud = builder.cloud("one", image_format="qcow2", **entry)
    cloud.settings(**setting)
    build = killed_when_whole(builder, cloud, "qcow2")
    (ident,) = builder.in_cloud()
    result = run_module(builder)
    assert [(row["build_id"], row["external_id"]) for row in result["uploads"]["adopted"]] == [(build.id, ident)]
    (upload,) = builder.uploads()
    assert (upload.state, upload.external_id, upload.format) == ("ready", ident, "qcow2")
    assert not [call for call in cloud.calls() if call["kind"] in (FILE, "DELETE /images/{id}")]


def test_a_killed_upload_that_is_not_what_the_file_is_goes(builder: Builder) -> None:
    build = killed_when_whole(builder)
    (record,) = builder.uploads()
    data = b"something else" + builder.file(build).read_bytes()[14:]
    builder.file(build).write_bytes(data)
    for algorithm in ("md5", "sha256"):
        Path(f"{builder.file(build)}.{algorithm}").write_text(hashlib.new(algorithm, data).hexdigest())
    result = run_module(builder)
    assert result["uploads"]["adopted"] == []
    assert [row["upload_id"] for row in result["uploads"]["deleted"]] == [record.id]
    one_image(builder, build)


def test_a_killed_upload_of_an_older_build_is_not_adopted(builder: Builder) -> None:
    """New nodes would start from it: it would have become ready last."""
    killed_when_whole(builder)
    newest = builder.build(size=MEGABYTE)
    result = run_module(builder)
    assert result["uploads"]["adopted"] == []
    one_image(builder, newest)


def test_whoever_was_taken_for_dead_leaves_what_was_adopted(own_builder: Builder) -> None:
    """It hangs without its session; somebody adopts what it has sent; then it comes back."""
    builder = own_builder
    cloud = builder.cloud()
    builder.configure()
    build = builder.build(size=SIZE)
    cloud.fault("GET /images/{id}", "hang", count=1)
    with builder.stay(api_timeout=8.0) as cycle:
        eventually(lambda: [image for image in builder.in_cloud().values() if image["status"] == "active"])
        (ident,) = builder.in_cloud()
        (upload,) = builder.uploads()
        upload.external_id = ident
        upload.set_state("ready", time.time())
        builder.store.images.write_upload(upload)
        eventually(lambda: cycle.told("changed by another client"), 30)
    one_image(builder, build)


def test_many_kills_at_any_moment(builder: Builder) -> None:
    """Wherever they strike, at the end there is one image for each record, and a good one."""
    cloud = builder.cloud()
    cloud.fault(FILE, "throttle", rate=48 * MEGABYTE)
    builder.configure()
    build = builder.build(size=8 * MEGABYTE)
    for number in range(6):
        cloud.clear_calls()
        with UploadProcess(builder, until="deadline") as process:
            # There is always something to do: as soon as a build is there, the next one is made.
            eventually(cloud.calls, START_SECONDS)
            time.sleep(0.05 * number)
            process.kill()
        newest = builder.store.images.newest_ready(IMAGE, "one")
        if newest is not None and newest.build_id == build.id:
            build = builder.build(size=8 * MEGABYTE)
    run_module(builder)
    assert set(builder.states()) == {"ready"}
    assert {upload.external_id for upload in builder.uploads()} == set(builder.in_cloud())
    assert all(image["status"] == "active" for image in builder.in_cloud().values())


def test_a_signal_ends_it_in_good_order(builder: Builder) -> None:
    builder.cloud().fault(FILE, "throttle", rate=4 * MEGABYTE)
    builder.configure()
    builder.build(size=SIZE)
    with UploadProcess(builder) as process:
        eventually(lambda: put_began(builder), START_SECONDS)
        process.terminate()
        result = process.result(30)
    assert result["ended"] == "stopped"
    assert builder.in_cloud() == {}
    eventually(lambda: not builder.uploads())  # this process reads of it a moment later


@pytest.fixture
def own_builder(bank: CloudBank, tmp_path: Path) -> Iterator[Builder]:
    """With a ZooKeeper of its own, that may be stopped."""
    with ZooKeeperServer(tick_ms=100) as server:
        site = Site(tmp_path, server, "/own", bank)
        made = Builder(site)
        yield made
        made.close()
        site.close()


def test_zookeeper_restarts_during_an_upload(own_builder: Builder) -> None:
    builder = own_builder
    builder.cloud().fault(FILE, "throttle", rate=6 * MEGABYTE)
    builder.configure()
    build = builder.build(size=SIZE)
    with builder.stay() as cycle:
        eventually(lambda: put_began(builder))
        builder.site.zookeeper.kill()
        eventually(lambda: not put_began(builder), 30)
        builder.site.zookeeper.start()
        eventually(lambda: builder.states() == ["ready"], 30)
    one_image(builder, build)
    uploads = cycle.result["uploads"]
    # When ZooKeeper is away for longer than the upload has patience, its image is found to be whole afterwards.
    assert len(uploads["done"] + uploads["adopted"]) == 1, uploads
    assert builder.run()["changed"] is False
    assert not builder.store.images.is_provider_locked(IMAGE, build.id, "one")
