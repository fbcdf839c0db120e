# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine-readable type of an error is found whatever the body is."""

from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.error_type import LONGEST, error_type


@pytest.mark.parametrize(
    ("document", "found"),
    [
        ({"NeutronError": {"type": "OverQuota", "message": "m", "detail": ""}}, "OverQuota"),
        ({"forbidden": {"code": 403, "message": "m"}}, "forbidden"),
        ({"overLimit": {"code": 413, "message": "m"}}, "overLimit"),
        ({"error": {"code": 401, "message": "m", "title": "Unauthorized"}}, ""),
        ({"NeutronError": "a text"}, ""),
        ({"NeutronError": {"type": 5}}, ""),
        ({"x" * (LONGEST + 1): {}}, ""),
        ({"a": {}, "b": {}}, ""),
        ([], ""),
        (None, ""),
        ("text", ""),
    ],
)
def test_the_type_is_the_one_that_the_service_names(document, found):
    assert error_type(json.dumps(document)) == found


@pytest.mark.parametrize("body", ["", "<html>", "{", "[" * 100_000, "\x00"])
def test_what_is_no_json_names_none(body):
    assert error_type(body) == ""
