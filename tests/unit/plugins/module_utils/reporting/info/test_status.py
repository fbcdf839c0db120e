# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import explanation
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.node_rows import (
    NodeFilter,
    node_life,
    node_rows,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.status import (
    node_lines,
    request_lines,
    status_lines,
)
from tests.support import populated_tree
from tests.support.populated_tree import (
    BROKEN,
    BUILDING,
    DONE,
    FAILED,
    IN_USE,
    NOT_JSON,
    ODD,
    WAITING,
    documents,
)
from tests.support.tree_reading import NOW, populated, reading_of

IMAGE = {"name": "debian", "elements": ["debian-minimal"]}
CONFIG = parse_config(
    json.dumps(
        {
            "zookeeper-servers": [{"host": "localhost"}],
            "labels": [],
            "diskimages": [IMAGE, {**IMAGE, "name": "rocky", "pause": True}],
            "providers": [{"name": "west", "cloud": "west", "diskimages": [{"name": "debian"}, {"name": "rocky"}]}],
        }
    )
)


def lines(width=200, reading=None):
    return status_lines(CONFIG, reading or populated(), NOW, width)


def test_one_screen_shows_what_there_is():
    shown = lines()
    for line in (
        "  east: no launcher, not in the configuration",
        "  west: served by launcher1, in trouble for 40 s: provider west: 503",
        "    instances    [######------........] 3+3 of 10",
        "    breaker: debian with small, 5 failures, next try in 45 s: no valid host",
        "    pool main: 1 building, 1 in-use, 1 ready, paused",
        "      frozen: instances, next try in 30 s: Quota exceeded",
        "  small: 1 building, 1 hold, 1 in-use, 1 ready",
        f"  1. {WAITING} (small, small) for 5 min: 2 instances needed, 1 left in west/main",
        f"  {FAILED} (huge) failed 8 min 20 s ago: east/main does not offer label small",
        "  debian: built 1 h 1 min ago, west 1 h ago, paused, build asked for",
        "  rocky: no ready build, west has no ready upload, paused",
        "  west: server s-9 is not deleted for 15 min, 4 tries: 409 Conflict",
    ):
        assert line in shown
    assert "    cores        [######------........] 6+6 of 20" in shown
    assert not any(line.startswith("    ram ") for line in shown), "less than half of it is used"
    assert any(line.startswith(f"  record of node {ODD}: it has no 'provider'; ") for line in shown)
    assert f"  record of request {BROKEN}: it has no 'node_types'" in "\n".join(shown)


def test_figures_that_no_launcher_renews_tell_their_age():
    whole = documents(NOW)
    whole["/nodepool/stackci/providers/west"]["reading"]["at"] = NOW - 7200
    shown = lines(reading=reading_of(whole))
    assert any(line.startswith("  west: ") and ", limits read 2 h ago" in line for line in shown), "no lock is held"
    assert not any("limits read" in line for line in lines())


def test_a_file_that_cannot_be_used_needs_attention_also_where_no_cycle_tells_it():
    shown = status_lines(CONFIG, reading_of({}), NOW, 200, ["nodepool.yaml:14: is no YAML"])
    row = "  ! configuration: the configuration of this view cannot be used: nodepool.yaml:14: is no YAML; "
    assert any(line.startswith(row) for line in shown)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_longer_than_the_screen(width):
    assert max(map(len, lines(width))) <= width


def test_nothing_that_a_terminal_would_act_upon_is_shown():
    whole = documents(NOW)
    whole[f"/nodepool/stackci/waits/{WAITING}"]["text"] = "\x1b[2Jgone\nsecond"
    assert all(line.isprintable() for line in lines(reading=reading_of(whole)))


def test_many_requests_are_counted():
    whole = documents(NOW)
    for number in range(20):
        whole[f"/nodepool/requests/400-{number:010d}"] = whole[f"/nodepool/requests/{WAITING}"]
    assert "  and 16 more" in lines(reading=reading_of(whole))


def test_the_latest_failures_are_shown_first():
    whole = documents(NOW)
    for number in range(5):
        failed = {**whole[f"/nodepool/requests/{FAILED}"], "state_time": NOW - 10 * number - 10}
        whole[f"/nodepool/requests/400-{number:010d}"] = failed
    whole["/nodepool/requests/400-0000000009"] = {**failed, "state_time": None}
    shown = [line for line in lines(reading=reading_of(whole)) if line.startswith("  400-") and " failed " in line]
    assert [line.split()[0] for line in shown] == [f"400-{number:010d}" for number in range(3)]
    assert "  and 4 more" in lines(reading=reading_of(whole))


def test_large_figures_are_whole_numbers():
    whole = documents(NOW)
    whole["/nodepool/stackci/providers/west"]["reading"].update(limits={"ram": 47185920}, others={"ram": 41246720})
    assert "    ram          [-----------------...] 12288+41246720 of 47185920" in lines(reading=reading_of(whole))


def test_a_title_with_counts_says_that_there_is_nothing():
    shown = lines(reading=reading_of({}))
    assert shown[0] == "ATTENTION 4"
    assert shown[shown.index("PROVIDERS (# ours, - others)") :] == [
        "PROVIDERS (# ours, - others)",
        "  west: no launcher",
        "NODES none",
        "REQUESTS none",
        "IMAGES",
        "  debian: no ready build, west has no ready upload",
        "  rocky: no ready build, west has no ready upload, paused",
        "STUCK",
        "  nothing",
    ]


def test_a_request_and_a_node_as_text():
    reading = populated()
    told = request_lines(explanation(reading, request_rows(reading, NOW), WAITING, NOW), 200)
    assert told[0].endswith("it waits at place 1 in the queue: 2 instances needed, 1 left in west/main")
    assert "  west/main: 2 instances needed, 1 left in west/main" in told
    narrow = request_lines(explanation(reading, request_rows(reading, NOW), WAITING, NOW), 60)
    assert max(map(len, narrow)) <= 60 and not any("..." in line for line in narrow)
    node = reading.one(f"/nodepool/nodes/{BUILDING}")
    (row,) = node_rows([node], NodeFilter(), NOW, detail=False)
    life = node_life(node, reading.one(f"/nodepool/stackci/launches/{BUILDING}"), NOW)
    shown = node_lines(row, life, 200)
    assert shown[0] == f"node {BUILDING}: building in west/main, labels small, locked"
    assert "failed: attempt 1: fault: No valid host was found" in shown
    assert "  00:00:02:10 the record was made" in shown


@pytest.mark.parametrize(
    ("node_id", "state", "told"), [(NOT_JSON, "state unknown", "it is not JSON"), (ODD, "7", "it has no 'provider'")]
)
def test_a_node_whose_record_cannot_be_used_is_told_in_words(node_id, state, told):
    node = populated().one(f"/nodepool/nodes/{node_id}")
    (row,) = node_rows([node], NodeFilter(), NOW, detail=False)
    shown = node_lines(row, node_life(node, None, NOW), 200)
    assert shown[0] == f"node {node_id}: {state} in an unknown provider, labels unknown, unlocked"
    assert f"note: {told}" in shown
    assert "None" not in "".join(shown)


def test_a_request_that_has_its_nodes_tells_no_wait_and_names_only_pools_that_declined():
    reading = populated()
    told = request_lines(explanation(reading, request_rows(reading, NOW), DONE, NOW), 200)
    assert told[:2] == [
        f"request {DONE}: it is fulfilled with node {IN_USE}; its requestor has not locked it yet",
        "HISTORY",
    ]
    failed = request_lines(explanation(reading, request_rows(reading, NOW), FAILED, NOW), 200)
    assert "  east/main: east/main does not offer label small" in failed
    assert not any(line.startswith("expected wait") for line in failed)


def test_nobody_is_promised_to_go_on_with_a_request_that_failed():
    told = {"code": "launch-failed", "where": "west/main", "text": "no host"}
    for owner, said in (("capacity", "ports, volumes or floating IPs)"), ("unknown", "the cause is not known")):
        wait = {"code": "failed", "text": "no host", "reasons": [{**told, "owner": owner}]}
        reading = reading_of({**populated_tree.documents(NOW), f"/nodepool/stackci/waits/{FAILED}": wait})
        shown = request_lines(explanation(reading, request_rows(reading, NOW), FAILED, NOW), 200)
        assert shown[1].startswith(f"responsible: {owner}: ") and shown[1].endswith(said)


def test_a_deletion_without_ids_and_answer_is_told_in_words():
    stuck = {"/nodepool/stackci/stuck/s-7": {"provider": "west", "since": NOW - 60, "tries": 3}}
    shown = lines(reading=reading_of({**populated_tree.documents(NOW), **stuck}, populated_tree.locks()))
    assert "  west: something without an id is not deleted for 1 min, 3 tries: no text is stored" in shown


def test_who_stands_by_is_shown():
    standing = {
        f"/nodepool/stackci/live-launchers/{name}": {"hostname": name, "host": name, "wants": ["west"]}
        for name in ("launcher2", "launcher3")
    }
    one = dict(list(standing.items())[:1])
    tree = populated_tree.documents(NOW)
    for known, text in ((one, "launcher2 stands by"), (standing, "launcher2, launcher3 stand by")):
        shown = lines(reading=reading_of(tree | known, populated_tree.locks()))
        assert any(line.startswith(f"  west: served by launcher1, {text}, in trouble") for line in shown)
