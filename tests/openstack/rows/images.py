# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder: disk images built by diskimage-builder, uploaded, kept, taken away."""

from __future__ import annotations

import hashlib
import os
import signal
from typing import Any

from tests.openstack.control_plane import wait_for
from tests.openstack.lab import Lab, RealSite, one, pool, row, tiny
from tests.support.builder_case import ELEMENTS, FAKE, real_image

STOCK = "base"


def builder(lab: Lab, image: dict[str, Any], **providers: str) -> RealSite:
    """A site with one disk image for providers of the given formats."""
    name = str(image["name"])
    label = tiny(diskimage=name, cloud_image=None)
    listed = [one(pool("main", label), name=key, cloud_images=[], diskimages=[{"name": name}]) for key in providers]
    folder = lab.folder / f"builder-{len(list(lab.folder.iterdir()))}"
    site = lab.site(
        *listed,
        diskimages=[{"rebuild-age": 10**6, **image}],
        images_dir=str(folder / "images"),
        build_log_dir=str(folder / "logs"),
        elements_dir=str(ELEMENTS),
    )
    for key, image_format in providers.items():
        site.add_cloud(key, image_format=image_format)
    for found in in_glance(lab):
        lab.plane.member.image.delete_image(found.id)
    return site


def in_glance(lab: Lab) -> list[Any]:
    """Our images in glance."""
    return [image for image in lab.plane.member.image.images(visibility="private") if image.name != STOCK]


@row("build-upload", "an image by diskimage-builder as qcow2 and raw: data and properties read back, a node from it")
def build_upload(lab: Lab) -> str:
    site = builder(lab, real_image("tiny-image"), one="qcow2", two="raw")
    site.play("builder.yml")
    found = in_glance(lab)
    assert sorted(image.disk_format for image in found) == ["qcow2", "raw"], found
    assert {image.status for image in found} == {"active"}, found
    for image in found:
        data = lab.plane.member.image.download_image(image.id)
        body = getattr(data, "content", data)
        assert hashlib.sha512(body).hexdigest() == image.hash_value, image
        assert image.properties["nodepool_build_id"] and image.properties["nodepool_upload_id"], image.properties
        recorded = image.properties.get("owner_specified.openstack.sha256") or image.properties.get("sha256")
        assert recorded in (None, hashlib.sha256(body).hexdigest()), image.properties
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=180)
    assert site.fulfilled([request]) == 1, site.screen()[-2000:]
    (server,) = lab.plane.servers()
    assert server.image.id in {image.id for image in found}
    return ", ".join(f"{image.disk_format} {image.size} bytes" for image in found)


@row("upload-killed", "the builder is killed in an upload: the next run leaves one good image and nothing else")
def upload_killed(lab: Lab) -> str:
    image = {
        "name": "big",
        "elements": ["any"],
        "dib-cmd": str(FAKE),
        "formats": ["raw"],
        "env-vars": {"FAKE_SIZE": "400000000"},
    }
    site = builder(lab, image, one="raw")
    process = site.start("builder.yml")
    try:
        wait_for("an upload under way", lambda: in_glance(lab), 180, 0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    state = in_glance(lab)[0].status
    site.play("builder.yml")
    found = in_glance(lab)
    assert [one_image.status for one_image in found] == ["active"], found
    assert found[0].size == 400_000_000, found[0].size
    return f"killed while its image was {state}"


@row("retention", "three builds: two images stay; the newest is taken back: the one before is used")
def retention(lab: Lab) -> str:
    image = {"name": "fake", "elements": ["any"], "dib-cmd": str(FAKE), "formats": ["raw"]}
    site = builder(lab, image, one="raw")
    for _number in range(3):
        site.play("image_rebuild.yml", image_names="fake")
    site.play("builder.yml")
    found = sorted(in_glance(lab), key=lambda one_image: one_image.created_at)
    assert len(found) == 2, found
    newest = max(
        (name for name in site.requestor.children("/nodepool/images/fake/builds") if name != "lock"),
        key=lambda name: site.requestor.read(f"/nodepool/images/fake/builds/{name}")["state_time"],
    )
    path = f"/nodepool/images/fake/builds/{newest}"
    site.requestor.put(path, {**site.requestor.read(path), "state": "deleting"})
    site.requestor.put("/nodepool/images/fake/pause", b"")
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=180)
    assert site.fulfilled([request]) == 1, site.screen()[-2000:]
    (server,) = lab.plane.servers()
    before = [one_image.id for one_image in found if one_image.properties["nodepool_build_id"] != newest]
    assert server.image.id in before, (server.image, found)
    return f"2 of 3 kept; reverted to {before[0][:8]}"


@row("image-gone", "the newest image is deleted in glance: the one before is used, and it is uploaded again")
def image_gone(lab: Lab) -> str:
    image = {"name": "fake", "elements": ["any"], "dib-cmd": str(FAKE), "formats": ["raw"]}
    site = builder(lab, image, one="raw")
    for _number in range(2):
        site.play("image_rebuild.yml", image_names="fake")
    newest = max(in_glance(lab), key=lambda one_image: one_image.created_at)
    lab.plane.member.image.delete_image(newest.id)
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=240)
    assert site.fulfilled([request]) == 1, site.screen()[-3000:]
    for _number in range(3):
        site.play("uploads.yml")
        if len(in_glance(lab)) == 2:
            return "served from the one before; uploaded again"
    raise AssertionError(f"not uploaded again: {site.screen()[-3000:]}")
