# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""diskimage-builder itself, with the element tiny."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.isolation import (
    FULL,
    NONE,
    find_isolation,
)
from tests.support.builder_case import CLEAN, Module, real_image, run_directly
from tests.support.fixtures_zookeeper import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

BUILD_SECONDS = 100.0


def info(path):
    done = subprocess.run(
        ["qemu-img", "info", "--output=json", str(path)], capture_output=True, check=True, timeout=30, text=True
    )
    return json.loads(done.stdout)


@pytest.mark.timeout(240)
def test_three_formats(site):
    site.configure(real_image(), providers={"one": "qcow2", "two": "raw", "three": "vhd"})
    ran = run_directly(site, qemu_img_vhd=True)
    (report,) = ran.result["builds"]
    assert report["state"] == "ready", report
    (record,) = site.records("tiny").values()
    assert record["formats"] == "qcow2,raw,vhd"
    base = site.images_dir / f"tiny-{report['build_id']}"
    for ending, format_ in {"qcow2": "qcow2", "raw": "raw", "vhd": "vpc"}.items():
        path = base.with_name(f"{base.name}.{ending}")
        data = path.read_bytes()
        for algorithm in ("md5", "sha256"):
            digits = path.with_name(f"{path.name}.{algorithm}").read_text().split()[0]
            assert digits == hashlib.new(algorithm, data).hexdigest()
        assert info(path)["format"] == format_
        # When it writes a file out at last, the file system may need one more block for the places of the others.
        assert path.stat().st_blocks * 512 - report["sizes"][ending] in (0, 4096)
    assert info(f"{base}.qcow2")["format-specific"]["data"]["compat"] == "0.10"
    sizes = {ending: info(f"{base}.{ending}")["virtual-size"] for ending in ("qcow2", "raw", "vhd")}
    assert sizes["qcow2"] == sizes["raw"] == sizes["vhd"]
    log = site.log(report["build_id"], "tiny")
    assert log.splitlines()[-1] == "Exit code: 0"
    assert "Build completed successfully" in log
    told = [line for line in ran.screen.splitlines() if re.match(r"tiny: [\w./-]+: .", line)]
    assert 1 <= len(told) <= report["seconds"] / 5 + 1
    assert site.leftovers() == CLEAN
    mounted = site.folder / "mounted"
    mounted.mkdir()
    subprocess.run(["mount", "-o", "loop,ro", f"{base}.raw", str(mounted)], check=True, timeout=30)
    try:
        assert (mounted / "etc" / "tiny-release").read_text() == "one\n"
    finally:
        subprocess.run(["umount", str(mounted)], check=True, timeout=30)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("size", ["11m", "12m", "13m"])
def test_a_ready_image_is_whole_also_on_a_disk_that_is_almost_full(site, size):
    """Without room the kernel drops what is copied into the image, and diskimage-builder says that all is well."""
    site.images_dir.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "none", str(site.images_dir)], check=True, timeout=30
    )
    try:
        site.configure(real_image(formats=["raw"]))
        (report,) = site.run()["builds"]
        assert site.leftovers() == CLEAN
        if report["state"] == "ready":
            mounted = site.folder / "mounted"
            mounted.mkdir()
            raw = site.images_dir / f"tiny-{report['build_id']}.raw"
            subprocess.run(["mount", "-o", "loop,ro", str(raw), str(mounted)], check=True, timeout=30)
            try:
                files = [path for path in mounted.rglob("*") if path.is_file() and path.stat().st_size > 20_000]
                assert files and all(path.read_bytes().strip(b"\0") for path in files)
            finally:
                subprocess.run(["umount", str(mounted)], check=True, timeout=30)
        else:
            # What of it is noticed first: a command's error, the kernel's loss, or that the image became read-only.
            assert "free space" in report["error"]
    finally:
        subprocess.run(["umount", "-l", str(site.images_dir)], check=True, timeout=30)


@pytest.mark.timeout(240)
def test_only_vhd_leaves_no_raw(site):
    site.configure(real_image(formats=["vhd"]))
    result = run_directly(site, qemu_img_vhd=True).result
    (report,) = result["builds"]
    base = f"tiny-{report['build_id']}.vhd"
    assert site.files() == [base, f"{base}.md5", f"{base}.sha256"]


def test_vhd_needs_the_operators_word_where_there_is_no_vhd_util(site):
    site.configure(real_image(formats=["vhd"]))
    result = run_directly(site).result
    assert result["builds"][0]["state"] == "failed"
    assert "no vhd-util executable found" in result["builds"][0]["error"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("level", [FULL, NONE])
def test_an_element_that_fails(site, level):
    site.configure(real_image("bad", "failing", formats=["raw"]))
    result = site.run(isolation=find_isolation(allowed=level))
    (report,) = result["builds"]
    assert report["state"] == "failed" and report["exit_code"] not in (0, None)
    log = site.log(report["build_id"], "bad")
    assert "this element fails on purpose" in log
    assert log.splitlines()[-1] == f"Exit code: {report['exit_code']}"
    assert "this element fails on purpose" in report["error"]
    assert site.files() == []
    assert site.leftovers() == CLEAN


PARTITIONED = """\
- local_loop:
    name: image0
- partitioning:
    base: image0
    label: mbr
    partitions: [{name: root, flags: [boot, primary], size: 100%, mkfs: {type: ext4, mount: {mount_point: /}}}]
"""


@pytest.mark.timeout(240)
def test_a_wrong_block_device_configuration_is_named(site):
    wrong = "- local_loop: {name: image0}\n- nonsense: {base: image0}\n"
    site.configure(real_image("bad", formats=["raw"], env_vars={"DIB_BLOCK_DEVICE_CONFIG": wrong}))
    (report,) = site.run()["builds"]
    assert "Config entry is not a plugin value" in report["error"]
    assert "is not a directory" not in report["error"]
    assert site.leftovers() == CLEAN


@pytest.mark.skipif(shutil.which("kpartx") is not None, reason="kpartx is installed")
@pytest.mark.timeout(240)
def test_a_tool_that_is_not_installed_is_named(site):
    site.configure(real_image("bad", formats=["raw"], env_vars={"DIB_BLOCK_DEVICE_CONFIG": PARTITIONED}))
    (report,) = site.run()["builds"]
    assert "kpartx: command not found" in report["error"]
    assert "is not a directory" not in report["error"]
    assert site.leftovers() == CLEAN


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("level", [FULL, NONE])
def test_a_time_out(site, level):
    site.configure(real_image("slow", "slow", formats=["raw"], build_timeout=25))
    (report,) = site.run(isolation=find_isolation(allowed=level))["builds"]
    assert (report["state"], "build-timeout of 25 s" in report["error"]) == ("failed", True)
    assert "waiting for somebody to end it" in site.log(report["build_id"], "slow")
    assert site.leftovers() == CLEAN


@pytest.mark.timeout(240)
def test_killed_in_the_middle(site):
    """Mounts, loop device, processes and temporary files go; what is built next is whole."""
    site.configure(real_image("tiny", "slow", formats=["raw"]))
    with Module(site) as module:
        build_id = site.running()
        log = site.log_dir / f"tiny-{build_id}.log"
        eventually(lambda: log.exists() and "waiting for somebody to end it" in log.read_text(), BUILD_SECONDS)
        assert site.leftovers()["temporary files"] == [build_id]
        module.process.kill()
        module.process.wait(10)
    site.configure(real_image("tiny", formats=["raw"]))
    result = run_directly(site).result
    assert result["abandoned"] == [build_id]
    assert [report["state"] for report in result["builds"]] == ["ready"]
    assert site.states("tiny") == ["failed", "ready"]
    assert site.leftovers() == CLEAN
