# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the screen, the page, the explanation and the metrics say about a build that fails or is not used."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import HAND, NONE, REVOKED
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch_counts import (
    OF_IMAGE,
    READY,
    Attempt,
    LaunchCounts,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.attention import RowsOf, attention
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.build_figures import (
    counts_at,
    figures_of,
    figures_of_failures,
    trouble_with,
    verdict_on,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.explain import explanation
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_lines import image_lines
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.image_list import image_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.providers import provider_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.info.request_rows import request_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.metric_samples import gauges_of
from tests.support.config_texts import parse
from tests.support.tree_reading import reading_of

NOW = 1_795_000_000.0
OLD, NEW = "6e" * 16, "7f" * 16
IMAGES = "/nodepool/images/tiny/builds"
SENTENCE = "tiny build 7f7f7f7f: 0 of 9 in west; the build before: 212 of 212"
RAW: dict[str, Any] = {
    "zookeeper-servers": [{"host": "zk"}],
    "labels": [{"name": "small"}],
    "diskimages": [{"name": "tiny"}],
    "providers": [{"name": "west", "cloud": "west", "diskimages": [{"name": "tiny"}]}],
}
CONFIG = parse(RAW)


def counts(*, good: bool = False) -> LaunchCounts:
    made = LaunchCounts()
    for build, count, end in ((OLD, 212, READY), (NEW, 9, READY if good else OF_IMAGE)):
        for _unused in range(count):
            at = NOW - (500 if build == OLD else 100)
            made.add("tiny", build, "small", READY if end == READY else "image", at, Attempt(at - 5, at, end))
    return made


def tree(**verdicts: Any) -> dict[str, Any]:
    request = {"state": "pending", "node_types": ["small"], "requestor": "zuul", "nodes": []}
    upload = f"{IMAGES}/{NEW}/providers/west/images/0000000001"
    node = {"state": "building", "provider": "west", "allocated_to": "100-0000000001", "image_id": upload}
    found: dict[str, Any] = {
        "/nodepool/stackci/launch-counts/west": counts().document(),
        "/nodepool/requests/100-0000000001": request,
        "/nodepool/nodes/0000000001": node,
    }
    for build, at in ((OLD, 500.0), (NEW, 100.0)):
        found[f"{IMAGES}/{build}"] = {"state": "ready", "state_time": NOW - at}
        ready = {"state": "ready", "state_time": NOW - at + 1, "external_id": build[:2]}
        found[f"{IMAGES}/{build}/providers/west/images/0000000001"] = ready
    if verdicts:
        found["/nodepool/stackci/image-verdicts/tiny"] = {key: item.document() for key, item in verdicts.items()}
    return found


def test_the_figures_of_a_build_and_of_the_one_before() -> None:
    figures = figures_of(counts(), "tiny", NEW, "west")
    assert figures == {
        "tried": 9,
        "ready": 0,
        "failed": {"image": 9},
        "flavors": {"small": {"image": 9}},
        "before_tried": 212,
        "before_ready": 212,
        "text": SENTENCE,
    }
    assert figures_of(LaunchCounts(), "tiny", NEW, "west")["text"] is None


def test_the_screen_tells_a_build_that_fails_and_is_silent_about_a_good_one() -> None:
    assert f"  {SENTENCE}" in list(image_lines(CONFIG, reading_of(tree()), NOW))
    good = {**tree(), "/nodepool/stackci/launch-counts/west": counts(good=True).document()}
    assert len(list(image_lines(CONFIG, reading_of(good), NOW))) == 1


def test_a_build_that_is_not_used_needs_attention_and_the_one_before_is_current() -> None:
    fallen = NONE.without("west", SENTENCE, NOW - 50)
    reading = reading_of(tree(**{NEW: fallen}))
    (row,) = image_rows(CONFIG, reading, NOW)
    (west,) = row["providers"]
    assert (west["current"]["build_id"], west["previous"], west["unused"]) == (OLD, None, [NEW])
    rows = [item for item in attention(reading, NOW, RowsOf(images=[row])) if item["cause"] == "build-unused"]
    assert row["builds"][0]["mark"] == "not used" and row["builds"][1]["mark"] == "current"
    assert [upload["launches"] for build in row["builds"] for upload in build["uploads"]] == ["0 of 9", "212 of 212"]
    (told,) = rows
    assert (
        told["text"].count(SENTENCE) == 1 and told["command"] == "nodepoolctl restore tiny" and told["level"] == "warn"
    )


def test_a_build_of_which_launches_failed_is_told_with_the_words_of_the_last_failure() -> None:
    failed = counts()
    failed.add("tiny", NEW, "small", "image", NOW, Attempt(NOW - 5, NOW, OF_IMAGE), "probe: no python3")
    reading = reading_of({**tree(), "/nodepool/stackci/launch-counts/west": failed.document()})
    told = "tiny build 7f7f7f7f: 0 of 10 in west; the build before: 212 of 212; the last failure: probe: no python3"
    assert trouble_with(reading, "tiny", NEW, "west", NOW) == told


def test_the_explanation_of_a_request_names_the_build_of_its_nodes() -> None:
    reading = reading_of(tree())
    rows = request_rows(reading, NOW)
    assert explanation(reading, rows, "100-0000000001", NOW)["builds"] == [SENTENCE]


def test_the_explanation_names_a_build_that_is_not_used_for_the_nodes_of_the_request() -> None:
    node = {"state": "building", "provider": "west", "allocated_to": "100-0000000001"}
    node["image_id"] = f"{IMAGES}/{OLD}/providers/west/images/0000000001"
    # What the launcher saw when it decided is older than what it counts.
    fallen = NONE.without("west", "tiny build 7f7f7f7f: 0 of 3 in west; the build before: 9 of 9", NOW - 50)
    reading = reading_of({**tree(**{NEW: fallen}), "/nodepool/nodes/0000000001": node})
    (told,) = explanation(reading, request_rows(reading, NOW), "100-0000000001", NOW)["builds"]
    assert told == f"{SENTENCE}; not used at west by decision of the launcher"


def test_without_figures_the_decision_is_told_with_those_that_it_was_made_of() -> None:
    fallen = NONE.without("west", SENTENCE, NOW - 50)
    documents = {key: item for key, item in tree(**{NEW: fallen}).items() if "launch-counts" not in key}
    told = trouble_with(reading_of(documents), "tiny", NEW, "west", NOW)
    assert told == f"{SENTENCE}; not used at west by decision of the launcher"


def test_the_failures_of_an_image_name_the_build_that_failed_last() -> None:
    reading = reading_of(tree())
    for blamed in (True, False):
        assert figures_of_failures(reading, "tiny", "west", of_image=blamed) == SENTENCE
        assert figures_of_failures(reading, "tiny", "east", of_image=blamed) == ""
        assert figures_of_failures(reading, "huge", "west", of_image=blamed) == ""
    good = reading_of({**tree(), "/nodepool/stackci/launch-counts/west": counts(good=True).document()})
    assert figures_of_failures(good, "tiny", "west", of_image=True) == ""


def test_a_build_that_mostly_works_is_told_only_where_the_image_is_to_blame() -> None:
    mixed = counts(good=True)
    mixed.add("tiny", NEW, "small", "image", NOW - 10, Attempt(NOW - 20, NOW - 10, OF_IMAGE))
    reading = reading_of({"/nodepool/stackci/launch-counts/west": mixed.document()})
    told = "tiny build 7f7f7f7f: 9 of 10 in west; the build before: 212 of 212"
    assert figures_of_failures(reading, "tiny", "west", of_image=True) == told
    assert figures_of_failures(reading, "tiny", "west", of_image=False) == ""


def test_requests_that_failed_for_the_image_name_the_figures_of_its_build() -> None:
    pool = {"name": "main", "labels": [{"name": "small", "diskimage": "tiny", "min-ram": 1}]}
    west = {"name": "west", "cloud": "west", "diskimages": [{"name": "tiny"}], "pools": [pool]}
    config = parse({**RAW, "providers": [west]})
    said = "west/main: launches failed: ssh did not answer"
    for owner, code, figures in (
        ("image", "launch-failed", counts()),
        ("cloud", "launch-failed", counts()),
        ("label", "label-broken", None),
        ("image", "launch-failed", None),
    ):
        why = {"code": code, "where": "west/main", "text": said, "owner": owner}
        documents: dict[str, Any] = {
            "/nodepool/stackci/waits/100-0000000002": {"code": "failed", "text": said, "reasons": [why]}
        }
        failed = {"state": "failed", "node_types": ["small", "gone"], "requestor": "zuul", "state_time": NOW - 5}
        documents["/nodepool/requests/100-0000000002"] = failed
        if figures or code == "label-broken":
            documents["/nodepool/stackci/launch-counts/west"] = (figures or counts()).document()
        reading = reading_of(documents)
        rows = RowsOf(requests=request_rows(reading, NOW))
        (row,) = attention(reading, NOW, rows, config=config)
        aside = f" ({SENTENCE})" if figures else ""
        assert row["text"] == f"1 request for gone, small failed{aside}: {said}"
        (row,) = attention(reading, NOW, rows, config=CONFIG)
        assert row["text"] == f"1 request for gone, small failed: {said}", "the configuration lacks the pool"


def test_a_breaker_names_the_build_that_fails() -> None:
    breaker = {"tiny/small": {"failures": 5, "until": NOW + 90, "text": "no answer"}}
    reading = reading_of({**tree(), "/nodepool/stackci/breakers/west": breaker})
    found = attention(reading, NOW, RowsOf(provider_rows(CONFIG, reading, NOW)))
    (row,) = (row for row in found if row["cause"] == "breaker")
    assert row["text"] == f"tiny with small failed 5 times in a row ({SENTENCE}): no answer"


def test_the_metrics_count_the_builds_that_are_not_used() -> None:
    revoked = NONE.given(REVOKED, "no python", HAND, NOW)
    for verdicts, value in (({}, 0), ({NEW: revoked}, 1), ({NEW: revoked, OLD: revoked}, 2)):
        values = gauges_of(reading_of(tree(**verdicts)), CONFIG, NOW).values
        (found,) = [known for metric, known in values.items() if metric.name == "image_builds_unused"]
        assert found == {("west", "tiny"): value}


def test_the_metrics_count_the_launches_from_each_build() -> None:
    values = gauges_of(reading_of(tree()), CONFIG, NOW).values
    (found,) = [known for metric, known in values.items() if metric.name == "image_build_launches"]
    place = ("west", "tiny")
    assert found == {(*place, OLD[:8], "ready"): 212, (*place, NEW[:8], "ready"): 0, (*place, NEW[:8], "image"): 9}


def test_documents_that_cannot_be_used_count_for_nothing() -> None:
    odd = {"/nodepool/stackci/launch-counts/west": {"tiny": 5}, "/nodepool/stackci/image-verdicts/tiny": {NEW: 5}}
    reading = reading_of({**tree(), **odd})
    assert counts_at(reading, "west").images == {}
    assert verdict_on(reading, "tiny", NEW) == NONE
    assert trouble_with(reading, "tiny", NEW, "west", NOW) == ""
    assert json.dumps(image_rows(CONFIG, reading, NOW))
