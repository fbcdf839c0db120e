# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who claims a build, and what is left when nobody does any more."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.scratch import Claim, leftovers
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError

BUILD = "a" * 32


def test_what_is_claimed_is_no_leftover_until_its_owner_ends(tmp_path):
    with Claim.make(str(tmp_path), "deb", BUILD) as claim:
        assert os.path.isdir(claim.leftover.place)
        assert leftovers(str(tmp_path)) == []
    (left,) = leftovers(str(tmp_path))
    assert left == claim.leftover
    assert (left.build_id, left.image, left.place) == (BUILD, "deb", str(tmp_path / ".stackci-tmp" / BUILD))


def test_the_claim_of_a_killed_process_is_left_over(tmp_path):
    script = (
        f"import os; from {Claim.__module__} import Claim; "
        f"claim = Claim.make({str(tmp_path)!r}, 'deb', {BUILD!r}); os.kill(os.getpid(), 9)"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": path}, timeout=60, check=False)
    assert [left.image for left in leftovers(str(tmp_path))] == ["deb"]


def test_another_place_is_remembered(tmp_path):
    place = tmp_path / "fast" / ".stackci-tmp" / BUILD
    with Claim.make(str(tmp_path), "deb", BUILD, str(place)):
        assert place.is_dir()
    (left,) = leftovers(str(tmp_path))
    assert left.place == str(place)


@pytest.mark.parametrize(
    "written",
    [
        b"",
        b"\xff",
        b"[]",
        json.dumps({"image": "deb", "place": "/"}).encode(),
        json.dumps({"image": "deb", "place": f"/x/../.stackci-tmp/{BUILD}"}).encode(),
        json.dumps({"image": "deb", "place": f"x/.stackci-tmp/{BUILD}"}).encode(),
        json.dumps({"image": "deb", "place": "/x/.stackci-tmp/other"}).encode(),
    ],
)
def test_a_place_that_is_not_ours_is_not_believed(tmp_path, written):
    claim = tmp_path / ".stackci-tmp" / BUILD
    claim.mkdir(parents=True)
    (claim / "owner.json").write_bytes(written)
    (left,) = leftovers(str(tmp_path))
    assert left.place == left.claim == str(claim)


def test_what_is_no_build_is_left_alone(tmp_path):
    (tmp_path / ".stackci-tmp" / "notes").mkdir(parents=True)
    (tmp_path / ".stackci-tmp" / f"coming-{BUILD}").mkdir()
    assert leftovers(str(tmp_path)) == []
    assert leftovers(str(tmp_path / "no")) == []
    assert len(os.listdir(tmp_path / ".stackci-tmp")) == 2


def test_a_claim_that_nobody_finished_is_forgotten(tmp_path):
    coming = tmp_path / ".stackci-tmp" / f"coming-{BUILD}"
    coming.mkdir(parents=True)
    os.utime(coming, (1, 1))
    leftovers(str(tmp_path))
    assert not coming.exists()


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / ".stackci-tmp").write_text("a file")
    with pytest.raises(ImageFileError, match=r"\.stackci-tmp.*images-dir and TMP_DIR"):
        Claim.make(str(tmp_path), "deb", BUILD)
