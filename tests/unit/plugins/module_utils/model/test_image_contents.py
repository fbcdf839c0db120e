# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contents of two images are compared."""

from __future__ import annotations

import subprocess

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image_contents import (
    COMMAND,
    MOST_NAMED,
    ImageContents,
    changes,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument


def test_the_output_of_the_command_is_read():
    ran = subprocess.run(["sh", "-c", COMMAND], capture_output=True, text=True, check=False, timeout=60)
    found = ImageContents.from_output(ran.stdout)
    assert found is not None and found.kernel and len(found.packages) > 20
    assert ImageContents.from_document(found.document()) == found


def test_what_is_no_package_is_left_out():
    output = "Warning: something\nkernel 6.1.0\nbash 5.2-1\n\x1b[31m x\na b c\nlibc6 2:2.36-9+deb12u1\n"
    assert ImageContents.from_output(output) == ImageContents("6.1.0", {"bash": "5.2-1", "libc6": "2:2.36-9+deb12u1"})
    assert ImageContents.from_output("bash 5.2") is None


def test_what_has_changed_is_told():
    before = ImageContents("6.1.0", {"a": "1.9", "b": "1.0", "c": "2.0-1", "same": "1"})
    after = ImageContents("6.1.1", {"a": "1.10", "c": "2.0~rc1-1", "d": "7", "same": "1"})
    assert changes(before, after) == (
        "kernel 6.1.0 became 6.1.1; 1 added: d 7; 1 removed: b 1.0; 1 newer: a 1.10; 1 older: c 2.0~rc1-1"
    )
    assert changes(before, before) == "the same kernel and packages"


def test_many_are_counted():
    after = ImageContents("1", {f"p{number}": "1" for number in range(MOST_NAMED + 3)})
    assert changes(ImageContents("1"), after).endswith("and 3 more")


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.9", "1.10"), ("1.0~rc1", "1.0"), ("9.0", "1:1.0"), ("1.0-1", "1.0-2"), ("1.0", "1.0.1"),
        ("2.36-9+deb12u1", "2.36-9+deb12u10"), ("1.0a", "1.0b"),
    ],
)  # fmt: skip
def test_versions_are_compared_as_package_managers_do(older: str, newer: str):
    told = changes(ImageContents("1", {"p": older}), ImageContents("1", {"p": newer}))
    assert told == f"1 newer: p {newer}"


def test_a_stored_document_of_another_form_is_refused():
    with pytest.raises(BadDocument):
        ImageContents.from_document({"kernel": "1", "packages": {"a": 1}})
