# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What lines about a node or a request are about."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lines import Line
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.subjects import subject_of_node

NODE = Node(id="17", provider="east", pool="main", type=["small"], allocated_to="100-1", external_id="0e3f")


def launch(request: str | None, event: str | None) -> Launch:
    return Launch("17", "east", "main", "small", request_id=request, event_id=event)


def test_of_a_node_all_that_its_records_tell():
    found = Line("x", **subject_of_node(NODE, launch("100-1", "4c1f"))).about
    assert found == {
        "provider": "east", "pool": "main", "label": "small", "request": "100-1", "node": "17", "event_id": "4c1f",
        "server": "0e3f",
    }  # fmt: skip


@pytest.mark.parametrize("record", [None, launch(None, None), launch("100-0", "other")])
def test_the_event_of_another_request_is_not_that_of_the_node(record):
    assert "event_id" not in Line("x", **subject_of_node(NODE, record)).about


def test_documents_of_others_do_not_stop_a_line():
    odd = Node(id="17", external_id=["no", "text"])
    assert Line("x", **subject_of_node(odd, None)).about == {"node": "17"}
