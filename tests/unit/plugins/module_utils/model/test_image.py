# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    Upload,
    is_build_id,
    is_upload_id,
)


def read(kind, *arguments) -> Any:
    """What *kind* makes of a document that it can read."""
    return kind.from_bytes(*arguments)


def test_a_build_that_failed_has_no_formats_key():
    document = json.loads(Build(builder="b", builder_id="i").to_bytes())
    assert set(document) == {
        "state", "state_time", "builder", "builder_id", "username", "python_path", "shell_type",
    }  # fmt: skip


def test_formats_are_one_sorted_string():
    assert json.loads(Build(formats=["raw", "qcow2"]).to_bytes())["formats"] == "qcow2,raw"
    assert read(Build, "x", b'{"formats":"qcow2,raw"}').formats == ["qcow2", "raw"]
    assert read(Build, "x", b'{"formats":["raw"]}').formats == []


def test_an_upload_under_way_has_nulls():
    document = json.loads(Upload(image="i", build_id="b", provider="p", path="/x").to_bytes())
    assert document == {
        "state": "uploading",
        "state_time": None,
        "external_id": None,
        "external_name": None,
        "format": None,
        "username": None,
        "python_path": None,
        "shell_type": None,
    }


@pytest.mark.parametrize("kind", [Build, Upload])
def test_readers_defaults_and_null(kind):
    absent = kind.from_bytes("x", b'{"state":"ready"}')
    assert (absent.username, absent.python_path, absent.shell_type) == ("zuul", "/usr/bin/python2", None)
    null = kind.from_bytes("x", b'{"state":"ready","username":null,"python_path":null}')
    assert (null.username, null.python_path) == (None, None)


@pytest.mark.parametrize(
    ("name", "build", "upload"),
    [
        ("62ee55d4b3414869b6b292a38d9f6cf0", True, False),
        ("0000000012", True, True),
        ("lock", False, False),
        ("62EE55D4B3414869B6B292A38D9F6CF0", False, False),
        ("00000000012", False, False),
    ],
)
def test_ids(name, build, upload):
    assert (is_build_id(name), is_upload_id(name)) == (build, upload)
