# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""images-dir belongs to one tree: an emptied or exchanged ZooKeeper costs no file, and nothing is built over it."""

from __future__ import annotations

import os
import threading
import time

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_preview import preview_builds
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_options import (
    UploadOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_cycle import run_uploads
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_preview import preview
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.image_actions import clear_away
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import TreeExchanged
from tests.support.builder_case import BuilderSite, image
from tests.support.fixtures_zookeeper import eventually

SITE = "/nodepool/stackci/site"


def uploads(site: BuilderSite) -> UploadOptions:
    return UploadOptions(config=str(site.config), clouds_config=str(site.clouds_yaml), duration=60.0, api_timeout=5.0)


def built(site: BuilderSite, *, marked: bool = True) -> list[str]:
    """One build of an hour ago, so that nothing is too young to be removed; its files."""
    site.configure(image())
    site.run()
    hour_ago = time.time() - 3600
    for path in site.images_dir.iterdir():
        os.utime(path, (hour_ago, hour_ago))
    if not marked:
        (site.images_dir / "tree_id.txt").unlink()
    return site.files()


def everybody(site: BuilderSite) -> dict[str, str]:
    """What each way to work with images-dir says."""
    said = {}
    for name, call in {
        "build": site.run,
        "upload": lambda: run_uploads(uploads(site)),
        "build, check mode": lambda: preview_builds(site.options()),
        "upload, check mode": lambda: preview(uploads(site)),
        "remove what": lambda: clear_away(site.options(), check=False),
    }.items():
        with pytest.raises(TreeExchanged) as refused:
            call()
        said[name] = str(refused.value)
    return said


def test_the_directory_is_marked_with_its_tree(site):
    built(site)
    assert (site.images_dir / "tree_id.txt").read_text() in site.zk.get(SITE)[0].decode()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("marked", [True, False], ids=["marked", "of an earlier version"])
def test_an_emptied_zookeeper_costs_no_file(site, marked):
    files = built(site, marked=marked)
    site.zk.delete("/nodepool", recursive=True)
    for who, text in everybody(site).items():
        assert str(site.images_dir) in text and "nothing was built, uploaded or removed" in text, who
    assert site.files() == files
    assert not site.zk.exists("/nodepool/images/fake/builds"), "nothing was built anew"


def test_another_chroot_by_mistake_costs_no_file(site, tmp_path):
    files = built(site)
    other = BuilderSite(tmp_path / "other", site.zookeeper)
    other.images_dir = site.images_dir
    other.configure(image())
    try:
        texts = everybody(other)
    finally:
        other.close()
    assert all("says that the image files belong to tree" in text for text in texts.values())
    assert site.files() == files
    assert site.run()["builds"] == [], "its own tree goes on with them"


def test_a_tree_that_was_founded_anew_on_purpose_takes_the_files(site):
    files = built(site)
    site.zk.delete("/nodepool", recursive=True)
    with pytest.raises(TreeExchanged) as refused:
        site.run()
    wanted = refused.value.args[0].partition("on purpose, write ")[2].split(" ")[0]
    (site.images_dir / "tree_id.txt").write_text(f"{wanted}\n")
    run_uploads(uploads(site))
    assert site.files() == [], files
    assert [build["state"] for build in site.run()["builds"]] == ["ready"]


def test_the_directory_of_an_earlier_version_is_taken_with_its_records(site):
    files = built(site, marked=False)
    assert site.run()["builds"] == []
    assert (site.images_dir / "tree_id.txt").exists() and site.files() == files


@pytest.mark.timeout(120)
def test_a_tree_that_is_exchanged_meanwhile_ends_the_cycle(site):
    site.configure(image())
    problems: list[BaseException] = []

    def stay() -> None:
        try:
            site.run(until="deadline", duration=600.0)
        except TreeExchanged as problem:
            problems.append(problem)

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    eventually(lambda: site.states() == ["ready"], 60)
    site.zk.set(SITE, b'{"id": "another"}')
    eventually(lambda: problems, 60)
    thread.join(60)
    assert "has changed since the start" in str(problems[0])
    assert site.states() == ["ready"]
