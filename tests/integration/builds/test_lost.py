# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""images-dir was lost, with or without builder_id.txt."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.support.ansible_run import run_module
from tests.support.builder_case import BuilderSite, image, run_directly

NOTES = "/nodepool/stackci/image-builders"


def lose(site: BuilderSite, *, builder_id: bool) -> None:
    """All files, with or without the builder's id."""
    kept = (site.images_dir / "builder_id.txt").read_text()
    shutil.rmtree(site.images_dir)
    if not builder_id:
        site.images_dir.mkdir()
        (site.images_dir / "builder_id.txt").write_text(kept)


def info(site: BuilderSite) -> dict[str, Any]:
    """What dib_image_info tells of the image."""
    options = {"config": str(site.config), "clouds_config": str(site.clouds_yaml)}
    (row,) = run_module("dib_image_info", options, site.folder).result["images"]
    found: dict[str, Any] = row
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("builder_id", [False, True], ids=["the files", "the id too"])
def test_an_image_whose_files_were_lost_is_built_anew(site, builder_id):
    site.configure(image(), providers={"one": "raw"})
    first = site.run()["builds"][0]["build_id"]
    assert site.run()["changed"] is False
    lose(site, builder_id=builder_id)
    reason = "the newest ready build has lost files: images-dir has no raw for it"
    row = info(site)
    assert (row["due"], row["code"], row["reason"]) == (True, "files-lost", reason)
    checked = run_directly(site, check=True, diff=True).result
    assert f"image fake: build raw, {reason}" in checked["diff"]["after"]
    assert (site.images_dir / "builder_id.txt").exists() is not builder_id, "looking at it makes no id"
    (report,) = site.run()["builds"]
    assert (report["state"], report["reason"]) == ("ready", reason)
    assert site.run()["changed"] is False
    assert site.records().keys() == {first, report["build_id"]}
    assert info(site)["code"] == "fresh"
    # The old id is known as long as it has builds.
    ids = {record["builder_id"] for record in site.records().values()}
    assert set(site.zk.get_children(NOTES)) == ids and len(ids) == 1 + builder_id
    site.zk.delete(site.path("fake", "builds", first), recursive=True)
    site.run()
    assert len(site.zk.get_children(NOTES)) == 1


def test_files_of_another_builder_on_the_same_machine_are_no_loss(site):
    other = site.beside("other")
    site.configure(image())
    other.configure(image())
    site.run()
    assert other.run()["builds"] == []
    shutil.rmtree(other.images_dir)
    assert other.run()["builds"] == []


def test_two_machines_that_call_themselves_the_same_do_not_build_in_turn(site):
    """Containers, perhaps: each has its own disk at the same path."""
    site.configure(image())
    first = site.run()
    ours = site.images_dir.rename(site.folder / "ours")
    site.run()
    theirs = site.images_dir.rename(site.folder / "theirs")
    built = []
    for disk in (ours, theirs, ours, theirs):
        disk.rename(site.images_dir)
        built.append(len(site.run()["builds"]))
        site.images_dir.rename(disk)
    assert len(first["builds"]) == 1
    assert sum(built) == 0, "one more than needed, when the second was first seen"


def test_a_note_that_makes_no_sense_is_nobodys(site):
    site.configure(image())
    site.run()
    (builder_id,) = site.zk.get_children(NOTES)
    note = json.loads(site.zk.get(f"{NOTES}/{builder_id}")[0])
    site.zk.set(f"{NOTES}/{builder_id}", json.dumps({**note, "seen": None}).encode())
    shutil.rmtree(site.images_dir)
    assert site.run()["builds"] == []
