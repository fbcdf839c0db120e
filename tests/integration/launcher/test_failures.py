# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Launches that fail, and answers that do not come: tried again, given up with every reason, nothing left behind."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import freezing, machine
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


@pytest.mark.parametrize(
    ("fault", "options", "said"),
    [
        ("error", {"seconds": 0.1, "message": "Image 1 is unacceptable: not raw"}, "is unacceptable: not raw"),
        ("error", {"seconds": 0.0, "message": "Image 1 is unacceptable"}, "is unacceptable"),
        ("stuck_build", {}, "BUILD"),
        ("status", {"status": 400, "message": "Not authorized for image 1."}, "Not authorized"),
    ],
    ids=["fault", "error-at-once", "stuck", "refused"],
)
def test_a_launch_that_always_fails_fails_its_request_with_every_reason(
    site: Site, fault: str, options: dict[str, object], said: str
):
    site.configure(provider("one", launch_retries=2, launch_timeout=1))
    site.cloud.fault("POST /servers", fault, **options)
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay() as cycle:
        requestor.wait_for(request, "failed", seconds=40)
        eventually(lambda: requestor.nodes() == {})
        result = cycle.end()
    assert len(site.cloud.calls("POST /servers")) == 2
    assert site.cloud.servers() == []
    (reason,) = result["requests"]["failed"][0]["reasons"]
    assert (reason["code"], reason["owner"]) == ("launch-failed", "image")
    # Both failed alike, and that is told once.
    assert (reason["text"].count(said), reason["text"].count("(2 attempts)")) == (1, 1)
    document = requestor.request(request)
    assert (document["nodes"], len(document["declined_by"])) == ([], 1)
    assert len(result["nodes"]["failed"]) == 1


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ("error", {"seconds": 0.1}),
        ("stuck_build", {}),
        ("status", {"status": 400, "message": "bad"}),
        ("status", {"status": 503}),
        ("reset", {}),
    ],
    ids=["error", "stuck", "refused", "unavailable", "reset"],
)
def test_a_launch_that_fails_once_is_tried_again_on_the_same_node(
    site: Site, fault: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 0.5)
    site.configure(provider("one", launch_timeout=2 if fault == "stuck_build" else 3600))
    site.cloud.fault("POST /servers", fault, count=1, **options)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        result = cycle.end()
    (node_id,) = site.requestor.nodes_of(request)
    assert list(site.requestor.nodes()) == [node_id]
    assert result["nodes"]["launched"] == [node_id]
    (server,) = site.cloud.servers()
    assert (server["id"], server["status"]) == (site.requestor.node(node_id)["external_id"], "ACTIVE")


@pytest.mark.parametrize("fault", ["reset_after", "status_after"])
def test_a_lost_answer_makes_no_second_server(site: Site, fault: str):
    """The create was done, its answer never came: the server is found by its mark."""
    site.configure()
    site.cloud.fault("POST /servers", fault, count=2, status=503)
    request = site.requestor.ask("small", "small")
    with site.stay():
        site.requestor.wait_for(request)
    node_ids = site.requestor.nodes_of(request)
    assert sorted(server["name"] for server in site.cloud.servers()) == sorted(f"np{node_id}" for node_id in node_ids)
    assert len(site.cloud.calls("POST /servers")) == 2
    for node_id in node_ids:
        assert site.requestor.node(node_id)["external_id"] == site.cloud.server(node_id)["id"]


def test_a_server_that_turns_up_after_it_was_given_up_goes(site: Site, monkeypatch: pytest.MonkeyPatch):
    """The create hangs, is taken for lost, is made again; and then the first one is done after all."""
    monkeypatch.setattr(machine, "SETTLE_SECONDS", 0.5)
    site.configure()
    site.cloud.fault("POST /servers", "reset_after", count=1)
    listing = site.cloud.fault("GET /servers/detail", "status", status=500)
    request = site.requestor.ask("small")
    requestor = site.requestor
    with site.stay():
        # No listing, so nothing is known of the first create for longer than it is waited for.
        eventually(lambda: site.cloud.struck(listing) >= 1)
        site.cloud.clear_faults()
        requestor.wait_for(request, seconds=40)
        eventually(lambda: len(site.cloud.servers()) == 1)
    (node_id,) = requestor.nodes_of(request)
    assert site.cloud.server(node_id)["id"] == requestor.node(node_id)["external_id"]


def test_healthy_sisters_are_kept_while_one_is_tried_again(site: Site):
    site.configure()
    site.cloud.fault("POST /servers", "error", name="np0000000001", count=1, seconds=0.1)
    request = site.requestor.ask("small", "medium", "large")
    with site.stay():
        site.requestor.wait_for(request, seconds=40)
    nodes = [site.requestor.node(node_id) for node_id in site.requestor.nodes_of(request)]
    assert [node["type"][0] for node in nodes] == ["small", "medium", "large"]
    assert len({node["az"] for node in nodes}) == 1
    assert len(site.cloud.calls("POST /servers")) == 4
    assert len(site.cloud.servers()) == 3


@pytest.mark.long
def test_what_one_pool_cannot_launch_another_does(site: Site):
    site.configure(provider("one", pool("main", priority=1), launch_retries=1), provider("two"))
    site.cloud.fault("POST /servers", "error", seconds=0.1)
    request = site.requestor.ask("small", "small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        eventually(lambda: site.cloud.servers() == [])
        result = cycle.end()
    nodes = [site.requestor.node(node_id) for node_id in site.requestor.nodes_of(request)]
    assert {node["provider"] for node in nodes} == {"two"}
    assert [item["id"] for item in result["requests"]["declined"]] in ([], [request])
    assert len(site.requestor.request(request)["declined_by"]) <= 1


def test_the_healthy_nodes_of_a_failed_set_serve_somebody_else(site: Site):
    site.configure(provider("one", pool("main", label("small"), label("large")), launch_retries=1))
    broken = "Image 1 is unacceptable"
    site.cloud.fault("POST /servers", "error", name="np0000000001", seconds=0.5, message=broken)
    requestor = site.requestor
    request = requestor.ask("small", "large")
    with site.stay():
        requestor.wait_for(request, "failed", seconds=40)
        other = requestor.ask("small")
        requestor.wait_for(other)
        assert requestor.nodes_of(other) == ["0000000000"]
        requestor.wait_gone(["0000000001"])


@pytest.mark.long
def test_a_quota_fault_does_not_count_as_an_attempt(site: Site, monkeypatch: pytest.MonkeyPatch):
    """nova accepts and then lets the server fail because others were quicker: that is nobody's fault."""
    monkeypatch.setattr(freezing, "FIRST", 0.2)
    site.configure(provider("one", launch_retries=1))
    site.cloud.fault("POST /servers", "error_quota", count=2)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=60)
        result = cycle.end()
    assert result["requests"]["failed"] == []
    assert result["nodes"]["refused_creates"] == 2
    assert len(site.cloud.servers()) == 1


def test_refused_creates_make_wait_not_fail(site: Site, monkeypatch: pytest.MonkeyPatch):
    """The limits say that there is room, every create is refused; then it works again."""
    monkeypatch.setattr(freezing, "FIRST", 1.0)
    site.configure(provider("one", launch_retries=1))
    fault = site.cloud.fault("POST /servers", "quota")
    request = site.requestor.ask("small")
    with site.stay():
        eventually(lambda: site.cloud.struck(fault) >= 1)
        assert site.requestor.state(request) in ("pending", "requested")
        site.cloud.clear_faults()
        site.requestor.wait_for(request, seconds=60)
    assert len(site.cloud.servers()) == 1


def test_listings_that_fail_for_a_while_delay_and_do_no_harm(site: Site):
    site.configure()
    request = site.requestor.ask("small", "small")
    with site.stay():
        eventually(lambda: len(site.cloud.servers()) == 2)
        site.cloud.fault("GET /servers/detail", "status", status=502, count=2)
        site.requestor.wait_for(request, seconds=40)
    assert len(site.cloud.calls("POST /servers")) == 2


def test_an_expired_token_is_renewed(site: Site):
    site.configure()
    requestor = site.requestor
    with site.stay():
        first = requestor.ask("small")
        requestor.wait_for(first)
        site.cloud.revoke_tokens()
        second = requestor.ask("small")
        requestor.wait_for(second)
    assert site.cloud.counts()["by_status"]["POST /auth/tokens"] == {"201": 2}
