# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.image_data_format import (
    HIGHEST_UPLOAD,
    counts,
    highest_uploads,
    image_data,
    read_image_data,
    records,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError

ROOT = "/nodepool/images/debian"
BUILD = f"{ROOT}/builds/{'a' * 32}"
UPLOAD = f"{BUILD}/providers/west/images/0000000003"
READY = '{"state": "ready"}'


def test_builds_uploads_and_pauses_are_exported_and_nothing_else():
    tree = {
        "/nodepool/images": b"",
        ROOT: b"",
        f"{ROOT}/pause": b"",
        f"{ROOT}/request-build": b"",
        f"{ROOT}/builds": b"",
        BUILD: READY.encode(),
        f"{BUILD}/providers/west/images": b"",
        UPLOAD: READY.encode(),
    }
    data, left_out = image_data(tree)
    assert (data, left_out) == ({f"{ROOT}/pause": "", BUILD: READY, UPLOAD: READY}, [])
    assert counts(data) == {"images": 1, "builds": 1, "uploads": 1, "paused": 1}
    assert records(data) == {BUILD, UPLOAD}
    assert read_image_data(json.dumps(data), "x.json") == data


def test_what_cannot_be_used_is_left_out_with_its_reason():
    broken, empty = f"{ROOT}/builds/{'b' * 32}", f"{ROOT}/builds/{'c' * 32}"
    below = f"{broken}/providers/west/images/0000000001"
    data, left_out = image_data({broken: b"\xff", below: READY.encode(), empty: b"", BUILD: READY.encode()})
    assert data == {BUILD: READY}
    assert left_out == [
        f"{broken} is skipped: it is not JSON",
        f"{below} is skipped: the record of its build is missing or cannot be used",
    ]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ('{"a": 1} {}', "is not JSON"),
        ("[" * 100000, "is not JSON"),
        ("[]", "is not a JSON object"),
        ({"/zuul/x": ""}, "'/zuul/x' is not the path"),
        ({f"{ROOT}/builds/lock": READY}, "is not the path"),
        ({f"{ROOT}/builds/../x": READY}, "is not the path"),
        ({f"{BUILD}/providers/west/images/3": READY}, "is not the path"),
        ({"/nodepool/images/../pause": ""}, "is not the path"),
        ({BUILD: None}, f"the value of {BUILD} is not a text"),
        ({BUILD: ""}, f"the value of {BUILD} is not a JSON object"),
        ({UPLOAD: "\ud800"}, "is not a JSON object"),
        ({UPLOAD[:-10] + f"{HIGHEST_UPLOAD + 1:010d}": READY}, f"is above {HIGHEST_UPLOAD}"),
    ],
)
def test_a_file_that_is_no_export_is_refused(content, problem):
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(ConfigError) as error:
        read_image_data(text, "x.json")
    assert "x.json: " in str(error.value) and problem in str(error.value)


def test_of_many_problems_some_are_told():
    with pytest.raises(ConfigError) as error:
        read_image_data(json.dumps({f"/other/{number}": "" for number in range(30)}), "x.json")
    assert len(error.value.problems) == 11 and error.value.problems[-1] == "and 20 more"


def test_the_highest_number_of_each_directory():
    other = f"{BUILD}/providers/east/images"
    written = [BUILD, UPLOAD, UPLOAD[:-1] + "1", f"{other}/0000000007", f"{ROOT}/pause"]
    assert highest_uploads(written) == {UPLOAD[:-11]: 3, other: 7}
