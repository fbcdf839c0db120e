# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.ownership.registry import KnownPool
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import Breaker, Sign
from ansible_collections.stackci.nodepool.plugins.module_utils.model.documents import parse, why_unreadable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.freeze import Freeze
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import Lease, LeaseError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.stored import BadDocument, believed, made
from ansible_collections.stackci.nodepool.plugins.module_utils.model.tombstone import Tombstone
from tests.support.odd_documents import OWN, Spoiler, documents

NOW = 1_700_000_000.0
READERS = {
    "launches/0000000900": Launch.from_document,
    "tombstones/east/0000000800": Tombstone.from_document,
    "pools/p": KnownPool.from_document,
    "leases/x": Lease.from_document,
}
KEPT = {path: document for path, document in documents(NOW, "p").items() if path.startswith(OWN)}


@pytest.mark.parametrize("path", sorted(READERS))
def test_a_whole_document_is_read(path):
    assert READERS[path](KEPT[f"{OWN}/{path}"])


@pytest.mark.parametrize("path", sorted(READERS))
@given(seed=st.integers(0, 2**30))
def test_a_spoilt_document_is_read_or_refused(path, seed):
    document = parse(Spoiler(seed).data(KEPT[f"{OWN}/{path}"]))
    if document is None:
        return
    try:
        read: Any = READERS[path](document)
    except (BadDocument, LeaseError):
        return
    for item in fields(read):
        value = getattr(read, item.name)
        if str(item.type).startswith(("float", "int")) and value is not None:
            assert math.isfinite(value - NOW), item.name
        elif str(item.type) == "list[str]":
            assert all(isinstance(part, str) for part in value), item.name


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (None, "it is null, not a JSON object"),
        ([], "it is a list, not a JSON object"),
        ({}, "it has no 'resource'"),
        ({"resource": "cores", "until": "soon"}, "'until' is a text, not a finite number"),
        ({"resource": "cores", "until": None}, "'until' is null, not a finite number"),
        ({"resource": "cores", "until": True}, "'until' is a truth value, not a finite number"),
        ({"resource": "cores", "until": 10**400}, "'until' is a number out of range, not a finite number"),
        ({"resource": "cores", "until": 1, "refusals": [1, "x"]}, "'refusals' is a list, not a list of finite numbers"),
        ({"resource": "cores", "until": 1, "evidence": 7}, "it is a number, not a JSON object"),
        ({"resource": "cores", "until": 1, "evidence": {"others": {}}}, "'others' is an object, not a finite number"),
    ],
)
def test_the_sentence_says_what_is_wrong(document, problem):
    with pytest.raises(BadDocument) as caught:
        Freeze.from_document(document)
    assert str(caught.value) == problem


def test_what_may_be_null_may_be_null_and_other_keys_are_those_of_another_version():
    read = made(Launch, {**KEPT[f"{OWN}/launches/0000000900"], "az": None, "later": [1]})
    assert read.az is None
    assert Freeze.from_document({"resource": "cores", "until": 1, "evidence": {"bound": None}}).evidence.bound is None


def test_failures_beyond_all_reason_do_not_overflow():
    assert Breaker(failures=2**60).failed(Sign("again"), NOW).until == NOW + 900.0


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", None),
        (b'{"a": [1e400, NaN]}', None),
        (b"{", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[]", "it is not a JSON object"),
        (b'{"a": ' * 500 + b"1" + b"}" * 500, "it is nested deeper than 100 levels"),
        (b"[" * 200_000, "it is nested deeper than 100 levels"),
        (json.dumps({"a": [[]] * 500}).encode(), None),
    ],
)
def test_why_a_document_cannot_be_read(data, problem):
    assert why_unreadable(data) == problem
    assert (parse(data) is None) == (problem is not None or not data)


def test_numbers_beyond_all_bounds_are_texts():
    assert parse(b'{"a": [1e400, -1e400, 1e300, NaN]}') == {"a": ["1e400", "-1e400", 2.0**63, "NaN"]}


def test_a_moment_later_than_can_be_meant_is_not_believed():
    assert believed(NOW + 5, NOW, 60) == NOW + 5
    assert believed(NOW + 60, NOW, 60) == NOW + 60
    assert believed(NOW + 5000, NOW, 60) == 0.0
    assert believed(NOW - 5000, NOW, 60) == NOW - 5000
