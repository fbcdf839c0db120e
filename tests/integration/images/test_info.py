# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that tell about images, with records in a real ZooKeeper; ``site.play`` is by Ansible's own command."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.own import OwnDocuments
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.observe_images import (
    ROOTS,
    register_builder,
    view_images,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import (
    BuildNotes,
    Failures,
    build_notes_path,
    upload_notes_path,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    abandoned_builds,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import APPROVED, HAND, REVOKED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.ansible_run import run_alone, run_module
from tests.support.fixtures_zookeeper import eventually
from tests.support.image_views import build_id, config

# Nobody listens there: a module that asked a cloud would fail.
CLOUDS = {
    "clouds": {
        name: {
            "auth": {"auth_url": "http://127.0.0.1:9/v3", "username": "u", "password": "p", "project_name": "x"},
            "image_format": image_format,
        }
        for name, image_format in {"one": "qcow2", "two": "raw"}.items()
    }
}


class Site:
    """A configuration on disk and a tree in ZooKeeper."""

    def __init__(self, folder: Path, store, settings) -> None:
        self.folder, self.store = folder, store
        self.images_dir = folder / "images"
        server = settings.servers[0]
        self.document = {
            "zookeeper-servers": [{"host": server.host, "port": server.port, "chroot": server.chroot}],
            "images-dir": str(self.images_dir),
            "labels": [],
            "diskimages": [{"name": "debian", "rebuild-age": 100}, {"name": "fedora", "pause": True}],
            "providers": [
                {"name": "first", "cloud": "one", "diskimages": [{"name": "debian"}, {"name": "fedora"}]},
                {"name": "second", "cloud": "two", "diskimages": [{"name": "debian"}]},
            ],
        }
        (folder / "clouds.yaml").write_text(json.dumps(CLOUDS), "utf-8")

    def run(self, module, **options):
        return run_alone(module, self._given(options), self.folder).result

    def play(self, module, *, check=False, **options):
        return run_module(module, self._given(options), self.folder, check=check).result

    def _given(self, options):
        (self.folder / "nodepool.yaml").write_text(json.dumps(self.document), "utf-8")
        return {"config": "nodepool.yaml", "clouds_config": "clouds.yaml", **options}

    def builder(self, builder_id="b-us"):
        self.images_dir.mkdir()
        (self.images_dir / "builder_id.txt").write_text(builder_id, "ascii")

    def build(self, number, *, age=0.0, state=BuildState.READY, image="debian", formats=("qcow2", "raw"), **values):
        build = Build(
            id=build_id(number), image=image, builder="host", builder_id="b-us", formats=list(formats), **values
        )
        build.set_state(state, time.time() - age)
        self.store.images.create_build(build)
        return build

    def upload(self, build, provider, *, age=0.0, state=UploadState.READY):
        upload = Upload(image=build.image, build_id=build.id, provider=provider, external_id=f"{provider}-{build.id}")
        upload.set_state(state, time.time() - age)
        self.store.images.create_upload(upload)
        return upload


@pytest.fixture
def site(tmp_path, store, zk_chroot):
    return Site(tmp_path, store, zk_chroot)


def tree(client, path="/"):
    """Every znode with its data."""
    found = {path: client.get(path)[0]}
    for name in client.get_children(path):
        found |= tree(client, f"{path.rstrip('/')}/{name}")
    return found


def test_an_empty_tree(site, zk_client):
    before = tree(zk_client)
    result = site.play("dib_image_info")
    assert [(row["image"], row["due"], row["code"], row["formats"]) for row in result["images"]] == [
        ("debian", True, "no-ready-build", ["qcow2", "raw"]),
        ("fedora", False, "paused", ["qcow2"]),
    ]
    assert (result["changed"], result["builds"], result["builder_id"], result["stale"]) == (False, [], None, [])
    uploads = site.play("image_info", check=True)
    assert [(row["provider"], row["image"], row["code"]) for row in uploads["due"]] == [
        ("first", "debian", "no-ready-build"),
        ("first", "fedora", "no-ready-build"),
        ("second", "debian", "no-ready-build"),
    ]
    assert not site.images_dir.exists()
    assert tree(zk_client) == before


def test_builds_files_flags_and_what_is_due(site, zk_client):
    site.builder()
    old, previous = site.build(1, age=900), site.build(2, age=800)
    current = site.build(3, age=300)
    site.build(4, state=BuildState.DELETING, image="gone")
    for build in (previous, current):
        site.upload(build, "first")
    (site.images_dir / f"debian-{old.id}.qcow2").write_bytes(b"x" * 5000)
    (site.images_dir / f"debian-{old.id}.d").mkdir()
    (site.images_dir / f"gone-{build_id(4)}.raw.md5").write_text("x", "ascii")
    (site.images_dir / "notes.txt").write_text("mine", "ascii")
    zk_client.create("/nodepool/images/debian/request-build")  # as Nodepool's command line does
    zk_client.create("/nodepool/images/debian/pause")
    notes = BuildNotes(Failures().again("no space", time.time() - 60, 0.5), {"raw": 7}, 8.5)
    site.store.own.put(build_notes_path("debian"), notes.document())
    before = tree(zk_client)

    result = site.run("dib_image_info")

    images = {row["image"]: row for row in result["images"]}
    debian = images["debian"]
    assert debian["request_age"] is not None and debian["request_age_text"].startswith("00:00:")
    assert (debian["due"], debian["code"], debian["requested"], debian["paused"]) == (False, "paused", True, True)
    assert (debian["failures"], debian["last_error"], debian["sizes"], debian["seconds"]) == (
        1,
        "no space",
        {"raw": 7},
        8.5,
    )
    assert 300 <= debian["age"] < 400
    assert images["fedora"]["paused_in_config"] is True
    assert images["gone"]["code"] == "removed"
    builds = {row["build_id"]: row for row in result["builds"]}
    assert builds[current.id]["kept"] == "current" and builds[current.id]["providers"] == ["first"]
    assert builds[previous.id]["kept"] == "previous" and builds[previous.id]["age_text"].startswith("00:00:1")
    assert builds[old.id]["deletion"] == "there are two newer ready builds, and no provider needs it"
    assert {file["name"]: file["size"] >= 5000 for file in builds[old.id]["files"]} == {
        f"debian-{old.id}.d": False,
        f"debian-{old.id}.qcow2": True,
    }
    assert [(row["what"], row["build_id"], row["code"]) for row in result["deletions"]] == [
        ("build", old.id, "old"),
        ("files", build_id(4), "asked"),
        ("record", build_id(4), "asked"),
    ]
    assert (result["builder_id"], result["stale"]) == ("b-us", ["debian"])
    assert site.run("dib_image_info", images=["gone"])["images"] == [images["gone"]]
    assert tree(zk_client) == before
    assert len(list(site.images_dir.iterdir())) == 5


def test_uploads_and_what_is_due_where(site, zk_client):
    site.builder()
    builds = [site.build(number, age=500 - 10 * number) for number in (1, 2, 3)]
    for build in builds:
        site.upload(build, "first", age=400 - int(build.id, 16))
    site.upload(builds[0], "second", state=UploadState.FAILED)
    site.upload(builds[2], "elsewhere")
    (site.images_dir / f"debian-{builds[2].id}.raw").write_bytes(b"x")
    assert site.store.images.lock_provider("debian", builds[2].id, "second")
    before = tree(zk_client)

    result = site.run("image_info")

    rows = {(row["build_id"], row["provider"]): row for row in result["uploads"]}
    assert [key for key, row in rows.items() if row["current"]] == [
        (builds[2].id, "elsewhere"),
        (builds[2].id, "first"),
    ]
    first = rows[builds[2].id, "first"]
    assert (first["external_id"], first["state"], first["upload_id"]) == (
        f"first-{builds[2].id}",
        "ready",
        "0000000000",
    )
    assert 470 <= first["build_age"] < 570 and first["stale"]
    assert [(row["provider"], row["build_id"], row["code"]) for row in result["deletions"]] == [
        ("first", builds[0].id, "old"),
        ("second", builds[0].id, "failed"),
    ]
    due = {(row["provider"], row["image"]): row for row in result["due"]}
    assert due["first", "debian"]["code"] == "current"
    assert due["second", "debian"]["code"] == "uploading"
    assert tree(zk_client) == before


def test_what_is_decided_about_builds_and_what_their_test_shows(site):
    site.builder()
    good, bad, newest = builds = [site.build(number, age=500 - 10 * number) for number in (1, 2, 3)]
    for build in builds:
        site.upload(build, "first", age=400 - int(build.id, 16))
    told = "the playbook passed on a canary; compared with build 1: kernel 6.1.0-25 became 6.1.0-26"
    decided = {good.id: (APPROVED, told), bad.id: (REVOKED, "no python"), newest.id: (REVOKED, "no DNS")}
    for build, (state, reason) in decided.items():
        site.store.verdicts.change(
            "debian", build, lambda known, state=state, reason=reason: known.given(state, reason, HAND, 5.0)
        )
    rows = {row["build_id"]: row for row in site.run("image_info")["uploads"]}
    for build, (state, reason) in decided.items():
        assert (rows[build]["used"], rows[build]["current"]) == (state == APPROVED, state == APPROVED)
        assert rows[build]["verdict"] == f"{state} by hand: {reason}"


def test_all_that_a_view_reads_of_our_own_tree_is_loaded(site, monkeypatch):
    read = set()
    entry = OwnDocuments.get, OwnDocuments.unchanging, OwnDocuments.understood
    for method in entry:

        def noted(self, path, *more, method=method, **options):
            read.add(paths.own(path))
            return method(self, path, *more, **options)

        monkeypatch.setattr(OwnDocuments, method.__name__, noted)
    site.upload(site.build(1), "first")
    view_images(site.store, config(), now=time.time(), provider_formats={})
    assert paths.own("image-verdicts/debian") in read
    assert [path for path in sorted(read) if not paths.is_cached(path, ROOTS)] == []


def test_an_upload_that_is_due_and_one_that_failed_a_moment_ago(site):
    site.builder()
    build = site.build(1)
    (site.images_dir / f"debian-{build.id}.raw").write_bytes(b"x")
    due = site.run("image_info", images=["debian"], providers=["second"])["due"]
    assert [(row["due"], row["code"], row["format"], row["build_id"]) for row in due] == [
        (True, "missing", "raw", build.id)
    ]
    failures = Failures().again("no answer", time.time() + 600, 0.5, build=build.id)
    site.store.own.put(upload_notes_path("second", "debian"), failures.document())
    later = site.run("image_info", providers=["second"])["due"][0]
    assert (later["code"], later["failures"], later["last_error"]) == ("backoff", 1, "no answer")


def test_a_provider_that_clouds_yaml_does_not_know_is_told_and_the_rest_goes_on(site):
    site.document["providers"][1]["cloud"] = "three"
    site.build(1)
    result = site.play("image_info")
    assert any("no entry 'three'" in warning for warning in result["warnings"])
    assert {row["provider"]: row["code"] for row in result["due"] if row["image"] == "debian"} == {
        "first": "elsewhere",
        "second": "format-unknown",
    }
    builds = site.run("dib_image_info")
    assert {row["image"]: row["formats_unknown"] for row in builds["images"]} == {"debian": ["second"], "fedora": []}


def test_what_nobody_knows_is_an_error_that_says_what_there_is(site):
    result = site.play("image_info", images=["debain"])
    assert result["failed"]
    assert "images names debain" in result["msg"] and "there are debian, fedora" in result["msg"]
    result = site.run("image_info", providers=["third"])
    assert "providers names third" in result["msg"] and "there are first, second" in result["msg"]
    assert "images names x" in site.run("dib_image_info", images=["x"])["msg"]


def test_znodes_without_a_document_are_told_apart(store, zk_client):
    zk_client.ensure_path(f"/nodepool/images/debian/builds/{build_id(1)}/lock")
    zk_client.ensure_path(f"/nodepool/images/debian/builds/{build_id(2)}")
    zk_client.set(f"/nodepool/images/debian/builds/{build_id(2)}", b"[]")
    eventually(lambda: store.images.without_document("debian") == ([build_id(1)], [build_id(2)]))
    seen = view_images(store, config(), now=1.0, provider_formats={})
    assert seen.images["debian"].empty == {build_id(1)}
    assert seen.images["debian"].unreadable == {build_id(2)}


def test_a_builder_registers_as_nodepools_does(store, zk_client):
    registration = register_builder(store)
    (name,) = zk_client.get_children("/nodepool/components/builder")
    document = json.loads(zk_client.get(f"/nodepool/components/builder/{name}")[0])
    assert (document["kind"], document["state"], document["model_api"]) == ("builder", "running", 0)
    assert name.startswith(document["hostname"])
    registration.unregister()
    assert zk_client.get_children("/nodepool/components/builder") == []


@pytest.mark.parametrize("begins", [True, False])
def test_what_begins_or_ends_while_it_is_looked_at_is_not_taken_for_abandoned(site, store, monkeypatch, begins):
    """Somebody takes the locks and makes the records, or finishes the records and lets go, between two of our reads."""
    images = store.images
    build, real = Build(id=build_id(1), image="debian", builder_id="b-us"), images.builds

    def work():
        lock = images.lock_image("debian")
        images.create_build(build)
        provider = images.lock_provider("debian", build.id, "cloud1")
        return lock, provider, site.upload(build, "cloud1", state=UploadState.UPLOADING)

    held = [] if begins else [work()]

    def meanwhile(image):
        if begins and not held:
            held.append(work())
        seen = real(image), images.uploads(image)
        if not begins:
            for lock in held[0][:2]:
                lock.release()
            eventually(lambda: not images.is_build_locked("debian") and not images.uploading("debian"))
        monkeypatch.setattr(images, "uploads", lambda _image: seen[1])
        return seen[0]

    monkeypatch.setattr(images, "builds", meanwhile)
    seen = view_images(store, config(), now=time.time(), provider_formats={}, builder_id="b-us")
    assert [made.state for made in seen.images["debian"].builds] == ["building"]
    assert len(seen.images["debian"].uploads) == 1
    assert abandoned_builds(seen) == []
    assert plan_deletions(seen) == []
