# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the first screen and the page say of requests that failed or wait for long."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.attention import RowsOf, attention
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_troubles import LONG_WAIT
from tests.support.config_texts import parse
from tests.support.tree_reading import NOW, reading_of

SERVER = "0b2c6a7e-5c0f-4c7e-9a39-3f1d8f3c4b{:02x}"
LABELS = [{"name": name, "diskimage": "tiny", "min-ram": 1} for name in ("small", "large")]
CONFIG = parse(
    {
        "zookeeper-servers": [{"host": "zk"}],
        "labels": [{"name": "small"}, {"name": "large"}],
        "diskimages": [{"name": "tiny"}],
        "providers": [
            {
                "name": "west",
                "cloud": "west",
                "diskimages": [{"name": "tiny"}],
                "pools": [{"name": "main", "max-servers": 40, "labels": LABELS}],
            }
        ],
    }
)


def told(documents: dict[str, Any]) -> list[dict[str, Any]]:
    reading = reading_of(documents)
    rows = RowsOf(provider_rows(CONFIG, reading, NOW), requests=request_rows(reading, NOW))
    return [row for row in attention(reading, NOW, rows, config=CONFIG) if row["cause"].startswith("requests-")]


def request(number: int, state: str, *labels: str, **reason: Any) -> dict[str, Any]:
    at = NOW - LONG_WAIT
    name = f"300-{number:010d}"
    return {
        f"{paths.REQUESTS}/{name}": {"state": state, "node_types": list(labels or ("small",)), "state_time": at},
        f"{paths.OWN}/waits/{name}": {"at": NOW, **reason},
    }


def failed(number: int, text: str, *labels: str, **figures: Any) -> dict[str, Any]:
    why = {"code": "launch-failed", "where": "west/main", "text": text, "owner": "image", **figures}
    return request(number, "failed", *labels, code="failed", text=text, reasons=[why])


def nodes(count: int, provider: str = "west", pool: str = "main", first: int = 0) -> dict[str, Any]:
    node = {"state": "in-use", "provider": provider, "pool": pool, "type": ["small"]}
    return {f"{paths.NODES}/{first + number:010d}": node for number in range(count)}


def full(number: int, **figures: Any) -> dict[str, Any]:
    why = {"code": "no-room", "where": "west/main", "resource": "instances", "needed": 1, "left": 0}
    return request(number, "requested", **{**why, "text": "1 instance needed, 0 left in west/main", **figures})


def test_an_owner_is_told_once_and_a_requestor_that_asks_for_too_much_has_its_remedy() -> None:
    (row,) = told(failed(1, "west/main: launches failed: no ssh [owner: image]"))
    assert row["owner"] == "image" and row["text"].endswith("launches failed: no ssh")
    (row,) = told(failed(1, "3 instances needed, west/main can never hold more than 2", owner="request"))
    assert row["remedy"].startswith("have its requestor ask for less, or raise the limit that is named")


def test_failed_launches_are_counted_by_the_nodes_that_failed() -> None:
    said = "west/main: launches failed: ssh did not answer"
    documents: dict[str, Any] = {}
    for number in range(9):
        documents |= failed(number, said, "small", "large", nodes=2)
    (row,) = told(documents)
    assert row["text"] == f"18 nodes of 9 requests for large, small failed: {said}" and row["count"] == 18
    (row,) = told(failed(1, said, nodes=1))
    assert row["text"] == f"1 node of 1 request for small failed: {said}"


def test_nodes_that_failed_are_counted_only_where_the_record_tells_them() -> None:
    for nonsense in ({}, {"nodes": "many"}, {"nodes": -3}, {"nodes": 0}, {"nodes": 1e300}, {"nodes": True}):
        (row,) = told(failed(1, "no answer", **nonsense) | failed(2, "no answer", nodes=2))
        assert row["text"] == "2 requests for small failed: no answer" and row["count"] == 2, nonsense


def test_failures_that_differ_by_the_ids_of_servers_are_one_cause() -> None:
    documents: dict[str, Any] = {}
    for number in range(30):
        server = SERVER.format(number)
        documents |= failed(number, f"west/main: launches failed: all hosts failed for instance {server}.", nodes=1)
    (row,) = told(documents)
    assert row["text"].startswith("30 nodes of 30 requests for small failed: west/main: launches failed: all hosts")
    assert "instance 0b2c6a7e-" in row["text"], "the words of the oldest one are told as they are"


def test_a_full_pool_tells_how_full_it_is() -> None:
    gone = {"gone": [{"pool": "main", "at": NOW - 40 * number} for number in range(12)]}
    (row,) = told(full(1) | nodes(40) | {f"{paths.OWN}/providers/west": gone})
    waits = "1 request for small waits: 1 instance needed, 0 left in west/main"
    aside = "40 of 40 instances used, 12 nodes of it were deleted in the last ten minutes"
    assert row["text"] == f"{waits} ({aside})"


def test_a_pool_in_a_full_cloud_tells_how_full_the_cloud_is() -> None:
    limits = {"at": NOW, "limits": {"instances": 30}, "others": {"instances": 6}}
    here = nodes(20) | nodes(4, pool="other", first=100) | {f"{paths.OWN}/providers/west": {"reading": limits}}
    (row,) = told(full(1) | here)
    assert "(30 of 30 instances of west used, 6 of them by others" in row["text"]


def test_a_pool_with_room_for_none_but_a_large_request_tells_its_use() -> None:
    (row,) = told(full(1, needed=4, left=2, text="4 instances needed, 2 left in west/main") | nodes(38))
    assert "4 instances needed, 2 left in west/main (38 of 40 instances used)" in row["text"]


def test_no_figures_are_told_of_a_pool_that_nobody_knows() -> None:
    for figures in ({"where": "moon/main"}, {"where": "west"}, {"where": None}, {"resource": "cores"}):
        (row,) = told(full(1, **figures) | nodes(40))
        assert "used" not in row["text"], figures
