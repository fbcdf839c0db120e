# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder: disk images built by diskimage-builder, uploaded, kept, taken away."""

from __future__ import annotations

import hashlib
import os
import signal
from typing import Any

from tests.openstack.control_plane import PATIENCE, ids, wait_for
from tests.openstack.lab import Lab, RealSite, one, pool, row, tiny
from tests.support.ansible_run import run_module
from tests.support.builder_case import ELEMENTS, FAKE, real_image

STOCK = "base"
QUICK: dict[str, Any] = {"name": "fake", "elements": ["any"], "dib-cmd": str(FAKE), "formats": ["raw"]}
"""A disk image that is made in a moment."""
META = {"os_distro": "judge"}


def builder(lab: Lab, image: dict[str, Any], **providers: str) -> RealSite:
    """A site with one disk image for providers of the given formats."""
    name = str(image["name"])
    label = tiny(diskimage=name, cloud_image=None)
    images = [{"name": name, "meta": META}]
    listed = [one(pool("main", label), name=key, cloud_images=[], diskimages=images) for key in providers]
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


def built(lab: Lab, times: int) -> RealSite:
    """A site whose image was built and uploaded so often."""
    site = builder(lab, QUICK, one="raw")
    for _number in range(times):
        site.play("image_rebuild.yml", image_names="fake")
    return site


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
        shown = lab.plane.member.image.get(f"/images/{image.id}").json()
        assert shown["nodepool_build_id"] and shown["nodepool_upload_id"], shown
        assert shown["owner_specified.openstack.sha256"] == hashlib.sha256(body).hexdigest(), shown
        assert {key: shown.get(key) for key in META} == META, shown
    server = site.serve_one()
    assert server.image.id in ids(found)
    return ", ".join(f"{image.disk_format} {image.size} bytes" for image in found)


@row(
    "upload-killed", "the builder is killed in an upload: the next run leaves one good image and nothing else", needs=()
)
def upload_killed(lab: Lab) -> str:
    site = builder(lab, {**QUICK, "env-vars": {"FAKE_SIZE": "400000000"}}, one="raw")
    process = site.start("builder.yml")
    try:
        wait_for("an upload under way", lambda: in_glance(lab), pause=0.05)
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
    site = built(lab, 3)
    site.play("builder.yml")
    found = sorted(in_glance(lab), key=lambda one_image: one_image.created_at)
    assert len(found) == 2, found
    before, newest = found
    bad = newest.properties["nodepool_build_id"]
    for options in ({"pause": True, "name": "fake"}, {"state": "absent", "build_id": bad}):
        ran = run_module("dib_build", {"config": str(site.config), **options}, site.folder, timeout=PATIENCE)
        assert not ran.result["failed"], ran.screen[-3000:]
    # At once: before anything is deleted in glance.
    server = site.serve_one()
    assert server.image.id == before.id, (server.image, found)
    site.play("uploads.yml")
    assert ids(in_glance(lab)) == {before.id}, site.screen()[-3000:]
    return f"2 of 3 kept; reverted to {before.id[:8]}, the bad one is gone"


@row("image-gone", "the newest image is deleted in glance: the one before is used, and it is uploaded again")
def image_gone(lab: Lab) -> str:
    site = built(lab, 2)
    newest = max(in_glance(lab), key=lambda one_image: one_image.created_at)
    lab.plane.member.image.delete_image(newest.id)
    site.serve_one()
    for _number in range(3):
        site.play("uploads.yml")
        if len(in_glance(lab)) == 2:
            return "served from the one before; uploaded again"
    raise AssertionError(f"not uploaded again: {site.screen()[-3000:]}")
