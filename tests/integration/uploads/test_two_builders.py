# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two builders of one tree: what the other one makes and lists is its own, and nobody works under its name."""

from __future__ import annotations

import json
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_identity import (
    BuilderElsewhere,
    live_builders,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import builder_note_path
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import UploadState
from tests.support.ansible_run import COLLECTIONS, MODULES, environment
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker
from tests.support.image_process import UploadProcess, arguments
from tests.support.launcher_case import Site

FILE = "PUT /images/{id}/file"
SESSION = 2.0


@pytest.fixture
def other(builder: Builder) -> Iterator[Builder]:
    """Another builder on the same tree, with an images-dir of its own and the same cloud."""
    builder.cloud()
    folder = builder.site.folder / "other"
    folder.mkdir()
    site = Site(folder, builder.site.zookeeper, builder.site.chroot, builder.site.bank)
    site.use_cloud(builder.site.cloud, image_format="raw")
    made = Builder(site)
    yield made
    made.close()
    site.close()


def test_a_dead_builders_upload_goes_as_soon_as_its_lock_is_free(builder: Builder, other: Builder) -> None:
    builder.configure()
    other.configure(zookeeper_timeout=SESSION)
    other.build(size=24 * MEGABYTE)
    cloud = builder.site.cloud
    cloud.fault(FILE, "hang", count=1, at=12 * MEGABYTE)
    with UploadProcess(other, until="deadline") as process:
        eventually(lambda: [image for image in builder.in_cloud().values() if image["status"] == "saving"], 40.0)
        assert builder.run(until="deadline", duration=1.0)["uploads"]["deleted"] == [], "it is under way"
        process.kill()
    cloud.clear_faults()
    (upload,) = builder.uploads()
    eventually(lambda: not builder.store.images.uploading(IMAGE), 30.0)
    (row,) = builder.run()["uploads"]["deleted"]
    assert (row["upload_id"], row["code"]) == (upload.id, "abandoned")
    assert builder.in_cloud() == {} and builder.uploads() == []


def test_a_builder_with_a_shorter_list_leaves_what_the_other_one_lists(builder: Builder, other: Builder) -> None:
    both = taker("one", IMAGE, "extra")
    other.configure(both, images=(IMAGE, "extra"))
    builder.configure()
    build = other.build("extra")
    with other.stay() as cycle:
        eventually(lambda: other.states(image="extra") == ["ready"], 30.0)
        assert builder.run()["changed"] is False
        assert cycle.running
    assert builder.run()["changed"] is False, "it may run by a schedule"
    assert len(builder.in_cloud()) == 1
    builder.store.own.delete(builder_note_path(other.builder_id))
    builder.run()
    assert builder.in_cloud() == {} and builder.uploads(image="extra") == []
    assert other.file(build).exists(), "its files are removed by the builder that has them"


def test_a_copy_of_a_builder_is_refused_while_the_original_lives(builder: Builder, other: Builder) -> None:
    builder.configure()
    builder.build()
    shutil.rmtree(other.images_dir)
    shutil.copytree(builder.images_dir, other.images_dir)
    other.configure(zookeeper_timeout=SESSION)
    with builder.stay() as cycle:
        eventually(lambda: builder.states() == ["ready"], 30.0)
        with pytest.raises(BuilderElsewhere, match=r"is alive on .* with images-dir .*builder_id.txt is a copy"):
            other.run()
        assert cycle.running
        eventually(lambda: len(live_builders(builder.store)) == 1, 30.0)
    assert other.run()["changed"] is False


def test_the_same_directory_is_refused_on_another_host(builder: Builder) -> None:
    """A process with another host name, as where images-dir is on a shared disk."""
    apart = ["unshare", "--uts", "sh", "-c"]
    if subprocess.run([*apart, "hostname elsewhere"], check=False, capture_output=True).returncode:
        pytest.skip("a host name of its own is not permitted here")
    builder.configure(zookeeper_timeout=SESSION)
    builder.build()
    file = builder.site.folder / "elsewhere.json"
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments(builder, until="settled")}), encoding="utf-8")
    module = shlex.join([sys.executable, "-m", f"{MODULES}.image_upload", str(file)])
    variables = {**environment(builder.site.folder), "PYTHONPATH": str(COLLECTIONS)}
    with builder.stay():
        eventually(lambda: builder.states() == ["ready"], 30.0)
        ran = subprocess.run(
            [*apart, f"hostname elsewhere && exec {module}"], env=variables, check=False, capture_output=True, text=True
        )
    said = json.loads(ran.stdout)
    assert said["failed"] and f"builder {builder.builder_id} is alive on {socket.gethostname()}" in said["msg"], said
    assert "this one, on elsewhere with" in said["msg"]


def test_an_upload_whose_lock_cannot_be_had_holds_up_no_other(builder: Builder) -> None:
    """Two uploads that a dead builder left; the lock of one of them is held by somebody."""
    builder.configure(taker("one"), taker("two"))
    build = builder.build()
    builder.run()
    for name in ("one", "two"):
        (upload,) = builder.uploads(name)
        upload.set_state(UploadState.UPLOADING, 1.0)
        builder.store.images.write_upload(upload)
    held = builder.store.images.lock_provider(IMAGE, build.id, "one")
    assert held is not None
    with builder.stay() as cycle:
        eventually(lambda: builder.states("two") == ["ready"], 40.0)
    assert [row["provider"] for row in cycle.result["uploads"]["adopted"]] == ["two"]
    assert builder.states("one") == ["uploading"]
    held.release()
    eventually(lambda: not builder.store.images.uploading(IMAGE), 30.0)
    assert [row["provider"] for row in builder.run()["uploads"]["adopted"]] == ["one"]
