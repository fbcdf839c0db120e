# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from werkzeug.datastructures import MultiDict

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.node_rows import NodeFilter, node_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.lists import (
    LONGEST_SEARCH,
    NODE_FIELDS,
    PAGE,
    REQUEST_FIELDS,
    Query,
    choices,
    listed,
)
from tests.support import busy_tree
from tests.support.tree_reading import NOW, reading_of

READING = reading_of(busy_tree.documents(NOW, 250, 120), busy_tree.locks(250))
NODES = node_rows(READING.below("/nodepool/nodes"), NodeFilter(), NOW, detail=False)
REQUESTS = request_rows(READING, NOW)
NODE_NAMES, REQUEST_NAMES = ("state", "provider", "pool", "label"), ("state", "label", "reason")


def nodes(**arguments):
    return listed(NODES, Query.of(arguments, NODE_NAMES), NODE_FIELDS)


def requests(**arguments):
    return listed(REQUESTS, Query.of(arguments, REQUEST_NAMES), REQUEST_FIELDS)


def test_pages_hold_all_rows_once():
    found = [nodes(page=str(number)) for number in (1, 2, 3)]
    assert [len(each.rows) for each in found] == [PAGE, PAGE, 50]
    assert [row["id"] for each in found for row in each.rows] == [row["id"] for row in NODES]
    assert {(each.count, each.total, each.pages) for each in found} == {(250, 250, 3)}


@pytest.mark.parametrize("page", ["0", "-1", "x", "", "²", "1e3", "99999999999999999999"])
def test_what_is_no_page_is_the_first(page):
    assert nodes(page=page).page == 1


def test_a_page_beyond_the_end_is_the_last():
    assert nodes(page="999999").page == 3


def test_filters_and_the_search_go_together():
    found = nodes(state="hold", provider="cloud-fra", q="DEBIAN")
    assert found.rows and all(
        row["state"] == "hold" and row["provider"] == "cloud-fra" and "debian" in row["labels"][0] for row in found.rows
    )
    assert nodes(state="no-such").rows == [] and nodes(label="fedora-42").count == sum(
        "fedora-42" in row["labels"] for row in NODES
    )


def test_requests_by_the_code_of_their_reason():
    assert {row["reason"]["code"] for row in requests(reason="frozen").rows} == {"frozen"}
    assert {row["state"] for row in requests(reason="unsaid").rows} == {"pending"}
    assert requests(q="quota exceeded").count == requests(reason="frozen").count > 0


def test_a_link_keeps_the_filters_and_the_search():
    query = Query.of({"state": "hold", "q": "a&b", "page": "2", "other": "x"}, NODE_NAMES)
    assert query.link(page=3) == "?state=hold&q=a%26b&page=3"
    assert query.link(page=1) == "?state=hold&q=a%26b&page=1"
    assert Query.of({}, NODE_NAMES).link() == "?"


def test_a_long_search_is_cut_and_a_repeated_argument_counts_once():
    assert len(Query.of({"q": "x" * 5000}, ()).search) == LONGEST_SEARCH
    assert Query.of(MultiDict([("state", "hold"), ("state", "ready")]), NODE_NAMES).filters == {"state": "hold"}


def test_the_choices_are_the_values_that_there_are():
    found = choices(NODES, NODE_NAMES)
    assert found["provider"] == sorted(busy_tree.PROVIDERS) and found["label"] == sorted(busy_tree.LABELS)
    assert set(choices(REQUESTS, REQUEST_NAMES)["reason"]) == {"failed", "frozen", "no-room", "tenant-limit", "unsaid"}
