# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""image_rebuild.yml as a person and as a schedule run it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.builder_case import image
from tests.support.builder_playbooks import BuilderHost

pytestmark = pytest.mark.timeout(600)


def test_three_rebuilds_leave_the_current_and_the_previous(host: BuilderHost) -> None:
    host.configure(image("tiny"))
    made: list[str] = []
    for number in range(3):
        ran = host.play("stackci.nodepool.image_rebuild", image_names=["tiny"])
        assert ran.returncode == 0
        (new,) = set(host.builds("tiny")) - set(made)
        made.append(new)
        # The first uploads are still in use when the third build comes, and then they are not.
        assert len(host.in_cloud("one")) == len(host.in_cloud("two")) == min(number + 1, 2)
    assert list(host.builds("tiny")) == made[1:]
    assert list(host.uploads("tiny", "one")) == list(host.uploads("tiny", "two")) == made[1:]
    endings = sorted(f"tiny-{build_id}.{ending}" for build_id in made[1:] for ending in ("qcow2", "raw"))
    assert host.files() == endings
    assert "1 image built, 2 uploaded, 2 uploads and 1 build deleted" in ran.stdout


def test_names_with_commas_and_nothing_else_is_built(host: BuilderHost) -> None:
    host.configure(image("a"), image("b"), image("c"))
    ran = host.play("image_rebuild.yml", image_names="b, a")
    assert ran.returncode == 0
    assert {name: len(host.builds(name)) for name in "abc"} == {"a": 1, "b": 1, "c": 0}
    ran = host.play("image_rebuild.yml", image_names="a", image_rebuild_force=False)
    assert ran.returncode == 0 and "changed=0 " in ran.stdout
    assert len(host.builds("a")) == 1


def test_a_request_is_left_to_the_builder_that_runs(host: BuilderHost) -> None:
    host.configure(image("tiny"))
    ran = host.play("image_rebuild.yml", image_names=["tiny"], image_rebuild_request=True)
    assert ran.returncode == 0
    assert host.builds("tiny") == {}
    assert host.site.requestor.client.exists("/nodepool/images/tiny/request-build")
    ran = host.play("builds.yml")
    assert ran.returncode == 0 and len(host.builds("tiny")) == 1, ran.stdout
    assert not host.site.requestor.client.exists("/nodepool/images/tiny/request-build")


def test_a_paused_image_is_told_of(host: BuilderHost) -> None:
    host.configure(image("tiny"), image("idle", pause=True))
    ran = host.play("image_rebuild.yml", image_names="idle,tiny")
    assert ran.returncode == 2
    assert len(host.builds("tiny")) == 1 and host.builds("idle") == {}
    (last,) = [line for line in ran.stdout.splitlines() if line.startswith("fatal")]
    assert "idle: paused in the configuration" in last


def test_check_mode(host: BuilderHost) -> None:
    host.configure(image("tiny"))
    assert host.play("builder.yml").returncode == 0
    before = host.everything()
    ran = host.play("image_rebuild.yml", "--check", "--diff", image_names="tiny")
    assert ran.returncode == 0
    assert "+image tiny: build qcow2, raw, requested; otherwise: the newest ready build is" in ran.stdout
    assert host.everything() == before


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "image_names is missing: name the disk images to rebuild"),
        ({"image_names": ""}, "image_names is missing"),
        ({"image_names": []}, "image_names is missing"),
        ({"image_names": " , "}, "image_names is missing"),
        ({"image_names": "tiny,nobody"}, "nobody"),
        ({"image_names": "nobody", "image_rebuild_request": True}, "nobody"),
    ],
)
def test_called_wrongly(host: BuilderHost, variables: dict[str, Any], said: str) -> None:
    host.configure(image("tiny"))
    ran = host.play("image_rebuild.yml", **variables)
    assert ran.returncode == 2
    assert [line for line in ran.stdout.splitlines() if line.startswith("fatal") and said in line] != []
    assert "Traceback" not in ran.stdout + ran.stderr
    assert host.builds("tiny") == {} and not host.images_dir.exists()
