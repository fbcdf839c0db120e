# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Odd clouds and bad neighbours, by the real playbook: each is told, and nobody else waits or pays for it."""

from __future__ import annotations

import json
import re
import time
from functools import partial
from typing import Any

import pytest

from tests.support.ansible_run import run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider
from tests.support.launcher_process import LauncherProcess

TENANT = {"dynamic_instance_properties": {"tenant": "{request.tenant_name}"}}
SERVED = 90.0
CREATE, CONSOLE = "POST /servers", "POST /servers/{id}/action"


def playbook(site: Site) -> LauncherProcess:
    return LauncherProcess(site, forked=True, launcher_duration=600, launcher_until="deadline")


def said(site: Site) -> str:
    return (site.folder / "playbook.log").read_text("utf-8", "replace")


def test_one_tenant_whose_name_is_refused_again_and_again_costs_another_nothing(site: Site):
    """Also one whose label asks for what no cloud allows. Good ones are asked for while bad ones come in."""
    site.configure(
        provider(
            "one", pool("main", label("small", **TENANT), label("heavy", flavor_name="small", userdata="x" * 65_536))
        )
    )
    requestor = site.requestor
    good, bad = [], []
    with playbook(site):
        requestor.wait_for(requestor.ask("small", tenant_name="first"), seconds=SERVED)
        for turn in range(24):
            bad.append(requestor.ask("small", tenant_name="t" * 300))
            if turn % 3 == 0:
                bad.append(requestor.ask("heavy", tenant_name="heavy"))
            if turn % 4 == 0:
                good.append(requestor.ask("small", tenant_name="good"))
                # Each is served before the next bad one comes: nothing is frozen and no breaker is open.
                requestor.wait_for(good[-1], seconds=SERVED)
            time.sleep(0.3)
        for request in bad:
            requestor.wait_for(request, "failed", seconds=SERVED)
        told = [requestor.read(f"/nodepool/stackci/waits/{request}")["reasons"][0] for request in bad]
    assert {reason["owner"] for reason in told} == {"request", "label"}
    assert len(site.cloud.calls(CREATE)) == 1 + len(good), "what can never work costs no create"
    breakers = requestor.read("/nodepool/stackci/breakers/one") or {}
    assert [key for key in breakers if not key.startswith("label heavy/")] == []
    assert "times in a row" not in said(site)
    assert not requestor.read("/nodepool/stackci/freezes/one")


def test_clouds_with_odd_answers_are_told_in_bounded_words_and_serve(site: Site):
    """A console that hangs, a fault of 560 kB, a null where a number belongs, tokens that live for a moment."""
    for name in ("faults", "nulls", "tokens"):
        site.add_cloud(name)
    consoles = site.add_cloud("console", "guest")
    images = [{"name": "debian-12", "username": "zuul", "connection-port": consoles.ssh_port()}]
    scanned = pool("main", label("console", flavor_name="small", console_log=True), host_key_checking=True)
    site.configure(
        provider("console", scanned, boot_timeout=2, launch_retries=1, cloud_images=images),
        *(provider(name, pool("main", label(name, flavor_name="small"))) for name in ("faults", "nulls", "tokens")),
    )
    consoles.fault(CREATE, "unreachable", count=1)
    consoles.fault(CONSOLE, "hang")
    site.clouds["faults"].settings(faults_in_lists=True)
    fault = "Build of instance failed: " + "x" * 560_000 + " the cause"
    site.clouds["faults"].fault(CREATE, "error", seconds=0.0, message=fault, count=2)
    body = {"limits": {"absolute": {"maxTotalCores": None}}}
    site.clouds["nulls"].fault("GET /limits", "status", status=200, body=body, count=3)
    site.clouds["tokens"].settings(token_life=100.0)
    requestor = site.requestor
    requests = [requestor.ask(name) for name in ("console", "faults", "nulls", "tokens")]
    with playbook(site):
        eventually(lambda: consoles.calls(CONSOLE), SERVED)
        beside = requestor.ask("console")
        requestor.wait_for(beside, seconds=SERVED)
        for request in requests[1:]:
            requestor.wait_for(request, seconds=SERVED)
            (node,) = requestor.nodes_of(request)
            assert len(json.dumps(requestor.read(f"/nodepool/stackci/launches/{node}"))) < 10_000
        eventually(lambda: requestor.state(requests[0]) != "pending", SERVED)
    told = said(site).splitlines()
    assert not any(f"no answer to {CONSOLE}" in line for line in told), "a console says nothing about the provider"
    causes = [line for line in told if "the cause" in line]
    assert causes and all(len(line.encode()) < 3000 for line in causes)
    assert any("GET /limits: maxTotalCores is null where a number belongs" in line for line in told)
    assert not any("TypeError" in line for line in told)
    assert any("the tokens of the identity service live for 100 s" in line for line in told)
    assert len(site.clouds["tokens"].calls("POST /auth/tokens")) <= 2


@pytest.mark.long
def test_requests_in_work_tell_the_refusal_of_nova_while_it_lasts(site: Site):
    """What is stored, and what request_info explains, while creates are refused and after nova is back."""
    site.configure(provider("one"))
    requestor = site.requestor

    def explained(request: str) -> dict[str, Any]:
        ran = run_alone("request_info", {"config": str(site.config), "ids": [request]}, site.folder)
        return dict(ran.result["explanations"][0])

    fault = site.cloud.fault(CREATE, "status", status=503, message="the message queue is away")
    with playbook(site):
        requests = [requestor.ask("small") for _unused in range(4)]

        def explained_in_work() -> dict[str, Any] | None:
            """Of the launches that are held up one goes on; the other requests may wait again at any time."""
            for request in requests:
                if requestor.state(request) == "pending" and requestor.read(f"/nodepool/stackci/waits/{request}"):
                    told = explained(request)
                    if told["state"] == "pending" and told["owner"]:
                        return told
            return None

        told = eventually(explained_in_work, SERVED)
        assert told["providers"] == ["one"] and told["owner"] == "cloud", told
        # How often it was put back depends on when the explanation was read.
        assert "503" in told["waits_for"] and told["attempts"] >= 1 and told["thrown_away"] == 0
        assert told["expected_seconds"] is None and site.cloud.struck(fault)
        site.cloud.clear_faults()
        for request in requests:
            requestor.wait_for(request, seconds=SERVED)
        for request in requests:
            eventually(partial(_has_no_reason, site, request), 30)


def _has_no_reason(site: Site, request: str) -> bool:
    return site.requestor.read(f"/nodepool/stackci/waits/{request}") is None


@pytest.mark.long
def test_servers_of_two_images_without_an_answer_blame_their_network_and_fail_nobody(site: Site):
    cloud = site.add_cloud("one", "guest")
    names = ("debian-12", "ubuntu")
    images = [{"name": name, "username": "zuul", "connection-port": cloud.ssh_port()} for name in names]
    labels = [label(name, flavor_name="small", cloud_image=name) for name in names]
    site.configure(provider("one", pool("main", *labels, host_key_checking=True), boot_timeout=2, cloud_images=images))
    cloud.fault(CREATE, "unreachable", lasts=20)
    requestor = site.requestor
    requests = [requestor.ask(name) for name in names]
    with playbook(site):
        eventually(lambda: "[owner: network]" in said(site), SERVED)
        for request in requests:
            requestor.wait_for(request, seconds=SERVED)
    assert requestor.read("/nodepool/stackci/breakers/one") in (None, {})
    assert len(cloud.calls(CREATE)) <= 2 + 8, "single servers try whether the way is back"


@pytest.mark.long
def test_words_that_name_a_port_a_host_or_a_project_are_told_as_that(site: Site):
    """neutron's agent is away in one cloud, nova has lost a host in another, keystone does not find a project."""
    for name in ("ports", "hosts", "project", "calls"):
        site.add_cloud(name)
    site.configure(*(provider(name, pool("main", label(name, flavor_name="small"))) for name in site.clouds))
    unbound = "Binding failed for port 7, please check neutron logs for more information."
    site.clouds["ports"].fault(CREATE, "error", seconds=0.3, lasts=15, message=unbound)
    site.clouds["hosts"].fault(CREATE, "error", seconds=0.3, lasts=15, message="Compute host c7 could not be found.")
    lost = {"error": {"code": 404, "message": "Could not find project: ci.", "title": "Not Found"}}
    login = site.clouds["project"].fault("POST /auth/tokens", "status", status=404, body=lost)
    limit = {"forbidden": {"code": 403, "message": "API rate limit exceeded"}}
    site.clouds["calls"].fault(CREATE, "status", status=403, body=limit, count=2)
    requestor = site.requestor
    requests = {name: requestor.ask(name) for name in site.clouds}
    with playbook(site):
        eventually(lambda: "correct project_name or project_id" in said(site), SERVED)
        assert site.clouds["project"].struck(login) <= 12
        site.clouds["project"].clear_faults()
        for request in requests.values():
            requestor.wait_for(request, seconds=SERVED)
    told = said(site)
    assert "ports/main: frozen for working ports in private in zone" in told
    assert re.search(r"Binding failed for port 7.*\[owner: network\]", told)
    assert re.search(r"Compute host c7 could not be found.*\[owner: cloud\]", told)
    assert re.search(r"API rate limit exceeded.*\[owner: cloud\]", told)
    assert "auth_url does not lead" not in told and "addresses in private" not in told
    for name in site.clouds:
        assert requestor.read(f"/nodepool/stackci/breakers/{name}") in (None, {})
        assert len(site.clouds[name].calls(CREATE)) <= 1 + 6
