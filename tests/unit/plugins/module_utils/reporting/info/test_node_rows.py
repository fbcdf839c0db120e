# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import Found
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.node_rows import (
    NodeFilter,
    gone_life,
    node_life,
    node_rows,
    odd_row,
)
from tests.support import stock_cli
from tests.support.effort import examples
from tests.support.populated_tree import (
    BUILDING,
    DONE,
    EAST,
    HELD,
    IN_USE,
    NOT_JSON,
    ODD,
    PENDING,
    READY,
    WEST,
    documents,
)
from tests.support.tree_reading import NOW, populated, reading_of

NODES = "/nodepool/nodes"
SERVER = "0e3f1b1c-3f4e-4f55-9f0b-6a3a3f1d1c52"
COMMON = (SERVER, "198.51.100.7", "")
# ID, Provider, Label, Server ID, Public IPv4, IPv6, State, Age, Locked, Pool, Hostname, Private IPv4, AZ, Username,
# Port, Launcher, Allocated To, Hold Job, Comment, User Data, Driver Data
RECORDED = {
    READY: (
        *(READY, "west", "small", *COMMON, "ready", "00:00:03:02", "unlocked", "main", "", "10.0.0.7", "nova", "zuul"),
        *("22", WEST, "", "", "", "", ""),
    ),
    IN_USE: (
        *(IN_USE, "west", "small,big", *COMMON, "in-use", "00:00:01:00", "locked", "main", "", "10.0.0.7", "nova"),
        *("zuul", "22", WEST, DONE, "", "", "{'zuul_system': '5f1c', 'project_name': 'example.org/project'}", ""),
    ),
    HELD: (
        *(HELD, "east", "small", *COMMON, "hold", "01:02:03:04", "unlocked", "main", "", "10.0.0.7", "nova", "zuul"),
        *("22", EAST, DONE, "t1 project unit", "debugging", "", ""),
    ),
    BUILDING: (
        *(BUILDING, "west", "small", "", "", "", "building", "00:00:00:30", "locked", "main", "", "", "", "zuul"),
        *("22", WEST, PENDING, "", "", "", ""),
    ),
}


def rows(*, detail=True, **wanted):
    return {row["id"]: row for row in node_rows(populated().below(NODES), NodeFilter(**wanted), NOW, detail=detail)}


def test_the_table_that_nodepool_shows():
    found = rows()
    shown = {node_id: tuple(stock_cli.cells(found[node_id], stock_cli.NODES).values()) for node_id in RECORDED}
    assert shown == RECORDED


def test_what_cannot_be_used_is_told_and_the_listing_goes_on():
    found = rows()
    assert list(found) == sorted(found)
    assert len(found) == 7
    assert found[NOT_JSON]["problems"] == ["it is not JSON"]
    assert found[NOT_JSON]["labels"] == [] and found[NOT_JSON]["state"] is None
    assert found["0000000007"]["problems"] == ["it is empty: a client locked a record that had been deleted"]
    assert found[ODD]["problems"] == [
        "it has no 'provider'",
        "'state_time' is a text, not a finite number",
        "'public_ipv4' is a list, not a text",
        "'type' is an object, not a list of texts",
        "'connection_port' is a text, not a whole number",
    ]


@pytest.mark.parametrize(("kind", "problems"), [("kubectl", 0), ("namespace", 0), ("project", 0), ("ssh", 2)])
def test_a_node_of_a_cluster_has_no_port_and_no_problem_and_its_token_is_not_shown(kind, problems):
    access = {"token": "secret", "namespace": "main-1"}
    stored = {"type": ["pod"], "state": "ready", "state_time": NOW, "provider": "cluster", "connection_type": kind}
    document = {**stored, "connection_port": access, "ssh_port": access}
    (row,) = node_rows([Found("0000000001", document, None, False, NOW)], NodeFilter(), NOW, detail=True)
    assert row["port"] is None and len(row["problems"]) == problems and "secret" not in str(row)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"ids": [READY, HELD]}, [READY, HELD]),
        ({"providers": ["east"]}, [HELD]),
        ({"labels": ["big"]}, [IN_USE]),
        ({"states": ["ready", "building"]}, [READY, BUILDING]),
        ({"pools": ["none"]}, []),
        ({"older_than": 100}, [READY, HELD]),
        ({"older_than": 100, "providers": ["west"]}, [READY]),
    ],
)
def test_filters(wanted, ids):
    assert list(rows(**wanted)) == ids


def test_less_is_returned_without_detail():
    brief, whole = rows(detail=False)[HELD], rows()[HELD]
    assert brief.items() <= whole.items()
    assert "hold_job" not in brief and whole["expires_in"] == 7200 - 93784
    assert rows()[READY]["expires_in"] is None


def life(node_id):
    reading = populated()
    return node_life(reading.one(f"{NODES}/{node_id}"), reading.one(f"/nodepool/stackci/launches/{node_id}"), NOW)


def test_the_life_of_a_node_that_boots():
    told = life(BUILDING)
    assert [(step["step"], step["age"]) for step in told["steps"]] == [
        ("recorded", 130),
        ("assigned", 130),
        ("launched", 31),
        ("building", 30),
        ("asked", 22),
        ("created", 20),
        ("phase booting", 20),
    ]
    assert told["steps"][4]["text"] == f"attempt 2: the cloud was asked for a server, mark {BUILDING}-2-abc"
    assert (told["attempt"], told["failures"]) == (2, ["attempt 1: fault: No valid host was found"])
    assert (told["server_id"], told["boot_seconds"], told["problem"]) == (
        "5f1c2d3e-0000-4f55-9f0b-6a3a3f1d1c52",
        None,
        None,
    )


def test_the_record_comes_before_the_launch_that_began_with_it_however_their_clocks_were_read():
    path, record = f"{NODES}/{BUILDING}", documents(NOW)
    record[path]["created_time"] = NOW - 30.9
    record[f"/nodepool/stackci/launches/{BUILDING}"].update(started=NOW - 31, asked_at=NOW - 31)
    reading = reading_of(record)
    told = node_life(reading.one(path), reading.one(f"/nodepool/stackci/launches/{BUILDING}"), NOW)
    assert [step["step"] for step in told["steps"]][:4] == ["recorded", "assigned", "launched", "asked"]


def test_the_record_of_a_deleted_node_comes_first():
    stone = {"node_id": READY, "times": {"launched": NOW - 90.1, "recorded": NOW - 90, "used": NOW - 5}, "buried": NOW}
    told = gone_life(Found(READY, stone, None, False, NOW), NOW)
    assert [step["step"] for step in told["steps"]][:3] == ["recorded", "launched", "used"]
    assert told["steps"][2]["text"] == "the node was released"


def test_the_life_of_a_node_without_a_record_of_its_launch():
    told = life(READY)
    assert [step["step"] for step in told["steps"]] == ["recorded", "ready"]
    assert told["server_id"] == SERVER
    assert told["problem"] == "there is no record of its launch: another launcher created it, or it is gone"


def test_the_life_of_a_held_node_whose_launch_cannot_be_read():
    told = life(HELD)
    assert told["steps"][-1]["text"] == "held for t1 project unit: debugging"
    assert told["problem"].startswith("the record of its launch cannot be used: ")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
KEYS = sorted(documents(NOW)[f"{NODES}/{READY}"])


@settings(max_examples=examples(200), deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), JSON), st.dictionaries(st.sampled_from(["node_id", "phase", "since"]), JSON)
)
def test_whatever_others_wrote_there_is_a_row_and_a_life(document, launch):
    found = Found("0000000001", json.loads(json.dumps(document)), None, False, NOW)
    (row,) = node_rows([found], NodeFilter(), NOW, detail=True)
    assert row["id"] == "0000000001"
    assert all(isinstance(label, str) for label in row["labels"])
    json.dumps(row)
    json.dumps(node_life(found, Found("0000000001", launch, None, False, NOW), NOW))


@pytest.mark.parametrize("detail", [False, True])
def test_a_limit_of_a_hold_that_is_none_is_told_once(detail):
    record = {"state": "hold", "type": ["small"], "provider": "west", "state_time": NOW - 5.0}
    problems = {}
    for limit in ("1h", -5, [600], math.nan, math.inf, None, 600):
        reading = reading_of({f"{NODES}/0000000001": json.dumps({**record, "hold_expiration": limit}).encode()})
        found = reading.one(f"{NODES}/0000000001")
        (row,) = node_rows([found], NodeFilter(), NOW, detail=detail)
        problems[str(limit)] = len(row["problems"])
        assert bool(odd_row(found)) == bool(row["problems"])
    assert problems == {"1h": 1, "-5": 1, "[600]": 1, "nan": 1, "inf": 1, "None": 0, "600": 0}
