# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Answers that nobody expects: huge faults, nulls, tokens that live for a minute, consoles that hang."""

from __future__ import annotations

import json

import pytest

from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider


def test_of_a_huge_fault_two_kilobytes_are_told_and_others_are_served(site: Site):
    fault = "Build of instance failed: " + "x" * 560_000 + " the cause"
    site.configure(provider("one", launch_retries=3))
    site.cloud.settings(faults_in_lists=True)
    site.cloud.fault("POST /servers", "error", seconds=0.0, message=fault, count=2)
    requestor = site.requestor
    request = requestor.ask("small")
    with site.stay() as cycle:
        requestor.wait_for(request, seconds=40)
        result = cycle.end()
    told = [line for line in cycle.lines if "the cause" in line]
    assert told and all(len(line.encode()) < 3000 for line in told)
    assert len(json.dumps(result)) < 100_000


def test_a_null_in_the_limits_is_told_in_our_words(site: Site):
    site.configure()
    body = {"limits": {"absolute": {"maxTotalCores": None}}}
    site.cloud.fault("GET /limits", "status", status=200, body=body, count=3)
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        cycle.end()
    assert any("GET /limits: maxTotalCores is null where a number belongs" in line for line in cycle.lines)
    assert not any("TypeError" in line for line in cycle.lines)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"token_life": 100.0}, "the tokens of the identity service live for 100 s"),
        ({"clock_offset": -3600.0}, "the clock of the identity service is"),
    ],
    ids=["short", "behind"],
)
def test_short_tokens_and_a_wrong_clock_do_not_cost_a_login_per_call(site: Site, settings: dict[str, float], told: str):
    site.configure()
    site.cloud.settings(**settings)
    request = site.requestor.ask("small", "small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, seconds=40)
        cycle.end()
    assert len(site.cloud.calls("POST /auth/tokens")) <= 2
    assert len([line for line in cycle.lines if told in line]) == 1


@pytest.mark.long
def test_a_console_that_hangs_delays_nobody_else(site: Site):
    site.add_cloud("one", "guest")
    port = site.cloud.ssh_port()
    images = [{"name": "debian-12", "username": "zuul", "connection-port": port}]
    offered = label("small", console_log=True)
    site.configure(
        provider(
            "one",
            pool("main", offered, host_key_checking=True),
            boot_timeout=1,
            launch_retries=1,
            cloud_images=images,
        )
    )
    site.cloud.fault("POST /servers", "unreachable", name="np0000000000")
    site.cloud.fault("POST /servers/{id}/action", "hang")
    requestor = site.requestor
    first = requestor.ask("small")
    with site.stay() as cycle:
        eventually(lambda: site.cloud.calls("POST /servers/{id}/action"), 30)
        second = requestor.ask("small")
        requestor.wait_for(second, seconds=9)
        eventually(lambda: requestor.state(first) != "pending", 40)
        cycle.end()
    assert not any("no answer to POST /servers/{id}/action" in line for line in cycle.lines)
