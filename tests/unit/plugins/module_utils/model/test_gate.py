# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a gate: it keeps what a killed cycle needs, and reads only what it can use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import (
    CANARY,
    CONTROL,
    MOST_RESULTS,
    MOST_VOID,
    PASSED,
    GateRecord,
    GateResult,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument


def test_it_is_read_as_it_was_stored():
    record = GateRecord("b1", "0000000001", "image", 5.0).asking(CANARY, "token", first=True)
    record = record.with_result(GateResult(CANARY, False, "why", "/log", "7", 8.0)).asking(CONTROL, "t2", first=False)
    stored = json.loads(json.dumps(record.document()))
    assert GateRecord.from_document({**stored, "later": 1}) == record
    assert (record.token, record.kind, record.request, record.first) == ("t2", CONTROL, "", False)


def test_results_belong_to_a_round_and_the_last_ones_are_kept():
    record = GateRecord("b1", "0000000001")
    for _unused in range(MOST_RESULTS + 5):
        record = record.with_result(GateResult(CANARY, False, "x" * 2000))
    assert len(record.results) == MOST_RESULTS and len(record.results[0].reason) <= 500
    record = record.next_round(9.0, "inconclusive")
    assert record.of_round() == () and (record.round, record.not_before, record.note) == (1, 9.0, "inconclusive")
    assert [one.round for one in record.with_result(GateResult(CONTROL, True)).of_round()] == [1]


def test_it_is_that_of_one_upload():
    record = GateRecord("b1", "0000000001")
    assert record.is_of(Upload(id="0000000001", build_id="b1"))
    assert not record.is_of(Upload(id="0000000002", build_id="b1"))
    ended = record.asking(CANARY, "t", first=False).ended("passed", "fine")
    assert (ended.outcome, ended.token, ended.kind) == ("passed", "", "")


@pytest.mark.parametrize(
    "odd", [{}, {"build": "b"}, {"build": 1, "upload": "u"}, {"build": "b", "upload": "u", "results": {}}]
)
def test_what_cannot_be_used_is_refused(odd: dict[str, Any]):
    with pytest.raises(BadDocument):
        GateRecord.from_document(odd)


def test_logs_of_runs_that_say_nothing_are_kept_apart_and_no_number_is_used_twice() -> None:
    record = GateRecord("b", "0000000001")
    assert record.next_log == 1
    for _unused in range(MOST_VOID + 2):
        record = record.with_void(GateResult(CANARY, False, "a wrong key", f"/logs/x-{record.next_log}.log"))
        record = record.next_round(9.0, "inconclusive")
    assert [one.log for one in record.void] == [f"/logs/x-{number}.log" for number in range(3, MOST_VOID + 3)]
    assert (record.results, record.of_round(), record.log_number) == ((), (), MOST_VOID + 2)
    assert GateRecord.from_document(json.loads(json.dumps(record.document()))) == record
    record = record.with_result(GateResult(CANARY, True, log=f"/logs/x-{record.next_log}.log"))
    assert record.log_number == MOST_VOID + 2, "it is not decided"
    record = record.ended(PASSED, "")
    assert (record.log_number, record.next_log) == (MOST_VOID + 3, MOST_VOID + 4)
    assert record.state == PASSED and len(record.logs()) == MOST_VOID + 1


def test_the_number_of_a_log_is_above_all_that_are_kept() -> None:
    record = GateRecord("b", "0000000001")
    for _unused in range(MOST_RESULTS + 3):
        record = record.with_result(GateResult(CANARY, False, log=f"/logs/x-{record.next_log}.log"))
    assert record.next_log == MOST_RESULTS + 4 and len(record.logs()) == MOST_RESULTS
