# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who used what, by the real modules: usage_info against nova's usage of the project; launchers are killed."""

from __future__ import annotations

import csv
import importlib
import io
import time
from typing import Any
from urllib.parse import urlencode

import openstack
import pytest

from tests.support.ansible_run import MODULES, ModuleProcess, run_alone, run_module
from tests.support.command import nodepoolctl
from tests.support.documented import differences
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import BOOT_SECONDS, Site

ENTRIES, DAYS = "/nodepool/stackci/usage-entries", "/nodepool/stackci/usage-days"
WORK_SECONDS = 5.0
ROUNDED = 0.5
"""Seconds by which hours with four digits may differ."""
BOOTED_SECONDS = BOOT_SECONDS + 1.0
"""Seconds of a boot, which nova does not count, on a loaded machine."""
NOTICED_SECONDS = 3.0
"""Seconds after which a launcher on a loaded machine sees that a server is gone."""


def usage(site: Site, runner: Any = run_alone, **options: Any) -> dict[str, Any]:
    """What usage_info returns."""
    found = runner("usage_info", {"config": str(site.config), **options}, site.folder).result
    assert not found["failed"], found
    return dict(found)


def nova_usage(site: Site, at: float) -> dict[str, float]:
    """What nova says about the project, by openstacksdk: name of a server → seconds."""
    files = openstack.config.OpenStackConfig(config_files=[str(site.clouds_yaml)], load_envvars=False)
    with openstack.connection.Connection(config=files.get_one("one")) as connection:
        moments = {"start": at - 3600, "end": at + 3600}
        query = {name: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) for name, moment in moments.items()}
        answer = connection.compute.get(f"/os-simple-tenant-usage/{connection.current_project_id}?{urlencode(query)}")
    return {row["name"]: 3600 * row["hours"] for row in answer.json()["tenant_usage"]["server_usages"]}


def rows_by_hours(found: dict[str, Any]) -> list[str]:
    """The tenants in the order of the rows."""
    return [row["tenant"] for row in found["rows"]]


def killed_while(site: Site, there: Any) -> None:
    """A launcher that is killed as soon as that is so."""
    with ModuleProcess("node_launch", {**site.files(), "duration": 120}, site.folder):
        eventually(there, 60)


@pytest.mark.long
def test_the_usage_is_what_nova_has_counted_although_launchers_are_killed(site: Site) -> None:
    """Two nodes are deleted by a launcher that is killed and by the next one, two by one that goes on."""
    site.configure()
    requestor = site.requestor
    requests = [requestor.ask("small", tenant=f"t{number}") for number in range(4)]
    killed_while(site, lambda: len(requestor.nodes()) == 4)
    killed_while(site, lambda: all(requestor.state(request) == "fulfilled" for request in requests))
    nodes = [node for request in requests for node in requestor.accept(request)]
    began = time.time()
    living = usage(site)
    assert {row["tenant"] for row in living["rows"]} == {"t0", "t1", "t2", "t3"} and living["total"]["nodes"] == 4
    eventually(lambda: time.time() - began > WORK_SECONDS, 60)
    requestor.give_back(*nodes[:2])
    killed_while(site, lambda: bool(requestor.children(ENTRIES)))
    with site.stay():
        eventually(lambda: len(requestor.nodes()) == 2, 60)
        requestor.give_back(*nodes[2:])
        eventually(lambda: requestor.nodes() == {} and requestor.children(ENTRIES) == [], 120)
    assert requestor.children(DAYS) and site.cloud.servers() == []

    found = usage(site, run_module, group_by=["tenant", "project", "job"], days=2)
    by_nova, rows = nova_usage(site, began), {row["tenant"]: row for row in found["rows"]}
    assert len(by_nova) == 4
    for number, node in enumerate(nodes):
        row, counted = rows[f"t{number}"], by_nova[f"np{node}"]
        assert (row["project"], row["job"], row["nodes"], row["servers"], row["cold"]) == ("p", "tox", 1, 1, 1)
        assert counted > WORK_SECONDS
        told, deleting = 3600 * row["hours"], 3600 * row["deleting_hours"]
        assert told >= counted - ROUNDED
        # A launcher sees the end of a server when it looks, and the one that was killed does not look any more.
        seen_late = deleting if number < 2 else NOTICED_SECONDS
        assert told <= 1.01 * counted + BOOTED_SECONDS + seen_late, (number, row, by_nova)
    assert (found["total"]["nodes"], found["problems"]) == (4, [])

    block = importlib.import_module(f"{MODULES}.usage_info").RETURN
    shown = {name: value for name, value in found.items() if name not in ("failed", "invocation", "warnings")}
    assert differences(block, shown, check=False) == []
    said = nodepoolctl("usage", "--by", "tenant", "--days", "2", folder=site.folder, config=site.config)
    assert said.returncode == 0 and "| Tenant |" in said.stdout and "Pool" not in said.stdout, said
    assert [line.split("|")[1].strip() for line in said.stdout.splitlines()[3:-1]] == list(rows_by_hours(found))
    read = list(csv.DictReader(io.StringIO(found["csv"])))
    assert [float(row["hours"]) for row in read] == [row["hours"] for row in found["rows"]]


def test_what_cannot_be_asked_is_refused_in_a_line(site: Site) -> None:
    site.configure()
    site.run()
    days = "give a number from 1 to 36500"
    for wrong, words in (
        ({"days": 0}, f"days is 0: {days}"),
        ({"days": 10**6}, days),
        ({"days": 10**12}, days),
        ({"days": 10**25}, days),
        ({"first": "x"}, "first, last"),
        ({"last": "0001-01-01"}, "first, last"),
        ({"first": "2999-01-01"}, "after"),
    ):
        refused = run_alone("usage_info", {"config": str(site.config), **wrong}, site.folder).result
        assert refused["failed"] and words in refused["msg"] and "exception" not in refused
    for module in ("node_info", "request_info"):
        refused = run_alone(module, {"config": str(site.config), "older_than": "nan"}, site.folder).result
        assert refused["failed"] and "older_than is nan: give seconds" in refused["msg"]
    assert usage(site, first="0001-01-01")["first"] == "0001-01-01"
    empty = usage(site)
    assert (empty["rows"], empty["total"]["hours"], empty["changed"]) == ([], 0.0, False)
