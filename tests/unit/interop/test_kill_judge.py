# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The judge of the row gate-kills sees what must never be, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.history import CREATE, DELETE, SET, Change
from tests.interop.kills.decisions import Span
from tests.interop.kills.judge import GRACE, Evidence, Judge, upload_of
from tests.interop.kills.people import Given

BUILDS = {"b1": "sum1", "b2": "sum2", "b3": "sum3"}


def image(checksum: str, deleted: float | None = None) -> dict[str, Any]:
    return {"md5": checksum, "stored": 1.0, "deleted": deleted}


def server(number: int, made_from: str, created: float) -> dict[str, Any]:
    return {"id": f"s{number}", "name": f"np{number}", "image": made_from, "created": created}


def upload(
    at: float, build: str, state: str | None, external: str, provider: str = "one", name: str = "alpha"
) -> Change:
    path = f"/nodepool/images/{name}/builds/{build}/providers/{provider}/images/0000000000"
    data = json.dumps({"state": state, "external_id": external}).encode() if state else b""
    return Change(at, 1, SET if state else DELETE, path, data)


def node(number: int, label: str) -> Change:
    return Change(2.0, 1, CREATE, f"/nodepool/nodes/{number}", json.dumps({"type": [label]}).encode())


def evidence(*changes: Change) -> Evidence:
    """Build b1 was tested at 5.0 by canary 1 and is ready; node 2 of a request was made of it later."""
    journal = {"images": {"i1": image("sum1")}, "servers": [server(1, "i1", 2.0), server(2, "i1", 9.0)]}
    nodes = [node(1, "stackci-canary-alpha"), node(2, "alpha-node")]
    ready = [upload(1.0, "b1", "uploading", "i1"), upload(6.0, "b1", "ready", "i1")]
    journals: dict[str, dict[str, Any]] = {"one": journal, "two": {"images": {}, "servers": []}}
    return Evidence(journals, ["canary one np1 5.0"], BUILDS, [*nodes, *ready, *changes])


GIVEN = Given("r", "2", "alpha", "one", "s2", "…")


def told(found: Evidence, *given: Given) -> list[str]:
    return Judge(found).violations(given)


def with_server(found: Evidence, made_from: str, created: float) -> Evidence:
    journal = {**found.journals["one"], "servers": [*found.journals["one"]["servers"], server(3, made_from, created)]}
    return replace(found, journals={**found.journals, "one": journal})


def test_a_good_run_has_no_violation():
    assert told(evidence(), GIVEN) == []


def test_a_node_of_a_request_that_was_made_before_the_test_is_seen_whoever_was_given_it():
    found = with_server(evidence(node(3, "alpha-node")), "i1", 4.0)
    (wrong,) = told(found)
    assert "was made from an untested build" in wrong
    assert len(told(found, replace(GIVEN, server="s3"))) == 2


def test_a_canary_of_an_untested_image_is_none_and_a_control_node_of_it_is_one():
    assert told(with_server(evidence(node(3, "stackci-canary-alpha")), "i1", 3.0)) == []
    assert len(told(with_server(evidence(node(3, "stackci-control-alpha")), "i1", 3.0))) == 1


def test_a_server_without_a_node_and_one_that_the_cloud_never_had_are_seen():
    assert "is of no node" in told(with_server(evidence(), "i1", 9.0))[0]
    assert "has never had" in told(evidence(), replace(GIVEN, server="s9"))[0]


@pytest.mark.parametrize(
    "line", ["control one np1 5.0", "canary two np1 5.0", "canary one np1 6.5", "canary one np9 5.0"]
)
def test_only_a_canary_of_this_image_that_has_passed_there_before_is_a_test(line: str):
    assert any("without a test" in text for text in told(replace(evidence(), tested=[line])))


def test_a_build_is_distributed_by_its_test_elsewhere():
    found = evidence(upload(7.0, "b1", "ready", "i9", "two"), upload(7.0, "b2", "ready", "i8", "two"))
    other = {"images": {"i9": image("sum1"), "i8": image("sum2")}, "servers": []}
    (wrong,) = told(replace(found, journals={**found.journals, "two": other}))
    assert "builds/b2" in wrong and "without a test" in wrong


def test_a_good_upload_goes_only_after_two_newer_ones():
    def after(*newer: str) -> list[str]:
        ready = [upload(10.0, build, "ready", f"i-{build}") for build in newer]
        found = evidence(*ready, upload(11.0, "b1", "deleting", "i1"), upload(12.0, "b1", None, "i1"))
        return [text for text in told(found) if "was lost" in text]

    assert len(after()) == len(after("b2")) == 1
    assert after("b2", "b3") == []


def test_an_image_that_goes_before_its_record_is_seen():
    found = evidence()
    journal = {**found.journals["one"], "images": {"i1": image("sum1", deleted=8.0)}}
    assert "was deleted while it was ready" in told(replace(found, journals={**found.journals, "one": journal}))[0]


def test_nobody_is_given_a_node_of_a_revoked_build_which_may_go_before_two_newer_ones():
    span = Span("alpha", "b1", begin=20.0, until=40.0)
    found = replace(evidence(upload(21.0, "b1", "deleting", "i1")), revoked=[span])
    one = replace(GIVEN, record="/nodepool/images/alpha/builds/b1/providers/one/images/0000000000")
    assert told(found, replace(one, at=20.0 + GRACE), replace(one, at=40.5)) == []
    assert "that was revoked" in told(found, replace(one, at=21.0 + GRACE))[0]
    assert told(found, replace(one, at=21.0 + GRACE, record=one.record.replace("b1", "b2"))) == []


def test_the_record_of_an_upload_is_known_by_its_path():
    assert upload_of("/nodepool/images/alpha/builds/b1/providers/one/images/0000000001") == ("alpha", "b1", "one")
    assert upload_of("/nodepool/images/alpha/builds/b1/providers/one/images/lock") is None
    assert upload_of("/nodepool/images/alpha/builds/b1") is None
