# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the listed servers belong to a tree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import NodepoolError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.own_servers import own_servers
from tests.support.effort import examples

TREES = st.sampled_from(["", "a", "b"])


def server(number: int, tree: str) -> dict[str, Any]:
    return {"node_id": f"{number}", "server_id": f"s{number}", "metadata": {"stackci_site": tree} if tree else {}}


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(TREES, st.booleans()), max_size=6))
def test_a_server_is_of_the_tree_of_its_mark_or_of_its_record(servers):
    rows = [server(number, tree) for number, (tree, _known) in enumerate(servers)]
    records = [
        {"id": f"{number}", "external_id": f"s{number}"} for number, (_tree, known) in enumerate(servers) if known
    ]
    found = {row["server_id"] for row in own_servers(rows, records, tree="a")}
    assert found == {f"s{number}" for number, (tree, known) in enumerate(servers) if tree == "a" or known}
    assert own_servers(rows, records, tree="a", chosen="any") == rows
    other = {row["server_id"] for row in own_servers(rows, records, tree="a", chosen="b")}
    assert other == {f"s{number}" for number, (tree, _known) in enumerate(servers) if tree == "b"}


def test_a_tree_without_an_id_has_the_servers_of_its_records():
    rows = [server(1, ""), server(2, ""), server(3, "a")]
    assert own_servers(rows, [{"id": "2", "external_id": "s2"}], tree="") == [rows[1]]


def test_a_record_of_another_server_does_not_count():
    assert own_servers([server(1, "b")], [{"id": "1", "external_id": "s2"}], tree="a") == []


def test_an_unknown_tree_is_the_only_one_or_an_error():
    rows = [server(1, "a"), server(2, "")]
    assert own_servers(rows, []) == rows
    with pytest.raises(NodepoolError, match=r"several trees.*: a \(1\), b \(1\)\..*tree: any"):
        own_servers([*rows, server(3, "b")], [])
