# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import paths
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.image_list import image_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.troubles import (
    failures,
    leak_rows,
    stuck_rows,
    troubles,
)
from tests.support import busy_tree
from tests.support.populated_tree import BUILDING, FAILED
from tests.support.tree_reading import NOW, populated, reading_of

CONFIG = parse_config(busy_tree.config())
EMPTY = parse_config('{"zookeeper-servers": [{"host": "localhost"}], "labels": []}')


def told(documents, locks=()):
    reading = reading_of(documents, locks)
    return troubles(reading, provider_rows(CONFIG, reading, NOW), image_rows(CONFIG, reading, NOW))


def test_what_needs_attention_comes_with_the_words_of_the_cloud_and_the_worst_first():
    rows = told(busy_tree.documents(NOW), busy_tree.locks())
    assert [row["level"] for row in rows] == ["bad"] * 2 + ["warn"] * 4
    texts = {row["where"]: row["text"] for row in rows}
    assert "503 Service Unavailable" in texts["cloud-syd"] or "1 deletion stuck" in texts["cloud-syd"]
    freeze = next(row for row in rows if row["where"] == "cloud-nyc/main")
    assert freeze["text"].startswith("frozen after a refused create (instances): Quota exceeded for instances")
    assert freeze["ends_in"] == 38.0
    assert "mirror answered 404" in rows[1]["text"] and rows[1]["ends_in"] == 900.0


def test_a_provider_without_a_launcher_is_trouble_only_when_nobody_serves_it():
    assert [(row["where"], row["level"]) for row in told({}) if "no launcher" in row["text"]] == [
        (name, "bad") for name in sorted(busy_tree.PROVIDERS)
    ]
    documents = busy_tree.documents(NOW)
    assert not any("no launcher" in row["text"] for row in told(documents))


def test_an_image_without_an_upload_is_trouble():
    assert ("debian-12 at cloud-fra", "there is no ready upload") in [(row["where"], row["text"]) for row in told({})]


def test_a_configuration_that_is_not_used_comes_first():
    beat = {"hostname": "nl01", "cycle": "launcher", "config_problems": ["nodepool.yaml:14: is no YAML"]}
    (row, *_others) = told({**busy_tree.documents(NOW), f"{paths.OWN}/heartbeats/nl01-0": beat}, busy_tree.locks())
    assert (row["level"], row["where"]) == ("bad", "configuration")
    assert "nl01 cannot be used: nodepool.yaml:14" in row["text"]


def test_the_files_of_the_service_itself_are_told_unless_a_cycle_tells_the_same():
    problem = "nodepool.yaml:14: is no YAML"
    beat = {"hostname": "nl01", "cycle": "launcher", "config_problems": [problem]}
    reading = reading_of({f"{paths.OWN}/heartbeats/nl01-0": beat})
    assert len(troubles(reading, [], [], [problem])) == 1
    (row,) = troubles(reading_of({}), [], [], [problem])
    assert row["text"] == f"the configuration of this page cannot be used: {problem}; it uses the previous one"


def test_nothing_is_wrong_with_an_empty_tree():
    assert troubles(reading_of({}), [], []) == []


def test_failures_name_what_failed_and_lead_to_it():
    reading = populated()
    rows = failures(reading, request_rows(reading, NOW), image_rows(EMPTY, reading, NOW), NOW)
    assert [(row["where"], row["text"], row["href"], row["age"]) for row in rows] == [
        (f"node {BUILDING}", "attempt 1: fault: No valid host was found", f"nodes/{BUILDING}", 20.0),
        (f"request {FAILED}", "east/main does not offer label small", f"requests/{FAILED}", 500.0),
    ]


def test_a_failed_request_without_a_reason_tells_what_the_pools_said():
    request = {"state": "failed", "node_types": ["a"], "state_time": NOW}
    reasons = {"reasons": [{"text": "one"}, {"text": "two"}, {"text": "one"}, 7]}
    reading = reading_of({"/nodepool/requests/100-1": request, "/nodepool/stackci/declines/100-1": reasons})
    assert [row["text"] for row in failures(reading, request_rows(reading, NOW), [], NOW)] == ["one; two"]


def test_the_failures_of_a_launch_are_told_by_the_last_one():
    launch = {"failures": ["attempt 1: a", "attempt 2: b"], "provider": "west", "since": NOW - 4}
    reading = reading_of({"/nodepool/stackci/launches/0000000001": launch})
    (row,) = failures(reading, [], [], NOW)
    assert (row["text"], row["provider"]) == ("attempt 2: b (the last of 2)", "west")


def test_leaks_and_stuck_deletions_with_the_oldest_first():
    reading = reading_of(busy_tree.documents(NOW))
    assert [(row["what"], row["age"]) for row in leak_rows(reading, NOW)] == [
        ("floating-ip 2f1be1a1-9a37-4f4b-9f40-3a7d7f1f2f10", 4000.0),
        ("port 9c0a", 1200.0),
    ]
    (row,) = stuck_rows(provider_rows(CONFIG, reading, NOW))
    assert row["what"].startswith("server 5d2f6f0c") and "powering-on" in row["answer"] and row["tries"] == 7


def test_odd_sightings_are_no_leaks():
    reading = reading_of({"/nodepool/stackci/sightings/west": {"seen": 7}, "/nodepool/stackci/sightings/east": b"x"})
    assert leak_rows(reading, NOW) == []
