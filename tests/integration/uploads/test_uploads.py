# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is ready is uploaded: bytes, records, properties, several providers side by side."""

from __future__ import annotations

import hashlib
import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_cycle import run_uploads
from tests.chaos.transaction_log import TransactionLog
from tests.support.image_case import IMAGE, MEGABYTE, Builder, taker

MD5 = "owner_specified.openstack.md5"


def digest(builder, build, image_format="raw") -> str:
    return hashlib.sha256(builder.file(build, image_format).read_bytes()).hexdigest()


def test_a_build_is_uploaded_once(builder: Builder) -> None:
    builder.configure(
        taker("one", diskimages=[{"name": IMAGE, "meta": {"colour": "blue", "os": "here"}}]),
        diskimages=[{"name": IMAGE, "elements": ["x"], "metadata": {"os": "there", "arch": "x86"}}],
    )
    build = builder.build(size=5 * MEGABYTE + 17)
    result = builder.run()
    (row,) = result["uploads"]["done"]
    ((ident, image),) = builder.in_cloud().items()
    assert (image["status"], image["size"], image["sha256"]) == ("active", 5 * MEGABYTE + 17, digest(builder, build))
    assert image["name"].startswith("tiny-1") and image["name"] == row["external_name"]
    assert (row["external_id"], row["bytes"], row["compared"]) == (ident, 5 * MEGABYTE + 17, ["size", "md5"])
    assert result["changed"] and result["bytes"] == row["bytes"] and row["seconds"] > 0
    (upload,) = builder.uploads()
    assert upload.to_document() == {
        "state": "ready",
        "state_time": upload.state_time,
        "external_id": ident,
        "external_name": image["name"],
        "format": "raw",
        "username": "zuul",
        "python_path": "auto",
        "shell_type": None,
    }
    assert upload.id == row["upload_id"] == "0000000001"
    assert not builder.store.images.is_provider_locked(IMAGE, build.id, "one")
    again = builder.run()
    assert (again["changed"], again["uploads"]["done"]) == (False, [])
    assert set(again["api_calls"]["one"]) <= {"POST /auth/tokens", "GET /auth/catalog", "GET /images"}
    assert again["api_calls"]["one"]["GET /images"] == {"200": 1}


def test_tags_are_set_on_the_image(builder: Builder) -> None:
    builder.configure(
        taker("one", diskimages=[{"name": IMAGE, "meta": {"tags": ["ci", "zuul"], "colour": "blue"}}]),
        taker("two", diskimages=[{"name": IMAGE}]),
        diskimages=[{"name": IMAGE, "elements": ["x"], "metadata": {"tags": ["all"]}}],
    )
    builder.build()
    builder.run()
    (one,) = builder.in_cloud("one").values()
    (two,) = builder.in_cloud("two").values()
    assert (one["tags"], two["tags"]) == (["ci", "zuul"], ["all"])


def test_a_cloud_that_converts_images_gets_its_image_and_says_so_once(builder: Builder) -> None:
    builder.cloud("one", image_format="qcow2").settings(images_become="raw")
    builder.configure(taker("one", IMAGE, "other"), images=(IMAGE, "other"))
    for image in (IMAGE, "other"):
        builder.build(image, formats=("qcow2",))
    lines: list[str] = []
    result = run_uploads(builder.options(), progress=lines.append)
    assert builder.states() == ["ready"]
    assert [row["compared"] for row in result["uploads"]["done"]] == [[], []]
    assert len([line for line in lines if "converted the image from qcow2 to raw" in line]) == 1


@pytest.mark.parametrize("allowed", [False, True])
def test_a_cloud_that_writes_images_anew_in_their_format(builder: Builder, allowed: bool) -> None:
    builder.cloud("one", image_format="qcow2", image_api_converts=allowed).settings(images_rewritten=True)
    builder.configure()
    builder.build(formats=("qcow2",))
    lines: list[str] = []
    result = run_uploads(builder.options(), progress=lines.append)
    if allowed:
        assert [row["compared"] for row in result["uploads"]["done"]] == [[]]
        assert builder.states() == ["ready"]
        assert len([line for line in lines if "converted the image (qcow2)" in line]) == 1
    else:
        (row,) = result["uploads"]["failed"]
        assert "set image_api_converts to true in clouds.yaml" in row["error"]
        assert builder.in_cloud() == {}


@pytest.mark.parametrize("entry", [{}, {"image_api_use_import": True}])
def test_a_cloud_that_takes_images_by_import_only(builder: Builder, entry) -> None:
    cloud = builder.cloud("one", **entry)
    cloud.fault("PUT /images/{id}/file", "status", status=403, message="policy forbids it")
    builder.configure(taker("one"))
    build = builder.build(size=5 * MEGABYTE + 17)
    result = builder.run()
    ((_ident, image),) = builder.in_cloud().items()
    assert (image["status"], image["sha256"]) == ("active", digest(builder, build))
    assert builder.states() == ["ready"]
    calls = result["api_calls"]["one"]
    assert calls["POST /images/{id}/import"] == {"202": 1}
    assert ("PUT /images/{id}/file" in calls) is not bool(entry)


def test_the_record_says_from_the_start_how_to_log_in_as_nodepools_does(builder: Builder) -> None:
    builder.configure(taker("one"))
    builder.build()
    builder.run()
    log = TransactionLog(builder.site.zookeeper.directory / "data", builder.site.chroot)
    written = [change.data for change in log.changes() if change.path.endswith("/images/0000000001")]
    documents = [json.loads(data) for data in written if data]
    assert [one["state"] for one in documents] == ["uploading", "uploading", "ready"]
    login = ("username", "python_path", "shell_type")
    assert [tuple(one[key] for key in login) for one in documents] == [("zuul", "auto", None)] * 3


def test_the_properties_of_an_image(builder: Builder) -> None:
    builder.configure(
        taker("one", diskimages=[{"name": IMAGE, "meta": {"colour": "blue", "os": "here"}}]),
        diskimages=[{"name": IMAGE, "elements": ["x"], "metadata": {"os": "there", "arch": "x86"}}],
    )
    build = builder.build()
    builder.run()
    client = builder.options().client(builder.options().load().providers["one"])
    (image,) = client.images.find({"nodepool_build_id": build.id})
    client.close()
    wanted = {
        "colour": "blue",
        "os": "here",
        "arch": "x86",
        "visibility": "private",
        "disk_format": "raw",
        "container_format": "bare",
        "nodepool_build_id": build.id,
        "nodepool_upload_id": "0000000001",
        "nodepool_provider_name": "one",
        "stackci_site": builder.site.requestor.read("/nodepool/stackci/site")["id"],
        MD5: hashlib.md5(builder.file(build).read_bytes()).hexdigest(),
    }
    assert {key: image.properties.get(key) for key in wanted} == wanted


def test_four_providers_side_by_side_each_in_its_format(builder: Builder) -> None:
    names = ["one", "two", "three", "four"]
    for name, image_format in zip(names, ["raw", "qcow2", "vhd", "raw"], strict=True):
        builder.cloud(name, image_format).fault("PUT /images/{id}/file", "slow", seconds=1.0)
    builder.configure(*(taker(name) for name in names))
    build = builder.build(formats=("raw", "qcow2", "vhd"))
    result = builder.run()
    assert {row["provider"]: row["format"] for row in result["uploads"]["done"]} == {
        "one": "raw",
        "two": "qcow2",
        "three": "vhd",
        "four": "raw",
    }
    for name, image_format in zip(names, ["raw", "qcow2", "vhd", "raw"], strict=True):
        ((_ident, image),) = builder.in_cloud(name).items()
        assert image["sha256"] == digest(builder, build, image_format)
    puts = [builder.site.clouds[name].calls("PUT /images/{id}/file")[0] for name in names]
    assert max(put["start"] for put in puts) < min(put["end"] for put in puts), "they were under way together"


def test_a_file_without_checksums_beside_it(builder: Builder) -> None:
    builder.configure()
    build = builder.build(checksums=False)
    (row,) = builder.run()["uploads"]["done"]
    assert row["compared"] == ["size", "md5"]
    (image,) = builder.in_cloud().values()
    assert image["sha256"] == digest(builder, build)


def test_a_file_that_is_not_what_was_built(builder: Builder) -> None:
    builder.configure()
    build = builder.build()
    path = builder.file(build)
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    (row,) = builder.run()["uploads"]["failed"]
    assert f"{path} was changed after its build: its md5 is " in row["error"]
    assert builder.in_cloud() == {}


def test_two_images_and_names_as_configured(builder: Builder) -> None:
    builder.configure(
        taker("one", "tiny", "huge", image_name_format="ci-{image_name}-{upload_id}"), images=("tiny", "huge")
    )
    builder.build("tiny")
    builder.build("huge")
    builder.run()
    assert sorted(image["name"] for image in builder.in_cloud().values()) == [
        "ci-huge-0000000001",
        "ci-tiny-0000000001",
    ]


def test_a_paused_image_is_not_uploaded_unless_forced(builder: Builder) -> None:
    builder.cloud("two")
    builder.configure(taker("one", diskimages=[{"name": IMAGE, "pause": True}]), taker("two"))
    builder.build()
    result = builder.run()
    assert [row["provider"] for row in result["uploads"]["done"]] == ["two"]
    assert [(row["provider"], row["code"]) for row in result["waiting"]] == [("one", "paused")]
    result = builder.run(force=True, provider="one")
    assert [row["provider"] for row in result["uploads"]["done"]] == ["one"]


def test_an_older_build_is_uploaded_when_it_is_named(builder: Builder) -> None:
    builder.configure()
    old, new = builder.build(), builder.build()
    builder.run()
    assert [upload.build_id for upload in builder.uploads()] == [new.id]
    builder.run(image=IMAGE, build_id=old.id)
    assert {upload.build_id for upload in builder.uploads()} == {old.id, new.id}
    # What counts is the age of the build, not of its upload.
    assert builder.store.images.newest_ready(IMAGE, "one").build_id == new.id
    assert builder.run()["changed"] is False


def test_force_uploads_once_more_what_is_there(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    (before,) = builder.uploads()
    result = builder.run(image=IMAGE, force=True)
    (row,) = result["uploads"]["done"]
    # It takes the place of the one before.
    (after,) = builder.uploads()
    assert (after.id, after.state) == (row["upload_id"], "ready") and after.id > before.id
    assert set(builder.in_cloud()) == {after.external_id}


@pytest.mark.parametrize("chosen", [{"image": "two"}, {"provider": "two"}])
def test_only_what_was_chosen(builder: Builder, chosen: dict[str, str]) -> None:
    builder.cloud("two")
    builder.configure(taker("one", "one", "two"), taker("two", "one", "two"), images=("one", "two"))
    builder.build("one")
    builder.build("two")
    done = builder.run(**chosen)["uploads"]["done"]
    ((key, value),) = chosen.items()
    assert len(done) == 2 and {row[key] for row in done} == {value}


def test_files_of_another_builder_are_left_to_it(builder: Builder) -> None:
    builder.configure()
    build = builder.build()
    (builder.images_dir / "builder_id.txt").write_text("somebody-else")
    for path in builder.images_dir.glob(f"{IMAGE}-{build.id}*"):
        path.rmdir() if path.is_dir() else path.unlink()
    result = builder.run()
    assert result["uploads"]["done"] == []
    assert [(row["code"], row["reason"]) for row in result["waiting"]] == [
        ("elsewhere", "its files are on the builder builder.example; no cycle of that builder runs now")
    ]
