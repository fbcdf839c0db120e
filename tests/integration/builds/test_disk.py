# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk that is too small."""

from __future__ import annotations

import os
import subprocess

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_preview import preview_builds
from tests.support.builder_case import CLEAN, image

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

MIB = 1 << 20


@pytest.fixture
def small(site):
    """A disk of 8 MiB for the images."""
    site.images_dir.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=0755", "none", str(site.images_dir)], check=True, timeout=30
    )
    yield site
    subprocess.run(["umount", "-l", str(site.images_dir)], check=True, timeout=30)


def test_a_disk_that_fills_up_fails_the_build_and_nothing_stays(small):
    small.configure(image(env_vars={"FAKE_SIZE": str(20 * MIB)}), image("next"))
    first, second = small.run()["builds"]
    assert (first["state"], second["state"]) == ("failed", "ready")
    assert "No space left on device" in first["error"]
    assert not any(name.startswith("fake") for name in small.files())
    assert small.leftovers() == CLEAN
    assert small.log(first["build_id"]).splitlines()[-1] == "Exit code: 1"


def test_nothing_is_begun_where_the_last_build_would_not_fit(small):
    small.configure(image(formats=["raw", "qcow2"], env_vars={"FAKE_SIZE": str(2 * MIB)}))
    (report,) = small.run()["builds"]
    assert report["sizes"] == {"raw": 2 * MIB, "qcow2": 2 * MIB}
    # 4 of 8 MiB are taken, 9.6 are needed.
    plan = preview_builds(small.options(images=("fake",), force=True))
    (case,) = plan["plan"]["wait"]
    assert (case["code"], plan["changed"], plan["warnings"]) == ("cannot-begin", False, [f"fake: {case['reason']}"])
    assert "3 MiB free, but 10 MiB are needed" in case["reason"] and case["reason"] in plan["diff"]["after"]
    (report,) = small.run(images=("fake",), force=True)["builds"]
    assert (report["state"], report["build_id"]) == ("failed", "")
    assert "3 MiB free, but 10 MiB are needed" in report["error"]
    assert small.notes()["failures"] == 1
    assert small.states() == ["ready"]
    assert len(os.listdir(small.log_dir)) == 1


def test_it_goes_on_when_there_is_room(small):
    small.configure(image(env_vars={"FAKE_SIZE": str(1 * MIB)}))
    small.run()
    ballast = small.images_dir / "ballast"
    ballast.write_bytes(b"x" * (5 * MIB))
    (report,) = small.run(images=("fake",), force=True)["builds"]
    assert report["state"] == "failed"
    ballast.unlink()
    small.request()
    (report,) = small.run()["builds"]
    assert report["state"] == "ready"
    assert small.notes()["failures"] == 0
