# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import explanation
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import (
    RequestFilter,
    request_rows,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import request_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.runtime.last_state import with_age
from ansible_collections.stackci.nodepool.plugins.modules import request_info
from tests.support import stock_cli
from tests.support.documented import differences
from tests.support.effort import examples
from tests.support.populated_tree import (
    BEHIND,
    BROKEN,
    BUILDING,
    DECLINED,
    DONE,
    EAST,
    FAILED,
    IN_USE,
    PENDING,
    STOCK,
    WAITING,
    WEST,
    documents,
)
from tests.support.tree_reading import NOW, populated, reading_of

# Request ID, Priority, State, Requestor, Node Types, Nodes, Declined By, Event ID
RECORDED = [
    (WAITING, "0", "requested", "zuul", "small,small", "", "", "4c1f"),
    (PENDING, "0", "pending", "zuul", "small", "", "", "4c1f"),
    (DONE, "0", "fulfilled", "zuul", "small", IN_USE, "", "4c1f"),
    (BEHIND, "1", "requested", "zuul", "big", "", "", "4c1f"),
    (DECLINED, "2", "requested", "zuul", "small", "", EAST, "4c1f"),
    (FAILED, "0", "failed", "zuul", "huge", "", f"{WEST},{EAST}", "4c1f"),
]


def rows():
    return request_rows(populated(), NOW)


def explained(request_id, **more):
    reading = reading_of({**documents(NOW), **more}) if more else populated()
    return explanation(reading, request_rows(reading, NOW), request_id, NOW)


def test_the_table_that_nodepool_shows_in_the_order_of_the_queue():
    shown = [tuple(stock_cli.cells(row, stock_cli.REQUESTS).values()) for row in rows()]
    assert shown[:-1] == RECORDED
    assert rows()[-1]["problems"] == ["it has no 'node_types'", "'state_time' is a truth value, not a finite number"]


def test_the_place_in_the_queue_and_the_reason():
    found = {row["id"]: row for row in rows()}
    places = {request_id: row["place"] for request_id, row in found.items() if row["place"]}
    assert places == {WAITING: 1, BEHIND: 2, DECLINED: 3, BROKEN: 4}
    reason = found[WAITING]["reason"]
    assert (reason["code"], reason["since"], reason["age"]) == ("no-room", NOW - 250, 5.0)
    assert found[BEHIND]["reason"]["text"] == "the stored reason cannot be used: it is not JSON"
    assert found[DECLINED]["reason"] is None
    assert found[PENDING]["locked"] and not found[WAITING]["locked"]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"states": ["pending", "failed"]}, [PENDING, FAILED]),
        ({"labels": ["big"]}, [BEHIND]),
        ({"providers": ["west"]}, [DECLINED]),
        ({"requestors": ["nobody"]}, []),
        ({"older_than": 300}, [WAITING, DECLINED, FAILED]),
        ({"ids": [DONE]}, [DONE]),
    ],
)
def test_filters(wanted, ids):
    assert [row["id"] for row in rows() if RequestFilter(**wanted).takes(row)] == ids


def test_a_request_that_waits_is_explained_with_figures():
    told = explained(WAITING)
    assert told["summary"] == "it waits at place 1 in the queue: 2 instances needed, 1 left in west/main"
    assert (told["since"], told["ahead"], told["behind"]) == (NOW - 250, [], [])
    assert told["unblocked_by"].startswith("nodes are released")
    pools = {pool["id"]: pool for pool in told["pools"]}
    assert pools[WEST]["figures"] == {"needed": 2, "left": 1} and pools[WEST]["as_of"] == 5.0
    assert (pools[EAST]["code"], pools[EAST]["registered"]) == ("absent", False)
    assert pools[STOCK]["text"] == "north/main does not offer small"
    assert told["expected_seconds"] is None and told["expected"].startswith("unknown: ")


def test_a_request_for_which_no_launcher_acts_is_told_so_beside_the_last_reason():
    tree = {path: data for path, data in documents(NOW).items() if not path.startswith("/nodepool/components/")}
    reading = reading_of(tree)
    told = explanation(reading, request_rows(reading, NOW), WAITING, NOW)
    assert told["unblocked_by"].startswith("a launcher is started; then: nodes are released")
    pools = {pool["id"]: pool for pool in told["pools"]}
    assert pools[WEST]["text"] == "2 instances needed, 1 left in west/main; no launcher serves it now"
    assert pools[WEST]["code"] == "no-room"


def test_one_launcher_that_could_serve_it_is_enough():
    tree = documents(NOW)
    pool = tree["/nodepool/components/pool/launcher10000000001"]
    waits = {**tree[f"/nodepool/stackci/waits/{WAITING}"]}
    more = {
        "/nodepool/components/pool/launcher10000000001": {**pool, "id": EAST, "provider_name": "east"},
        f"/nodepool/stackci/waits/{WAITING}": waits,
    }
    assert explained(WAITING, **more)["unblocked_by"].startswith("nodes are released")


def test_what_it_waits_behind():
    same = documents(NOW)[f"/nodepool/stackci/waits/{WAITING}"]
    told = explained(BEHIND, **{f"/nodepool/stackci/waits/{BEHIND}": same})
    assert (told["ahead"], told["ahead_count"], told["behind"]) == ([WAITING], 1, [WAITING])


@pytest.mark.parametrize(
    ("figures", "ends"),
    [
        ({"needed": 8, "limit": 6}, "its limit in tenant-resource-limits is raised"),
        (
            {"needed": 4, "limit": 6},
            "nodes of the tenant are released, or its limit in tenant-resource-limits is raised",
        ),
        ({}, "nodes of the tenant are released, or its limit in tenant-resource-limits is raised"),
    ],
)
def test_what_is_larger_than_the_limit_of_its_tenant_waits_until_that_is_raised(figures, ends):
    waits = {"code": "tenant-limit", "tenant": "acme", "text": "x", "since": NOW - 10, "at": NOW - 10, **figures}
    assert explained(BEHIND, **{f"/nodepool/stackci/waits/{BEHIND}": waits})["unblocked_by"] == ends


def test_a_pool_that_declined_says_why():
    told = explained(DECLINED)
    east = next(pool for pool in told["pools"] if pool["id"] == EAST)
    assert (east["declined"], east["code"]) == (True, "label-unknown")
    assert east["text"] == "east/main does not offer label small"
    assert [event["event"] for event in told["history"]] == ["requested", "declined"]


def test_a_frozen_pool_is_tried_again_at_a_known_time():
    frozen = {"code": "frozen", "where": "west/main", "seconds": 30, "at": NOW - 10, "text": "x", "since": NOW - 10}
    told = explained(BEHIND, **{f"/nodepool/stackci/waits/{BEHIND}": frozen})
    assert told["expected_seconds"] == 20.0


def test_a_request_in_work_tells_its_nodes():
    told = explained(PENDING)
    (node,) = told["nodes"]
    assert (node["id"], node["phase"], node["attempt"], node["in_flight"]) == (BUILDING, "booting", 2, True)
    assert told["summary"] == "a launcher works on it: 0 of 1 node is ready"


def test_an_estimate_counts_from_the_create():
    told = explained(PENDING)
    assert told["expected_seconds"] == 5.0  # the median is 25 s, 20 s have passed
    assert [event["event"] for event in told["history"]] == ["requested", "pending", "attempt failed", "node"]
    unknown = explained(PENDING, **{"/nodepool/stackci/providers/west": {"boot_seconds": "fast"}})
    assert unknown["expected_seconds"] is None and "no boot of provider west" in unknown["expected"]


def test_the_history_of_several_nodes_is_in_the_order_of_time():
    launch = documents(NOW)[f"/nodepool/stackci/launches/{BUILDING}"]
    node = documents(NOW)[f"/nodepool/nodes/{BUILDING}"]
    more = {
        f"/nodepool/nodes/{BUILDING}9": node,
        f"/nodepool/stackci/launches/{BUILDING}9": {**launch, "since": NOW - 500, "failures": ["first", "second"]},
        f"/nodepool/stackci/launches/{BUILDING}": {**launch, "since": NOW - 5, "failures": []},
    }
    history = explained(PENDING, **more)["history"]
    ages = [event["age"] for event in history if event["age"] is not None]
    assert ages == sorted(ages, reverse=True) and len(ages) == 4
    told = [event["text"] for event in history]
    at = told.index(f"node {BUILDING}9: first")
    assert told[at + 1] == f"node {BUILDING}9: second" and told[at + 2].startswith(f"node {BUILDING}9 is building")
    assert told[-1].startswith(f"node {BUILDING} is building")


def launch_of(**more):
    path = f"/nodepool/stackci/launches/{BUILDING}"
    return {path: {**documents(NOW)[path], **more}}


def test_a_request_in_work_names_provider_owner_trouble_attempts_moves_and_servers_thrown_away():
    waits = {
        "code": "provider-trouble",
        "where": "west",
        "text": "provider west: POST /servers: 503",
        "owner": "cloud",
        "since": NOW - 60,
        "at": NOW - 5,
    }
    moves = [{"where": "east/main", "at": NOW - 300, "thrown": 1, "attempts": 2}, {"where": "x/y", "at": NOW - 400}]
    told = explained(
        PENDING,
        **{f"/nodepool/stackci/waits/{PENDING}": waits, f"/nodepool/stackci/declines/{PENDING}": {"taken_back": moves}},
        **launch_of(thrown=1),
    )
    assert (told["providers"], told["owner"], told["attempts"], told["moves"]) == (["west"], "cloud", 4, 2)
    assert told["thrown_away"] == 2 and told["since"] == NOW - 60
    assert told["waits_for"] == waits["text"] and told["summary"].endswith(f"0 of 1 node is ready; {waits['text']}")
    assert told["unblocked_by"] == "the API of the cloud works again"
    assert told["expected_seconds"] is None
    shown = " ".join(request_lines(told, 500))
    assert "west: 4 attempts, moved 2 times, 2 creates or servers given up" in shown
    assert "responsible: cloud" in shown and "before it in the queue" not in shown


def test_a_failed_attempt_is_the_trouble_until_a_launcher_has_stored_a_reason():
    told = explained(PENDING, **launch_of(phase="clearing", trouble="libvirt exploded", owner="image"))
    assert told["owner"] == "image" and "west: " in told["waits_for"] and "libvirt exploded" in told["waits_for"]
    over = explained(PENDING, **launch_of(phase="booting", trouble="", owner="image"))
    assert over["owner"] is None and over["waits_for"] is None and over["nodes"][0]["owner"] is None


@pytest.mark.parametrize(
    ("age", "phase"), [(780.0, "booting"), (24.99, "booting"), (25.0, "reaching"), (24.2, "addressing")]
)
def test_a_wait_of_no_seconds_is_never_expected(age: float, phase: str):
    told = explained(PENDING, **launch_of(phase=phase, created_at=NOW - age))
    assert told["expected_seconds"] is None and "unknown: " in told["expected"]
    frozen = {"code": "frozen", "where": "west/main", "seconds": 30, "at": NOW - 780, "text": "x", "since": NOW - 780}
    told = explained(BEHIND, **{f"/nodepool/stackci/waits/{BEHIND}": frozen})
    assert told["expected_seconds"] is None and "unknown: " in told["expected"]


@pytest.mark.parametrize("request_id", [FAILED, DONE, BROKEN])
def test_what_does_not_wait_has_no_estimate(request_id):
    assert explained(request_id)["expected_seconds"] is None


def test_the_documentation_names_what_is_returned():
    reading = populated()
    every = request_rows(reading, NOW)
    result = {"requests": every, "explanations": [explanation(reading, every, row["id"], NOW) for row in every]}
    assert differences(request_info.RETURN, with_age(None, None, result), check=False, also={"O(ids) is given"}) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
PATHS = sorted(
    path for path, document in documents(NOW).items() if isinstance(document, dict) and "/images/" not in path
)


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(PATHS), st.data())
def test_whatever_others_wrote_every_request_is_explained(path, data):
    whole = documents(NOW)
    key = data.draw(st.sampled_from(sorted(whole[path])))
    whole[path] = data.draw(st.one_of(st.just({**whole[path], key: data.draw(JSON)}), JSON))
    reading = reading_of(whole)
    every = request_rows(reading, NOW)
    for row in every:
        json.dumps(explanation(reading, every, row["id"], NOW))


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ({"code": "frozen", "seconds": 24.0, "text": "w refused (403 in 7 s); next attempt in 24 s"}, "in 4 s"),
        (
            {"code": "breaker", "seconds": 5.0, "text": "launches failed; next try in 5 s"},
            "attempt is due or in progress",
        ),
        ({"code": "frozen", "seconds": "x", "text": "w refused; next attempt in 24 s"}, "in 24 s"),
        ({"code": "provider-trouble", "seconds": 24.0, "text": "it asks for a pause, in 24 s"}, "in 24 s"),
    ],
)
def test_the_seconds_until_the_next_try_are_those_from_now_on(reason, shown):
    stored = {**reason, "where": "west/main", "since": NOW - 90, "at": NOW - 20}
    told = explained(WAITING, **{f"/nodepool/stackci/waits/{WAITING}": {**stored, "pools": [stored]}})
    assert told["waits_for"].endswith(shown) and "403 in 4 s" not in told["waits_for"]
    (west,) = [pool for pool in told["pools"] if pool["pool"] == "west/main"]
    assert west["text"] == told["waits_for"] and told["summary"].endswith(shown)
