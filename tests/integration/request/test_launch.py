# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool_request where no launcher runs: the module launches, and deletes, by itself."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.integration.request.conftest import Site, launching
from tests.support.ansible_run import ModuleProcess, run_alone
from tests.support.fixtures_zookeeper import eventually
from tests.support.simcloud_process import SimCloud


def test_lease_and_release_without_a_launcher(site: Site, cloud: SimCloud) -> None:
    options: dict[str, Any] = {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 60}
    ran = site.play(labels=["small", "small"], **options)
    assert ran.result.get("complete"), ran.result
    assert len({node["address"] for node in ran.result["nodes"]}) == 2
    assert all(node["host_keys"] for node in ran.result["nodes"])
    assert "[nodepool_request] all 2 nodes ready" in ran.screen
    assert len(cloud.servers("east")) == 2
    again = site.request(labels=["small", "small"], **options).result
    assert not again["changed"]
    assert again["nodes"] == ran.result["nodes"]

    cloud.clear_calls("east")
    other = site.request(labels=["small"], **options).result
    assert other["failed"]
    assert "exists with" in other["msg"]
    assert cloud.calls("east") == [], "nothing is launched or deleted before a mistake is told"

    full = site.request(name="more", labels=["small"], **{**options, "timeout": 4}).result
    assert full["failed"]
    assert "1 instance needed, 0 left in east/main" in full["msg"]
    site.request(name="more", state="absent")

    gone = site.request(state="absent", **options).result
    assert gone["changed"]
    assert cloud.servers("east") == []
    assert site.launcher.documents("nodes") == {}


def test_servers_given_back_without_a_launcher_are_told_and_deleted_by_the_next_release(
    site: Site, cloud: SimCloud
) -> None:
    ran = site.request(labels=["small"], **launching(cloud)).result
    (node,) = ran["nodes"]
    told = f"no launcher serves east now: node {node['id']}"
    assert any(notice.startswith(f"{told} expires 7200 s after") for notice in ran["notices"]), ran["notices"]

    gone = site.request(state="absent").result
    assert gone["changed"] and not gone["complete"]
    assert any(notice.startswith(f"{told} was released") for notice in gone["notices"]), gone["notices"]
    assert told in json.dumps(gone["warnings"])
    assert len(cloud.servers("east")) == 1

    # A run that was killed after it gave the nodes back leaves the same.
    planned = site.request(state="absent", check=True, **launching(cloud)).result
    assert planned["changed"] and planned["planned"] == [
        f"delete the servers of nodes {node['id']}: they were released"
    ]
    again = site.request(state="absent", wait=False, **launching(cloud)).result
    assert again["complete"] and again["notices"] == [] and again["changed"]
    assert cloud.servers("east") == [] and site.launcher.documents("nodes") == {}


def test_a_release_deletes_servers_that_are_still_booting(site: Site, cloud: SimCloud) -> None:
    cloud.settings("east", boot={"kind": "fixed", "value": 8.0})
    late = site.request(labels=["small"], **launching(cloud, timeout=3)).result
    assert late["failed"] and len(cloud.servers("east")) == 1
    gone = site.request(state="absent", **launching(cloud)).result
    assert gone["complete"], gone
    assert cloud.servers("east") == []
    assert site.launcher.documents("nodes") == {} and site.launcher.documents("stackci/leases") == {}


@pytest.mark.parametrize("killed", [False, True])
def test_a_release_does_not_wait_for_a_server_that_never_answers(site: Site, cloud: SimCloud, killed: bool) -> None:
    cloud.fault("east", "POST /servers", "unreachable")
    options: dict[str, Any] = {"name": "web", "config": str(site.config), "labels": ["small"], **launching(cloud)}
    with ModuleProcess("nodepool_request", {**options, "timeout": 60 if killed else 5}, site.folder) as process:
        eventually(lambda: [server for server in cloud.servers("east") if server["status"] == "ACTIVE"], 60.0)
        if killed:
            process.kill()
            process.wait(10)
        else:
            assert "0 of 1 node ready; the server of node " in process.result(60)["msg"]
    # Each attempt lasts for boot-timeout, and there are three.
    gone = site.request(state="absent", **launching(cloud, timeout=30)).result
    assert gone["complete"] and gone["changed"], gone
    assert cloud.servers("east") == [] and site.launcher.documents("nodes") == {}
    assert len([call for call in cloud.calls("east") if call["kind"] == "POST /servers"]) == 1


@pytest.mark.parametrize("state", ["present", "absent"])
def test_what_a_killed_run_leaves_is_deleted_by_the_next_release(site: Site, cloud: SimCloud, state: str) -> None:
    options: dict[str, Any] = {"name": "web", "config": str(site.config), "labels": ["small"], **launching(cloud)}
    if state == "present":
        cloud.settings("east", boot={"kind": "fixed", "value": 6.0})
    else:
        assert run_alone("nodepool_request", options, site.folder).result["complete"]
        cloud.settings("east", delete={"kind": "fixed", "value": 6.0})
    with ModuleProcess("nodepool_request", {**options, "state": state}, site.folder) as process:
        wanted = "POST /servers" if state == "present" else "DELETE /servers/{id}"
        eventually(lambda: wanted in [call["kind"] for call in cloud.calls("east")], 60.0)
        process.kill()
        process.wait(10)
    assert len(cloud.servers("east")) == 1
    gone = site.request(state="absent", **launching(cloud)).result
    assert gone["complete"] and gone["notices"] == [], gone
    assert cloud.servers("east") == [] and site.launcher.documents("nodes") == {}
    assert site.launcher.documents("requests") == {} and site.launcher.documents("stackci/leases") == {}


def test_a_lease_that_is_given_up_deletes_its_servers(site: Site, cloud: SimCloud) -> None:
    cloud.settings("east", boot={"kind": "fixed", "value": 8.0})
    late = site.request(labels=["small"], **launching(cloud, timeout=3, cancel_on_timeout=True)).result
    assert late["failed"] and "everything was released" in late["msg"]
    assert cloud.servers("east") == [] and site.launcher.documents("requests") == {}


def test_an_expired_lease_goes_with_the_next_lease_of_any_name(site: Site, cloud: SimCloud) -> None:
    first = site.request(labels=["small"], **launching(cloud, expires=2)).result
    (node,) = first["nodes"]
    time.sleep(max(0.0, node["expires_at"] - time.time()) + 0.1)
    told = site.request(name="other", state="absent").result
    assert any(f"node {node['id']} of an expired or released lease" in notice for notice in told["notices"]), told
    assert site.launcher.documents("nodes")[node["id"]]["state"] == "used"
    assert site.launcher.documents("stackci/leases") == {}
    site.request(name="other", labels=["small"], **launching(cloud))
    left = [server["name"] for server in cloud.servers("east")]
    assert f"np{node['id']}" not in left and len(left) == 1


def test_an_expired_lease_goes_with_the_next_sweep(site: Site, cloud: SimCloud) -> None:
    """The sweep takes no request and begins no launch."""
    options = {"clouds_config": str(cloud.clouds_yaml), "config": str(site.config)}
    first = site.request(labels=["small"], **launching(cloud, expires=2)).result
    (node,) = first["nodes"]
    site.request(name="waiting", labels=["small"], wait=False)
    time.sleep(max(0.0, node["expires_at"] - time.time()) + 0.1)
    planned = run_alone("leak_cleanup", options, site.folder, check=True).result
    row = next(thing for thing in planned["things"] if thing["kind"] == "node")
    assert (row["id"], row["verdict"], row["provider"]) == (node["id"], "due", "east")
    assert row["reason"] == "it was held for lease web, which has ended, and no launcher serves its provider"
    assert len(cloud.servers("east")) == 1

    swept = run_alone("leak_cleanup", options, site.folder).result
    assert swept["changed"] and swept["counts"]["east"]["node"]["deleted"] == 1, swept
    assert cloud.servers("east") == [] and site.launcher.documents("nodes") == {}
    (request,) = site.launcher.documents("requests").values()
    assert request["state"] == "requested"
    assert [lease["name"] for lease in site.launcher.documents("stackci/leases").values()] == ["waiting"]


def test_a_wrong_password_fails_at_once(site: Site, cloud: SimCloud) -> None:
    document = json.loads(cloud.clouds_yaml.read_text("utf-8"))
    document["clouds"]["east"]["auth"]["password"] = "no more"
    wrong = site.folder / "wrong.yaml"
    wrong.write_text(json.dumps(document), encoding="utf-8")
    options = launching(cloud, timeout=300, clouds_config=str(wrong))
    began = time.monotonic()
    failed = site.request(labels=["small"], **options).result
    assert failed["failed"] and "no more" not in json.dumps(failed["msg"])
    assert "provider east" in failed["msg"] and "password" in failed["msg"], failed["msg"]
    assert time.monotonic() - began < 200, "not after the time-out of the task"

    site.request(labels=["small"], **launching(cloud))
    failed = site.request(state="absent", **options).result
    assert failed["failed"] and "its servers are not deleted" in failed["msg"]
    assert len(cloud.servers("east")) == 1


def test_a_wrong_password_of_zookeeper_fails_at_once(site: Site, cloud: SimCloud) -> None:
    secure = site.folder / "secure.conf"
    account = "zookeeper-auth: {username: launcher, protect: true, password: "
    secure.write_text(f"{account}right}}\n", encoding="utf-8")
    options = launching(cloud, timeout=300, secure_config=str(secure))
    assert site.request(labels=["small"], **options).result["complete"]
    secure.write_text(f"{account}no-more}}\n", encoding="utf-8")
    began = time.monotonic()
    for more in ({"name": "other", "labels": ["small"]}, {"state": "absent"}):
        failed = site.request(**more, **options).result
        assert failed["failed"] and "zookeeper-auth" in failed["msg"], failed["msg"]
        assert "no-more" not in json.dumps(failed["msg"])
    assert time.monotonic() - began < 200, "not after the time-out of the task"
    assert len(cloud.servers("east")) == 1


def test_label_that_nobody_offers_is_a_failure(site: Site, cloud: SimCloud) -> None:
    options: dict[str, Any] = {"launch": True, "clouds_config": str(cloud.clouds_yaml), "timeout": 30}
    result = site.play(labels=["huge"], **options).result
    assert result["failed"]
    # It is not even asked for.
    assert "label 'huge' is neither in " in result["msg"] and "there are large, small" in result["msg"]
    assert site.launcher.documents("requests") == {}
