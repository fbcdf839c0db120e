# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who claims a build, and what is left when nobody does any more."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.diskimage_builder.scratch import (
    claimed,
    leftovers,
    scratch_claim,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ImageFileError

BUILD = "a" * 32
OWN = f".stackci-tmp-{'e' * 32}"


def test_what_is_claimed_is_no_leftover_until_its_owner_ends(tmp_path):
    with scratch_claim(str(tmp_path), "deb", BUILD) as leftover:
        assert os.path.isdir(leftover.place)
        assert leftovers(str(tmp_path)) == []
    (left,) = leftovers(str(tmp_path))
    assert left == leftover
    assert (left.build_id, left.image, left.place) == (BUILD, "deb", str(tmp_path / ".stackci-tmp" / BUILD))


def test_the_claim_of_a_killed_process_is_left_over(tmp_path):
    script = (
        f"import os; from {scratch_claim.__module__} import scratch_claim; "
        f"claim = scratch_claim({str(tmp_path)!r}, 'deb', {BUILD!r}); claim.__enter__(); os.kill(os.getpid(), 9)"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": path}, timeout=60, check=False)
    assert [left.image for left in leftovers(str(tmp_path))] == ["deb"]


def test_another_place_is_remembered(tmp_path):
    place = tmp_path / "fast" / OWN / BUILD
    with scratch_claim(str(tmp_path), "deb", BUILD, str(place)):
        assert place.is_dir()
    (left,) = leftovers(str(tmp_path))
    assert left.place == str(place)


def test_nobody_else_may_look_into_a_directory_of_a_build(tmp_path):
    place = tmp_path / "fast" / OWN / BUILD
    with scratch_claim(str(tmp_path), "deb", BUILD, str(place)) as leftover:
        folders = [place, place.parent, Path(leftover.claim), tmp_path / ".stackci-tmp"]
        assert [stat.S_IMODE(folder.stat().st_mode) for folder in folders] == [0o700] * 4


def test_the_claim_tells_the_place_before_it_is_made(tmp_path, monkeypatch):
    """A process that is killed in between leaves nothing that nobody knows of."""
    place = tmp_path / "fast" / OWN / BUILD
    known = []

    def make(name, *args, **options):
        if name == OWN:
            known.append(json.loads((tmp_path / ".stackci-tmp" / BUILD / "owner.json").read_text())["place"])
        return mkdir(name, *args, **options)

    mkdir = os.mkdir
    monkeypatch.setattr(os, "mkdir", make)
    with scratch_claim(str(tmp_path), "deb", BUILD, str(place)):
        assert known == [str(place)]


def test_links_of_the_operator_are_resolved_once(tmp_path):
    (tmp_path / "disk" / "images").mkdir(parents=True)
    (tmp_path / "images").symlink_to(tmp_path / "disk" / "images")
    (tmp_path / "fast").symlink_to(tmp_path / "disk")
    images = str(tmp_path / "images")
    with scratch_claim(images, "deb", BUILD, str(tmp_path / "fast" / OWN / BUILD)) as leftover:
        assert leftover.place == str(tmp_path / "disk" / OWN / BUILD)
        assert claimed(images) == [BUILD]
    assert leftovers(images) == [leftover]


def test_a_place_that_somebody_made_first_is_refused(tmp_path):
    (tmp_path / "fast" / OWN).mkdir(parents=True)
    with pytest.raises(ImageFileError, match=rf"{OWN}: cannot be created"):
        scratch_claim(str(tmp_path), "deb", BUILD, str(tmp_path / "fast" / OWN / BUILD)).__enter__()


def test_a_link_instead_of_the_directory_of_claims(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / BUILD).mkdir(parents=True)
    (tmp_path / ".stackci-tmp").symlink_to(elsewhere)
    assert leftovers(str(tmp_path)) == []
    assert claimed(str(tmp_path)) == []
    with pytest.raises(ImageFileError, match=r"\.stackci-tmp is a link"):
        scratch_claim(str(tmp_path), "deb", "b" * 32).__enter__()
    assert os.listdir(elsewhere) == [BUILD]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_another_user_planted_is_not_believed(tmp_path):
    victim = tmp_path / "root" / ".stackci-tmp" / BUILD
    victim.mkdir(parents=True)
    root = tmp_path / ".stackci-tmp"
    claim = root / BUILD
    claim.mkdir(parents=True)
    (claim / "owner.json").write_text(json.dumps({"image": "deb", "place": str(victim)}))
    for planted in (claim / "owner.json", claim):
        os.chown(planted, 4321, 4321)
    assert leftovers(str(tmp_path)) == []
    os.chown(root, 4321, 4321)
    assert leftovers(str(tmp_path)) == []
    with pytest.raises(ImageFileError, match=r"belongs to user 4321, .* builds run as user 0"):
        scratch_claim(str(tmp_path), "deb", "b" * 32).__enter__()


def test_a_directory_of_ours_that_others_may_write_to_becomes_private(tmp_path):
    root = tmp_path / ".stackci-tmp"
    root.mkdir()
    root.chmod(0o777)
    leftovers(str(tmp_path))
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


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
        json.dumps({"image": "deb", "place": f"/x/.stackci-tmp-etc/{BUILD}"}).encode(),
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
    (tmp_path / "images").write_text("a file")
    with pytest.raises(ImageFileError, match=r"images: cannot be created.*images-dir and TMP_DIR"):
        scratch_claim(str(tmp_path / "images"), "deb", BUILD).__enter__()
