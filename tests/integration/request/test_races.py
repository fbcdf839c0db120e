# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases that two programs work on at a time."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.leases.run import LeaseTurn, run_lease
from ansible_collections.stackci.nodepool.plugins.module_utils.model.lease import LeaseSpec
from tests.integration.request.conftest import Site, launching
from tests.support.ansible_run import ModuleProcess
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud


def _given(site: Site, **more: Any) -> dict[str, Any]:
    return {"name": "web", "config": str(site.config), "labels": ["small"], **more}


def _nothing_is_left(site: Site, cloud: SimCloud) -> None:
    assert cloud.servers("east") == []
    assert site.launcher.documents("nodes") == {} and site.launcher.documents("requests") == {}
    assert site.launcher.documents("stackci/leases") == {}


@pytest.mark.parametrize("launch", [True, False])
def test_a_lease_that_is_released_while_it_is_launched(site: Site, cloud: SimCloud, launch: bool) -> None:
    cloud.settings("east", boot={"kind": "fixed", "value": 4.0})
    with ModuleProcess("nodepool_request", _given(site, **launching(cloud)), site.folder) as process:
        eventually(lambda: cloud.servers("east"), 60.0)
        gone = site.request(state="absent", **(launching(cloud) if launch else {})).result
        assert gone["complete"] and gone["changed"], gone
        first = process.result(90)
    assert first["failed"] and ("was released while" in first["msg"] or "was deleted by another" in first["msg"]), first
    if "was deleted by another" in first["msg"]:
        site.request(state="absent", **launching(cloud))
    _nothing_is_left(site, cloud)


def test_a_lease_that_is_released_twice(site: Site, cloud: SimCloud) -> None:
    site.request(labels=["small"], **launching(cloud))
    first = site.request(state="absent", **launching(cloud)).result
    second = site.request(state="absent", **launching(cloud)).result
    assert (first["changed"], second["changed"], second["complete"]) == (True, False, True)
    _nothing_is_left(site, cloud)
    site.request(labels=["small"], **launching(cloud))
    given = _given(site, state="absent", **launching(cloud))
    both = [ModuleProcess("nodepool_request", given, site.folder, f"{n}.json") for n in range(2)]
    with both[0] as one, both[1] as two:
        results = [one.result(60), two.result(60)]
    assert [(result["failed"], result["complete"]) for result in results] == [(False, True)] * 2, results
    _nothing_is_left(site, cloud)


def test_an_expired_lease_is_asked_for_again(site: Site, cloud: SimCloud) -> None:
    first = site.request(labels=["small"], **launching(cloud, expires=2)).result
    (node,) = first["nodes"]
    time.sleep(max(0.0, node["expires_at"] - time.time()) + 0.1)
    again = site.request(labels=["small"], **launching(cloud, expires=600)).result
    (other,) = again["nodes"]
    assert other["id"] != node["id"] and again["changed"]
    assert [server["name"] for server in cloud.servers("east")] == [f"np{other['id']}"]


def test_a_launcher_that_starts_while_the_module_launches(site: Site, cloud: SimCloud) -> None:
    cloud.settings("east", boot={"kind": "fixed", "value": 4.0})
    options = {"config": str(site.config), "clouds_config": str(cloud.clouds_yaml), "duration": 40, "until": "deadline"}
    with ModuleProcess("nodepool_request", _given(site, **launching(cloud)), site.folder) as process:
        eventually(lambda: cloud.servers("east"), 60.0)
        (site.folder / "l").mkdir()
        with ModuleProcess("node_launch", options, site.folder / "l") as launcher:
            (node,) = process.result(60)["nodes"]
            assert [server["name"] for server in cloud.servers("east")] == [f"np{node['id']}"]
            assert site.request(state="absent").result["changed"]
            eventually(lambda: cloud.servers("east") == [], 30)
            launcher.kill()
    assert len([call for call in cloud.calls("east") if call["kind"] == "POST /servers"]) == 1


@pytest.mark.parametrize("off", [86400.0, -86400.0])
def test_a_requestor_whose_clock_is_a_day_off_takes_nothing_from_others(
    site: Site, cloud: SimCloud, off: float
) -> None:
    (node,) = site.request(labels=["small"], **launching(cloud, expires=900)).result["nodes"]
    for launch in (False, True):
        turn = LeaseTurn(
            config=str(site.config),
            clouds_config=str(cloud.clouds_yaml),
            spec=LeaseSpec("other", ("small",), expires=900),
            launch=launch,
            timeout=5.0 if not launch else 60.0,
        )
        outcome = run_lease(turn, clock=lambda: time.time() + off)
        assert any("the clock of this host is " in warning for warning in outcome.warnings)
    (held,) = outcome.after.nodes
    record = site.launcher.documents("nodes")
    assert [record[key]["state"] for key in (node["id"], held.id)] == ["hold", "hold"]
    assert abs(record[held.id]["state_time"] - time.time()) < 600
    assert len(cloud.servers("east")) == 2
