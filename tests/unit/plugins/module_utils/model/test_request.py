# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import (
    NodeRequest,
    RequestState,
    request_prefix,
)

# As Zuul writes it.
ZUUL = (
    b'{"requestor_data":{"build_set_uuid":"b","tenant_name":"t1","pipeline_name":"p","job_uuid":"j","job_name":"n",'
    b'"span_info":null},"node_types":["small","small"],"requestor":"3d8e","created_time":1795198332.84,'
    b'"provider":null,"state":"requested","state_time":1795198332.84,"relative_priority":0,"event_id":"ev1",'
    b'"tenant_name":"t1"}'
)


def read(kind, *arguments) -> Any:
    """What *kind* makes of a document that it can read."""
    return kind.from_bytes(*arguments)


def test_a_request_of_zuul():
    request = read(NodeRequest, "200-0000000012", ZUUL, 0)
    assert request.node_types == ["small", "small"]
    assert (request.nodes, request.declined_by, request.reuse) == ([], [], True)
    assert (request.priority, request.sequence, request.order) == (200, 12, ("200", 0, "0000000012"))
    assert not request.broken
    document = json.loads(request.to_bytes())
    assert document == json.loads(ZUUL) | {"nodes": [], "declined_by": [], "reuse": True}


def test_what_zuul_insists_on_is_written_even_when_there_is_nothing():
    document = json.loads(NodeRequest(node_types=["a"]).to_bytes())
    for key in ("state", "state_time", "event_id", "requestor", "requestor_data", "node_types", "provider"):
        assert key in document
    assert document["created_time"] is None


@pytest.mark.parametrize("value", [None, "five", [], {}])
def test_a_bad_relative_priority_is_zero(value):
    assert NodeRequest.from_document("100-0000000001", {"relative_priority": value}).relative_priority == 0


def test_requestor_data_is_returned_unchanged():
    data = {"a": [1, {"b": None}]}
    request = NodeRequest.from_document("x", {"requestor_data": data})
    assert json.loads(request.to_bytes())["requestor_data"] == data


@pytest.mark.parametrize(("priority", "prefix"), [(100, "100-"), (0, "000-"), (7, "007-"), (999, "999-")])
def test_prefixes_have_three_digits(priority, prefix):
    assert request_prefix(priority) == prefix


@pytest.mark.parametrize("priority", [-1, 1000])
def test_other_priorities_are_refused(priority):
    with pytest.raises(ValueError, match="0 to 999"):
        request_prefix(priority)


@pytest.mark.parametrize("name", ["", "lock", "1000-0000000001", "100-1", "100_0000000001"])
def test_ids_that_are_none_of_ours_come_last(name):
    assert NodeRequest(id=name).order > NodeRequest(id="900-2147483647", relative_priority=5).order


def test_a_counter_that_wrapped_is_read():
    assert NodeRequest(id="100--000000005").sequence == -5


@given(st.lists(st.tuples(st.integers(0, 999), st.integers(-5, 500), st.integers(0, 2**31 - 1)), max_size=20))
def test_order_is_that_of_the_numbers(keys):
    requests = [NodeRequest(id=f"{p:03d}-{s:010d}", relative_priority=r) for p, r, s in keys]
    ordered = sorted(requests, key=lambda request: request.order)
    assert [(r.priority, r.relative_priority, r.sequence) for r in ordered] == sorted(keys)


def test_states():
    assert {"requested", "pending", "fulfilled", "failed"} == RequestState.ALL


@pytest.mark.parametrize("more", [{}, {"requestor_data": None}])
def test_a_request_without_data_of_its_requestor_is_a_request(more):
    document = {"state": RequestState.REQUESTED, "node_types": ["a"], **more}
    request = read(NodeRequest, "100-0000000001", json.dumps(document).encode(), 0)
    assert (request.node_types, request.requestor_data, request.broken) == (["a"], None, False)
    assert json.loads(request.to_bytes())["requestor_data"] is None
