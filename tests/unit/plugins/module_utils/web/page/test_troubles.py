# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.attention import RowsOf, attention
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.causes import CAUSES
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_list import image_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.labels import label_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.troubles import (
    MANUAL,
    failures,
    stuck_rows,
    troubles,
)
from tests.support import busy_tree
from tests.support.populated_tree import BUILDING, FAILED
from tests.support.tree_reading import NOW, populated, reading_of

CONFIG = parse_config(busy_tree.config())
PROJECT = Path(__file__).resolve().parents[6]
EMPTY = parse_config('{"zookeeper-servers": [{"host": "localhost"}], "labels": []}')


def test_each_trouble_leads_to_the_rows_about_it():
    reading = reading_of(busy_tree.documents(NOW), busy_tree.locks())
    requests, providers = request_rows(reading, NOW), provider_rows(CONFIG, reading, NOW)
    labels, images = label_rows(CONFIG, reading, NOW, requests), image_rows(CONFIG, reading, NOW)
    found = attention(reading, NOW, RowsOf(providers, images, labels, requests))
    rows = troubles(found)
    assert [{key: row[key] for key in found[0]} for row in rows] == found
    places = {row["cause"]: row["href"] for row in rows}
    assert places["freeze"] == "?q=cloud-nyc" and places["build"].startswith("images?q=")
    assert places["stuck"] == "#leaks"


def test_each_trouble_leads_to_its_paragraph_of_the_manual():
    """The table of causes in the manual has the anchors that its links use; a test of the documents follows those."""
    text = (PROJECT / "docs" / "operating.md").read_text("utf-8")
    table = text[text.index("<!-- causes -->") : text.index("<!-- end of causes -->")]
    anchors = dict(re.findall(r"^\| `(.+?)` \|.*\(#(.+?)\) \|$", table, re.MULTILINE))
    assert list(anchors) == list(CAUSES)
    for cause, kind in CAUSES.items():
        (shown,) = troubles([{"cause": cause, "provider": "", "subject": "", "section": kind.section}])
        assert shown["manual"] == f"{MANUAL}#{anchors[cause]}"
    galaxy = yaml.safe_load((PROJECT / "galaxy.yml").read_text("utf-8"))
    assert f"{galaxy['repository']}/blob/main/docs/operating.md" == MANUAL


def test_any_cause_has_a_place():
    for cause in CAUSES:
        row = {"cause": cause, "provider": "a b", "subject": "c/d", "section": "Nodes stop coming"}
        (shown,) = troubles([row])
        assert " " not in shown["href"] and "c/d" not in shown["href"]


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


def test_stuck_deletions():
    reading = reading_of(busy_tree.documents(NOW))
    (row,) = stuck_rows(provider_rows(CONFIG, reading, NOW))
    assert row["what"].startswith("server 5d2f6f0c") and "powering-on" in row["answer"] and row["tries"] == 7
