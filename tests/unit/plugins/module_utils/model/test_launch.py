# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launch records and marks, and values of the cloud."""

from __future__ import annotations

import json
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import META_LAUNCH, Server
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import (
    IN_FLIGHT,
    Launch,
    Phase,
    make_mark,
    node_of_mark,
)


@given(st.from_regex(r"\d{10}", fullmatch=True), st.integers(1, 99), st.from_regex(r"[0-9a-f-]{1,20}", fullmatch=True))
def test_a_mark_leads_back_to_its_node(node_id, attempt, nonce):
    mark = make_mark(node_id, attempt, nonce)
    assert node_of_mark(mark) == node_id
    assert len(mark) <= 255, "nova's bound for metadata"


def test_two_attempts_have_two_marks():
    assert make_mark("1", 1, "a") != make_mark("1", 2, "a") != make_mark("1", 2, "b")


def test_every_field_is_stored_and_what_a_newer_version_adds_is_ignored():
    launch = Launch("7", "east", "main", "small", failures=["a"], superseded=["m"], mark="7-1-a", started=1.5)
    document = json.loads(json.dumps(launch.document()))
    assert set(document) == {item.name for item in fields(Launch)}
    assert Launch.from_document({**document, "new": [1]}) == launch


def test_the_record_of_an_older_version_gets_the_defaults():
    launch = Launch.from_document({"node_id": "7", "provider": "east", "pool": "main", "label": "small"})
    assert (launch.phase, launch.attempt, launch.failures) == (Phase.QUEUED, 1, [])


def test_in_flight_until_ready_or_failed():
    launch = Launch("7", "east", "main", "small")
    for phase in IN_FLIGHT:
        launch.enter(phase, 3.0)
        assert launch.in_flight and launch.since == 3.0
    for phase in (Phase.READY, Phase.FAILED):
        launch.enter(phase, 4.0)
        assert not launch.in_flight


def test_the_mark_of_a_server():
    assert Server("1", "np", "ACTIVE", {META_LAUNCH: "7-1-a"}).launch_mark == "7-1-a"
    assert Server("1", "np", "ACTIVE").launch_mark is None
