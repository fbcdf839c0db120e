# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A damaged cache of an inventory is noticed, whatever is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.cached_parts import sound_parts
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.gathering import RECORDS
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import Selection, enriched, hosts
from tests.support.effort import examples

ADDRESS = {"network": "n", "address": "192.0.2.1", "version": 4, "floating": False}
SERVER: dict[str, Any] = {
    **dict.fromkeys(("name", "server_id", "status", "provider", "node_id", "pool", "label", "image", "az"), "x"),
    "task_state": "",
    "created": "",
    "addresses": [ADDRESS],
    "metadata": {},
}
RECORD: dict[str, Any] = {
    **dict.fromkeys(("id", "state", "provider", "pool", "label", "az"), "x"),
    "private_ipv4": "",
    "public_ipv4": "",
    "public_ipv6": "",
    "external_id": None,
    "host_keys": [],
}
WHOLE: dict[str, Any] = {
    "east": {"listed_at": 1.0, "rows": [SERVER]},
    RECORDS: {"listed_at": 2, "rows": [RECORD], "tree": "t"},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def test_a_good_cache_is_taken_as_it_is():
    assert sound_parts(WHOLE) == (WHOLE, "")
    assert sound_parts(None) == ({}, "")


def changed(name: str, **values: Any) -> dict[str, Any]:
    part = WHOLE[name]
    row = {key: value for key, value in {**part["rows"][0], **values}.items() if value is not ...}
    return {**WHOLE, name: {**part, "rows": [row]}}


@pytest.mark.parametrize(
    "damaged",
    [
        {**WHOLE, "east": []},
        {**WHOLE, "east": {"rows": []}},
        {**WHOLE, "east": {"listed_at": "now", "rows": []}},
        {**WHOLE, "east": {"listed_at": 1.0, "rows": {}}},
        {**WHOLE, "east": {"listed_at": 1.0, "rows": [None]}},
        changed("east", node_id=...),
        changed("east", server_id=7),
        changed("east", metadata=[]),
        changed("east", addresses=[{}]),
        changed("east", addresses=None),
    ],
)
def test_a_damaged_part_is_left_out_and_named(damaged):
    good, told = sound_parts(damaged)
    assert good == {RECORDS: WHOLE[RECORDS]}
    assert told == "the inventory cache is damaged for east; listing again"


@pytest.mark.parametrize("damaged", [changed(RECORDS, external_id=...), changed(RECORDS, host_keys="x")])
def test_damaged_records_are_left_out(damaged):
    assert sound_parts(damaged)[0] == {"east": WHOLE["east"]}


@settings(max_examples=examples(300))
@given(JSON | st.dictionaries(st.sampled_from(["east", RECORDS]), JSON, max_size=2))
def test_whatever_the_cache_holds_makes_hosts_or_is_left_out(stored):
    parts, told = sound_parts(stored)
    records = parts.get(RECORDS, {"rows": []})["rows"]
    hosts(enriched(parts.get("east", {"rows": []})["rows"], records), Selection())
    assert told or parts == (stored or {})
