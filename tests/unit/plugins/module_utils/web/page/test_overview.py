# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_reading import TreeReading
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page import overview as page_overview
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import MOST, overview, parts
from tests.support import busy_tree
from tests.support.populated_tree import FAILED, ODD, WAITING, documents
from tests.support.tree_reading import NOW, Written, populated, reading_of, tree_of

EMPTY = parse_config('{"zookeeper-servers": [{"host": "localhost"}], "labels": []}')


def shown(search="", reading=None, config=EMPTY):
    return parts(overview(config, reading or populated(), NOW), search)


def busy(search=""):
    reading = reading_of(busy_tree.documents(NOW), busy_tree.locks())
    return shown(search, reading, parse_config(busy_tree.config()))


def test_everything_of_a_tree_is_shown():
    found = shown()
    assert [row["name"] for row in found["providers"].rows] == ["east", "north", "west"]
    assert found["queue"].rows[0]["id"] == WAITING
    assert found["node_states"] == {"building": 1, "hold": 1, "in-use": 1, "ready": 1, "unknown": 3}
    assert dict(found["request_states"]) == {"requested": 4, "pending": 1, "failed": 1, "fulfilled": 1}
    assert dict(found["reasons"]) == {"no-room": 1, "unsaid": 3}
    assert found["oldest_wait"] == 400.0
    assert {row["label"]: row["total"] for row in found["labels"].rows} == {"big": 1, "small": 4}
    assert ODD in [row["id"] for row in found["odd"].rows]
    assert [row["where"] for row in found["failures"].rows][-1] == f"request {FAILED}"


def test_builders_are_named_with_their_host():
    assert [(row["host"], row["seen_age"]) for row in busy()["builders"]] == [("builder1", 9.0)]


def test_a_search_leaves_what_matches_anywhere():
    found = busy("FEDORA")
    assert [row["image"] for row in found["images"].rows] == ["fedora-42"]
    assert [row["label"] for row in found["labels"].rows] == ["fedora-42"]
    assert all("fedora-42" in row["labels"] for row in found["queue"].rows)
    assert 0 < found["nodes"].count < 60 and all("fedora-42" in row["labels"] for row in found["nodes"].rows)


def test_a_node_and_a_request_are_found_by_a_part_of_their_id():
    assert [row["id"] for row in busy("0041005")["nodes"].rows] == [busy_tree.node_id(5)]
    assert [row["id"] for row in busy("0007012")["requests"].rows] == [busy_tree.request_id(12)]


def test_a_search_finds_the_reason_and_the_words_of_a_cloud():
    assert {row["reason"]["code"] for row in busy("quota exceeded")["queue"].rows} == {"frozen"}
    assert [row["server"] for row in busy("powering-on")["stuck"].rows] == ["5d2f6f0c-0a1b-4c55-8f0b-6a3a3f1d1c52"]


def test_the_oldest_wait_of_each_provider_is_known():
    found = {row["name"]: row["oldest_wait"] for row in shown()["providers"].rows}
    assert found["west"] == 400.0 and found["north"] is None


def test_nothing_matches():
    found = busy("no such thing")
    assert not any(found[name].count for name in ("providers", "queue", "labels", "images", "nodes", "requests"))


def test_each_part_is_bounded_and_counts_the_rest():
    whole = documents(NOW)
    for number in range(200):
        whole[f"/nodepool/requests/400-{number:010d}"] = whole[f"/nodepool/requests/{WAITING}"]
        whole[f"/nodepool/stackci/launches/{number:010d}"] = {"failures": ["x"], "since": NOW - number}
        whole[f"/nodepool/stackci/stuck/s-{number}"] = {"provider": "west", "server": "s"}
    found = shown(reading=reading_of(whole))
    for name in ("queue", "failures", "stuck"):
        assert len(found[name].rows) == MOST and found[name].more == found[name].count - MOST > 100


def test_of_many_providers_those_in_trouble_come_first():
    documents = busy_tree.documents(NOW)
    for number in range(10):
        documents[f"/nodepool/stackci/providers/cloud-{number:02d}"] = {"health": {"state": "ok"}}
    documents["/nodepool/stackci/providers/cloud-07"] = {"health": {"state": "trouble", "text": "503"}}
    found = shown(reading=reading_of(documents, busy_tree.locks()))
    assert found["compact"] and found["providers"].count == 13
    names = [row["name"] for row in found["providers"].rows]
    assert names[:4] == ["cloud-07", "cloud-syd", "cloud-fra", "cloud-nyc"] and names[4:] == sorted(names[4:])
    assert not busy()["compact"]


def test_an_empty_tree():
    found = shown(reading=reading_of({}))
    assert found["node_count"] == 0 and found["oldest_wait"] is None and not found["troubles"].count


def test_the_records_of_a_folder_are_made_once(monkeypatch):
    asked = []

    def documents_of(tree, path, real=Tree.documents):
        asked.append(path)
        return real(tree, path)

    monkeypatch.setattr(Tree, "documents", documents_of)
    shown()
    assert asked.count(paths.NODES) == asked.count(paths.REQUESTS) == 1


def test_after_a_change_only_what_changed_is_read_again(monkeypatch):
    read: list[str] = []

    def counted(found):
        read.append(found.name)
        return node_of(found)

    node_of = page_overview._node
    monkeypatch.setattr(page_overview, "_node", counted)
    tree = tree_of(busy_tree.documents(NOW), busy_tree.locks())
    overview(EMPTY, TreeReading(tree), NOW)
    assert len(read) == 60
    tree.put(f"{paths.NODES}/{busy_tree.node_id(7)}", b'{"state": "used"}', Written(1_000_000))
    found = overview(EMPTY, TreeReading(tree), NOW + 5)
    assert read[60:] == [busy_tree.node_id(7)]
    assert next(row for row in found.nodes if row["id"] == busy_tree.node_id(7))["state"] == "used"


def test_ages_grow_although_nothing_changed():
    tree = tree_of(documents(NOW))
    before, after = (overview(EMPTY, TreeReading(tree), NOW + passed) for passed in (0.0, 5.0))
    grown = [
        round(late["age"] - early["age"], 1)
        for early, late in zip(before.requests, after.requests, strict=True)
        if early["age"] is not None
    ]
    assert grown == [5.0] * len(grown)
    assert grown


def test_many_providers_have_squares_by_name_with_their_worst_trouble():
    few = {f"{paths.OWN}/providers/p{number:02d}": {"health": {"state": "ok"}} for number in range(20)}
    assert shown(reading=reading_of(few))["squares"] == []
    ill = {f"{paths.OWN}/providers/p20": {"health": {"state": "trouble", "text": "503"}}}
    stuck = {f"{paths.OWN}/stuck/s-1": {"provider": name, "server": "s", "answer": "409"} for name in ("p20",)}
    found = shown(reading=reading_of({**few, **ill, **stuck}))["squares"]
    assert [row["name"] for row in found] == [f"p{number:02d}" for number in range(21)]
    assert [(row["level"], row["text"]) for row in found[-2:]] == [("calm", "no trouble"), ("bad", "503")]
    assert shown("p20", reading_of({**few, **ill}))["squares"] == ()
