# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files become images of the simulated cloud, over HTTP; and what goes wrong on the way."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import login
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.disk_file import DiskFile
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ImageSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudError,
    CloudImageBroken,
    CloudUnavailable,
    ImageFileError,
)
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud, default_cloud

FILE = "PUT /images/{id}/file"
SIZE = 24 << 20
"""More than fits into the buffers of a connection."""
MARKS = {"nodepool_build_id": "b1", "nodepool_upload_id": "0000000001", "nodepool_provider_name": "p1"}
SPEC = ImageSpec("tiny-1", "raw", {**MARKS, "min_disk": "2", "purpose": "test"})


@pytest.fixture(scope="module")
def running() -> Iterator[SimCloud]:
    with SimCloud(default_cloud("one")) as sim:
        yield sim


@pytest.fixture
def sim(running: SimCloud) -> Iterator[SimCloud]:
    running.clear_faults("one")
    running.clear_calls("one")
    yield running
    running.clear_faults("one")


@pytest.fixture
def connect(sim: SimCloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., CloudClient]]:
    monkeypatch.setattr(login, "_logins", {})
    made: list[CloudClient] = []

    def make(**options: Any) -> CloudClient:
        made.append(CloudClient(Provider("p1", "one", rate=0.0), clouds_config=str(sim.clouds_yaml), **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def client(connect: Callable[..., CloudClient]) -> CloudClient:
    return connect()


@pytest.fixture
def file(tmp_path: Path) -> DiskFile:
    path = tmp_path / "tiny.raw"
    path.write_bytes(os.urandom(SIZE))
    return DiskFile(str(path))


class Stopped(Exception):
    """Somebody wants it to end."""


def soon(seconds: float = 30.0) -> float:
    return time.monotonic() + seconds


def stored(sim: SimCloud, image_id: str) -> dict[str, Any]:
    return dict(sim.state("one")["images"][image_id])


def test_a_file_becomes_an_image(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    image_id = client.images.create(SPEC)
    assert client.images.get(image_id).status == "queued"
    image = client.images.fill(image_id, file, soon())
    assert (image.status, image.size, image.name) == ("active", SIZE, "tiny-1")
    assert stored(sim, image_id)["sha256"] == file.digest("sha256")
    assert image.properties["purpose"] == "test"
    assert client.images.verify(image, file, {"md5": file.digest("md5")}) == ["size", "md5"]
    assert client.images.verify(image, file, {}) == ["size", "md5"]
    (call,) = [call for call in sim.calls("one") if call["kind"] == FILE]
    assert call["status"] == 204
    assert [found.id for found in client.images.find(MARKS)] == [image_id]
    assert client.images.find({**MARKS, "nodepool_upload_id": "0000000002"}) == []
    assert client.images.delete(image_id) is True
    assert client.images.delete(image_id) is False
    assert client.images.get(image_id) is None


def test_another_checksum_or_size_is_noticed(client: CloudClient, file: DiskFile, tmp_path: Path) -> None:
    image = client.images.fill(client.images.create(SPEC), file, soon())
    other = tmp_path / "other.raw"
    other.write_bytes(os.urandom(SIZE))
    another = DiskFile(str(other))
    with pytest.raises(CloudImageBroken, match=r"has the md5 .* but .*other\.raw has "):
        client.images.verify(image, another, {"md5": another.digest("md5") or ""})
    other.write_bytes(b"x")
    with pytest.raises(CloudImageBroken, match=rf"has {SIZE} bytes, but .*other\.raw has 1"):
        client.images.verify(image, DiskFile(str(other)), {})


def test_a_reset_in_the_middle_leaves_the_image_empty(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    sim.fault("one", FILE, "reset", at=SIZE // 2)
    image_id = client.images.create(SPEC)
    with pytest.raises(CloudUnavailable, match="the connection broke"):
        client.images.fill(image_id, file, soon())
    assert file.handed_out < SIZE
    assert eventually(lambda: stored(sim, image_id)["status"] == "queued")


@pytest.mark.parametrize("fault", ["reset_after", "status_after"])
def test_a_lost_answer_to_all_of_it_is_no_failure(
    sim: SimCloud, client: CloudClient, file: DiskFile, fault: str
) -> None:
    sim.fault("one", FILE, fault, status=502)
    image = client.images.fill(client.images.create(SPEC), file, soon())
    assert image.status == "active"
    assert stored(sim, image.id)["sha256"] == file.digest("sha256")


@pytest.mark.parametrize("at", [0, SIZE // 2])
def test_a_refusal_in_the_middle_is_told_as_such(sim: SimCloud, client: CloudClient, file: DiskFile, at: int) -> None:
    sim.fault("one", FILE, "status", status=503, at=at, message="no space in the store")
    with pytest.raises(CloudUnavailable, match=r"503.*no space in the store"):
        client.images.fill(client.images.create(SPEC), file, soon())


def test_a_cloud_that_takes_nothing_more(sim: SimCloud, connect: Callable[..., CloudClient], file: DiskFile) -> None:
    sim.fault("one", FILE, "hang", at=SIZE // 4)
    client = connect(read_timeout=0.2)
    image_id = client.images.create(SPEC)
    with pytest.raises(CloudUnavailable, match=r"no answer in time .*the server accepted no data for 0\.4 s"):
        client.images.fill(image_id, file, soon(10_000.0))
    # Such a cloud does not even notice that we are gone; it can be cleaned all the same.
    assert stored(sim, image_id)["status"] == "saving"
    assert client.images.delete(image_id) is True


def test_a_slow_cloud_is_waited_for_up_to_the_deadline(
    sim: SimCloud, connect: Callable[..., CloudClient], file: DiskFile
) -> None:
    sim.fault("one", FILE, "throttle", rate=8 << 20, count=1)
    client = connect(read_timeout=1.0, total_timeout=1.0)
    with pytest.raises(CloudUnavailable, match=r"no complete answer within (2|2\.0\d) s"):
        client.images.fill(client.images.create(SPEC), file, soon(2.01))
    sim.fault("one", FILE, "throttle", rate=16 << 20)
    # Longer than any other call may take.
    assert client.images.fill(client.images.create(SPEC), file, soon()).status == "active"


def test_an_answer_that_takes_longer_than_the_silence_of_other_calls(
    sim: SimCloud, connect: Callable[..., CloudClient], file: DiskFile
) -> None:
    sim.fault("one", FILE, "slow", seconds=1.0)
    client = connect(read_timeout=0.6, total_timeout=0.6)
    assert client.images.fill(client.images.create(SPEC), file, soon()).status == "active"


def test_an_image_deleted_meanwhile(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    sim.fault("one", FILE, "throttle", rate=48 << 20)
    image_id = client.images.create(SPEC)
    outcome: list[BaseException] = []

    def fill() -> None:
        try:
            client.images.fill(image_id, file, soon())
        except CloudError as error:
            outcome.append(error)

    thread = threading.Thread(target=fill)
    thread.start()
    eventually(lambda: stored(sim, image_id)["status"] == "saving")
    assert client.images.delete(image_id)
    thread.join(20)
    assert "410" in str(outcome[0])


def test_a_token_that_would_not_last_is_renewed(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    image_id = client.images.create(SPEC)
    client.images.fill(image_id, file, soon(7200))
    assert sim.counts("one")["by_kind"]["POST /auth/tokens"] == 2


def test_a_token_that_is_not_accepted_any_more(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    image_id = client.images.create(SPEC)
    sim.revoke_tokens("one")
    assert client.images.fill(image_id, file, soon()).size == SIZE
    assert stored(sim, image_id)["sha256"] == file.digest("sha256")


def test_whoever_watches_can_end_it(client: CloudClient, tmp_path: Path) -> None:
    path = tmp_path / "tiny.raw"
    path.write_bytes(os.urandom(SIZE))

    def stop(sent: int) -> None:
        if sent > SIZE // 2:
            raise Stopped

    image_id = client.images.create(SPEC)
    with pytest.raises(Stopped):
        client.images.fill(image_id, DiskFile(str(path), stop), soon())
    assert eventually(lambda: client.images.get(image_id).status == "queued")
    assert client.images.fill(image_id, DiskFile(str(path)), soon()).status == "active"


def test_a_file_that_cannot_be_read_is_no_fault_of_the_cloud(client: CloudClient, file: DiskFile) -> None:
    os.unlink(file.path)
    with pytest.raises(ImageFileError, match=r"tiny\.raw cannot be read"):
        client.images.fill(client.images.create(SPEC), file, soon())


def test_what_openstacksdk_would_make_of_the_same_file(sim: SimCloud, client: CloudClient, file: DiskFile) -> None:
    """The documents of both, but for what differs from image to image."""
    md5, sha256 = file.digest("md5"), file.digest("sha256")
    connection = openstack.connection.Connection(
        config=openstack.config.OpenStackConfig(config_files=[str(sim.clouds_yaml)], load_envvars=False).get_one("one")
    )
    theirs = connection.create_image(
        "tiny-1", filename=file.path, md5=md5, sha256=sha256, is_public=False, disk_format="raw", wait=True,
        allow_duplicates=True, **MARKS, min_disk="2", purpose="test",
    )  # fmt: skip
    hashes = {
        "owner_specified.openstack.md5": md5,
        "owner_specified.openstack.sha256": sha256,
        "owner_specified.openstack.object": "images/tiny-1",
    }
    ours = client.images.create(ImageSpec("tiny-1", "raw", {**SPEC.properties, **hashes}))
    client.images.fill(ours, file, soon())
    first = connection.image.get(f"/images/{theirs.id}").json()
    second = connection.image.get(f"/images/{ours}").json()
    own = ("id", "created_at", "updated_at", "self", "file")
    assert {k: v for k, v in second.items() if k not in own} == {k: v for k, v in first.items() if k not in own}


def test_openstacksdk_uploads_by_tasks_to_the_same_cloud(sim: SimCloud, connect, file: DiskFile) -> None:
    """Both make the same image, in the same way: the object is gone afterwards."""
    sim.settings("one", object_store=True)
    configs = openstack.config.OpenStackConfig(config_files=[str(sim.clouds_yaml)], load_envvars=False)
    connection = openstack.connection.Connection(config=configs.get_one("one", image_api_use_tasks=True))
    theirs = connection.create_image(
        "tiny-1", filename=file.path, is_public=False, disk_format="raw", wait=True, timeout=60, allow_duplicates=True,
        **MARKS, min_disk=2, purpose="test",
    )  # fmt: skip
    client = connect()
    client.images.uses_tasks = True
    ident = client.images.import_file(SPEC, file, "nodepool-place", soon(), lambda: None)
    ours = client.images.describe(ident, SPEC)
    assert ours.properties["purpose"] == "test" and ours.properties["nodepool_build_id"] == "b1"
    first, second = (connection.image.get(f"/images/{one}").json() for one in (theirs.id, ident))
    compared = ("name", "status", "size", "checksum", "visibility", "min_disk", "purpose", *MARKS)
    assert {key: first.get(key) for key in compared} == {key: second.get(key) for key in compared}
    assert [image.id for image in client.images.imported("nodepool-place")] == [ident]
    assert sim.state("one")["objects"] == {}
    sim.settings("one", object_store=False)
