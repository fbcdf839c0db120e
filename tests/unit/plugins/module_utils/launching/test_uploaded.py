# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which images of a project were uploaded for which diskimage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.uploaded import uploads_by_diskimage
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider, ProviderDiskimage

MARKS = {"nodepool_build_id": "b1", "nodepool_provider_name": "east"}


def provider(*names: str, name_format: str = "{image_name}-{timestamp}") -> Provider:
    images = {name: ProviderDiskimage(name) for name in names}
    return Provider("east", "east", diskimages=images, image_name_format=name_format)


def found(one: Provider, name: str, **more: str) -> list[str]:
    there = uploads_by_diskimage(one, [Image("i1", name, "active", {**MARKS, **more})])
    assert set(there) == set(one.diskimages)
    return [diskimage for diskimage, images in there.items() if images]


@pytest.mark.parametrize(
    ("name_format", "name", "expected"),
    [
        ("{image_name}-{timestamp}", "debian-1795198332", ["debian"]),
        ("{image_name}-{timestamp}", "debian-12-1795198332", ["debian-12"]),
        ("{image_name}-{timestamp}", "debian-sid-1795198332", []),
        ("ci.{image_name}.{upload_id}", "ci.debian.0000000003", ["debian"]),
        ("ci.{image_name}.{upload_id}", "ciXdebian.0000000003", []),
        ("{{ci}} {image_name}", "{ci} debian", ["debian"]),
        ("ci", "ci", []),
    ],
)
def test_the_name_says_which_diskimage(name_format, name, expected):
    assert found(provider("debian", "debian-12", name_format=name_format), name) == expected


def test_the_only_diskimage_needs_no_name():
    assert found(provider("debian", name_format="ci"), "ci") == ["debian"]


@pytest.mark.parametrize(
    "more",
    [{"nodepool_provider_name": "west"}, {"nodepool_build_id": ""}, {"instance_uuid": "1"}],
    ids=["another provider", "no builder", "snapshot"],
)
def test_images_of_others_are_left_out(more):
    assert found(provider("debian"), "debian-1", **more) == []


@given(st.sampled_from(["{image_name}-{timestamp}", "{timestamp}{image_name}", "{image_name}"]), st.text())
def test_any_name_of_an_image_is_readable(name_format, name):
    assert found(provider("a", "b+", name_format=name_format), name) in ([], ["a"], ["b+"])
