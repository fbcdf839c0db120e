# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who used what: rows, CSV and the table of warmth from the tree."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.model.day_usage import AMOUNTS, PARTS, Usage, day_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch, Phase
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node_use import NodeUse
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.usage_rows import (
    DAYS,
    ENTRIES,
    HOUR,
    STARTED,
    csv_of,
    figures,
    only,
    period,
    rows_of,
    usage_by_day,
    warmth_rows,
)
from tests.support.tree_reading import NOW, reading_of

TODAY, YESTERDAY = day_of(NOW), day_of(NOW - 86400)
OURS = ("t1", "p", "tox", "small", "east", "main")


def usage(**rows: dict[str, int]) -> Usage:
    made = Usage()
    for tenant, amounts in rows.items():
        made.add((tenant.removeprefix("_"), *OURS[1:]), **amounts)
    return made


def node(state: str, at: float, **more: Any) -> dict[str, Any]:
    document = {"state": state, "state_time": at, "type": ["small"], "provider": "east", "pool": "main"}
    return {**document, "created_time": NOW - 1000, "tenant_name": "t1", "user_data": {"project_name": "p"}, **more}


def launch(node_id: str, **more: Any) -> dict[str, Any]:
    made = Launch(node_id, "east", "main", "small", request_id="100-1", phase=Phase.READY, job="tox", **more)
    return made.document()


def test_days_entries_and_nodes_that_exist_are_added_up() -> None:
    life = NodeUse("0000000007", *OURS[3:], *OURS[:3], NOW - 500, NOW - 400, NOW - 400, None, NOW - 300, NOW - 290)
    being_deleted = NodeUse("0000000008", *OURS[3:], *OURS[:3], NOW - 500, NOW - 400, NOW - 400, None, NOW - 10)
    documents = {
        f"{DAYS}/{YESTERDAY}": usage(t1={"used": HOUR}).document(),
        f"{DAYS}/{TODAY}": usage(t1={"used": HOUR, "nodes": 1}).document(),
        f"{ENTRIES}/0000000007": life.document(),
        f"{ENTRIES}/0000000008": being_deleted.document(),
        f"{paths.NODES}/0000000008": node("deleting", NOW - 10),
        f"{paths.NODES}/0000000009": node("in-use", NOW - 50),
        f"{STARTED}/0000000009": launch("0000000009", created_at=NOW - 90, since=NOW - 60, server_id="s-9"),
        f"{paths.NODES}/0000000010": node("ready", NOW - 100, tenant_name=None, user_data=None),
    }
    used = usage_by_day(reading_of(documents), NOW)
    assert used.problems == [] and set(used.days) == {YESTERDAY, TODAY}
    today = used.between(TODAY, TODAY)
    assert today.rows[OURS][PARTS.index("used")] == HOUR + (100 + 390 + 60) * 1000
    assert today.rows[OURS][PARTS.index("building")] == (100 + 100 + 30) * 1000
    assert today.rows[OURS][PARTS.index("deleting")] == (10 + 10) * 1000
    assert today.rows["", "", "", *OURS[3:]][PARTS.index("idle")] == 100 * 1000
    assert today.total("nodes") == 5
    assert used.between(YESTERDAY, TODAY).total("used") == today.total("used") + HOUR


def test_documents_that_cannot_be_used_are_told_and_left_out() -> None:
    documents = {
        f"{DAYS}/{TODAY}": {"rows": 1},
        f"{DAYS}/tomorrow": usage(t1={"used": 1}).document(),
        f"{ENTRIES}/0000000007": b"nonsense",
        f"{paths.NODES}/0000000009": b"nonsense",
        f"{paths.NODES}/0000000010": node("in-use", NOW - 50, type=None, created_time="x"),
        f"{STARTED}/0000000010": {"node_id": 7},
    }
    used = usage_by_day(reading_of(documents), NOW)
    assert used.problems == [
        f"{DAYS}/{TODAY}: 'amounts' or 'rows' is not a list",
        f"{ENTRIES}/0000000007: it is not JSON",
    ]
    assert used.between(TODAY, TODAY).total("used") == 0


def test_rows_are_sorted_by_hours_and_have_means() -> None:
    both = usage(
        t1={"used": HOUR, "idle": HOUR // 2, "warm": 2, "warm_wait": 3000, "nodes": 2, "servers": 3},
        t2={"held": 3 * HOUR, "nodes": 1, "servers": 1},
    )
    rows = rows_of(both, ("tenant",))
    assert [(row["tenant"], row["hours"]) for row in rows] == [("t2", 3.0), ("t1", 1.5)]
    assert (rows[1]["idle_hours"], rows[1]["warm_wait_seconds"], rows[1]["cold_wait_seconds"]) == (0.5, 1.5, None)
    assert rows_of(both, ("label", "pool"))[0]["hours"] == 4.5
    assert rows_of(both, ())[0]["nodes"] == 3
    assert rows_of(only(both, {"tenant": ["t1"], "label": []}), ("tenant",)) == rows[1:]


def test_warmth_is_what_ready_nodes_cost_and_saved() -> None:
    made = Usage()
    made.add(("", "", "", "small", "east", "main"), idle=2 * HOUR)
    made.add(OURS, warm=10, warm_wait=10_000, cold=5, cold_wait=505_000)
    made.add((*OURS[:3], "large", *OURS[4:]), cold=1, cold_wait=1000)
    small, large = warmth_rows(made, {"small": 4})
    assert small == {
        "label": "small",
        "min_ready": 4,
        "idle_hours": 2.0,
        "warm": 10,
        "warm_wait_seconds": 1.0,
        "cold": 5,
        "cold_wait_seconds": 101.0,
        "saved_seconds": 1000.0,
        "saved_per_idle_hour": 500.0,
    }
    assert (large["min_ready"], large["saved_seconds"], large["saved_per_idle_hour"]) == (None, None, None)


def test_csv_is_read_by_others_and_runs_nothing_in_a_spreadsheet() -> None:
    hostile = ['=HYPERLINK("http://x")', "a,b", 'say "x"', "two\nlines", "+1", ""]
    rows = [{"tenant": name, **figures(dict.fromkeys(AMOUNTS, 0))} for name in hostile]
    read = list(csv.reader(io.StringIO(csv_of(rows, ("tenant",)), newline="")))
    assert read[0][:3] == ["tenant", "hours", "used_hours"] and read[0][-1] == "cold_wait_seconds"
    assert [line[0] for line in read[1:]] == [f"'{hostile[0]}", "a,b", 'say "x"', "two lines", "'+1", ""]
    assert {len(line) for line in read} == {len(read[0])}


def test_periods() -> None:
    assert period(NOW, 1, None, None) == (TODAY, TODAY)
    assert period(NOW, 2, None, None) == (YESTERDAY, TODAY)
    assert period(NOW, 7, "2026-11-01", "2026-11-03") == ("2026-11-01", "2026-11-03")
    assert period(NOW, 7, None, "2026-03-03") == ("2026-02-25", "2026-03-03")
    for first, last in (("x", None), (None, "2026-13-01"), ("2026-11-05", "2026-11-04")):
        with pytest.raises(ValueError, match=r"day|data"):
            period(NOW, 7, first, last)
