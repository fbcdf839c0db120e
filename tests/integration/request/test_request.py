# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nodepool_request against a real ZooKeeper; what :meth:`Site.play` does is through ansible-playbook."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from functools import partial
from typing import Any

import pytest

from tests.integration.request.conftest import Site
from tests.support.ansible_run import BIN, ROOT, command, environment, play_of

SETS: dict[str, Any] = {"labels": ["small", "large"], "count": 2}


def test_a_lease_from_the_first_request_to_its_release(site: Site) -> None:
    site.launcher.work()
    first = site.play(**SETS, expires=900, tenant="t1", priority=150, diff=True).result
    assert first["changed"]
    assert first["complete"]
    assert [node["label"] for node in first["nodes"]] == ["small", "large", "small", "large"]
    assert [request["state"] for request in first["requests"]] == ["fulfilled", "fulfilled"]
    assert all(request["id"].startswith("150-") for request in first["requests"])
    node = first["nodes"][0]
    assert (node["state"], node["address"], node["port"], node["user"]) == ("hold", "127.0.0.9", 2222, "zuul")
    assert node["host_keys"] == ["ssh-ed25519 AAAA"]
    assert 0 < node["expires_at"] - time.time() <= 900
    assert first["diff"]["before"]["nodes"] == {}
    assert set(first["diff"]["after"]["nodes"].values()) == {"hold"}

    records = site.launcher.documents("nodes")
    assert site.launcher.documents("requests") == {}
    assert {record["hold_job"] for record in records.values()} == {"lease web"}
    assert {record["hold_expiration"] for record in records.values()} == {900}
    assert all(record["foreign_key"] == {"kept": True} for record in records.values())
    assert not any(site.launcher.client.get_children(f"/nodepool/nodes/{key}/lock") for key in records)

    again = site.request(**SETS, expires=900).result
    assert not again["changed"]
    assert again["nodes"] == first["nodes"]
    assert site.launcher.documents("nodes") == records, "repeating it writes nothing"

    other = site.play(labels=["small"]).result
    assert other["failed"]
    assert "state: absent" in other["msg"]

    preview = site.play(state="absent", check=True, diff=True).result
    assert preview["changed"]
    assert len(preview["planned"]) == 5
    assert site.launcher.documents("nodes") == records

    gone = site.play(state="absent").result
    assert gone["changed"]
    assert {record["state"] for record in site.launcher.documents("nodes").values()} == {"used"}
    assert site.launcher.documents("stackci/leases") == {}
    assert not site.request(state="absent").result["changed"]


def test_check_mode_writes_nothing(site: Site) -> None:
    result = site.request(**SETS, check=True, diff=True).result
    assert result["changed"]
    assert not result["complete"]
    assert result["planned"] == ["request a new set of nodes: there is no lease with this name yet"]
    assert not site.launcher.client.exists("/nodepool")


def test_wait_false_is_repeated_until_complete(site: Site) -> None:
    first = site.request(**SETS, wait=False).result
    assert first["changed"]
    assert not first["complete"]
    assert [request["state"] for request in first["requests"]] == ["requested", "requested"]
    assert first["requests"][0]["reason"]["code"] == "no-launcher"
    site.launcher.register("small")
    second = site.request(**SETS, wait=False).result
    assert not second["changed"]
    assert second["requests"][0]["reason"]["text"] == "no registered pool offers large"
    assert len(site.launcher.documents("requests")) == 2
    site.launcher.fulfil()
    third = site.request(**SETS, wait=False).result
    assert third["changed"]
    assert third["complete"]
    assert len(third["nodes"]) == 4


def test_progress_is_on_the_screen_and_time_over_tells_the_reason(site: Site) -> None:
    ran = site.request(labels=["small"], timeout=0, wait=False)
    (request,) = ran.result["requests"]
    reason = {"code": "no-room", "text": "1 instance needed, 0 left in cloud1/main"}
    site.launcher.put(f"/nodepool/stackci/waits/{request['id']}", reason)
    ran = site.play(labels=["small"], timeout=2)
    line = f"0 of 1 node ready; request {request['id']} waits: {reason['text']}"
    assert f"[nodepool_request] {line}" in ran.screen
    assert ran.result["failed"]
    assert line in ran.result["msg"]
    assert ran.result["last_state"]["requests"] == [{"id": request["id"], "state": "requested", "reason": reason}]
    assert list(site.launcher.documents("requests")) == [request["id"]], "it keeps its place in the queue"
    cancelled = site.request(labels=["small"], timeout=1, cancel_on_timeout=True).result
    assert "everything was released" in cancelled["msg"]
    assert site.launcher.documents("requests") == {}
    assert site.launcher.documents("stackci/leases") == {}


def test_failed_request_is_a_failure_with_its_reason(site: Site) -> None:
    site.request(labels=["small"], wait=False)
    ((request_id, request),) = site.launcher.documents("requests").items()
    site.launcher.put(f"/nodepool/requests/{request_id}", {**request, "state": "failed", "declined_by": ["p"]})
    result = site.request(labels=["small"]).result
    assert result["failed"]
    assert f"request {request_id} for small failed: 1 pool declined it" in result["msg"]
    assert site.launcher.documents("requests") == {}
    site.launcher.work()
    assert site.request(labels=["small"]).result["complete"]


def test_lost_node_renews_the_lease(site: Site) -> None:
    site.launcher.work()
    first = site.request(labels=["small", "small"]).result
    lost, kept = (node["id"] for node in first["nodes"])
    site.launcher.client.delete(f"/nodepool/nodes/{lost}", recursive=True)
    second = site.request(labels=["small", "small"]).result
    assert second["changed"]
    assert not {lost, kept} & {node["id"] for node in second["nodes"]}
    assert lost in second["notices"][0]
    assert site.launcher.documents("nodes")[kept]["state"] == "used"


def test_node_that_somebody_took_over_is_left_alone(site: Site) -> None:
    site.launcher.work()
    (node,) = site.request(labels=["small"]).result["nodes"]
    record = site.launcher.documents("nodes")[node["id"]]
    site.launcher.put(f"/nodepool/nodes/{node['id']}", {**record, "hold_job": "an operator's"})
    assert site.request(state="absent").result["changed"]
    assert site.launcher.documents("nodes")[node["id"]]["state"] == "hold"


def test_killed_requestor_finds_its_requests_again(site: Site) -> None:
    playbook = site.folder / "killed.yml"
    options = {"name": "web", "config": str(site.config), **SETS}
    playbook.write_text(play_of("nodepool_request", options))
    process = subprocess.Popen(
        [str(BIN / "ansible-playbook"), str(playbook)],
        env=environment(site.folder),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    _wait_until(lambda: len(site.launcher.documents("requests")) == 2)
    for pid in _family(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    asked = list(site.launcher.documents("requests"))
    site.launcher.work()
    result = site.request(**SETS).result
    assert [request["id"] for request in result["requests"]] == asked
    assert len(site.launcher.documents("nodes")) == 4


def test_bad_values_are_explained(site: Site) -> None:
    result = site.request(name="a/b", labels=["small"], count=0, priority=1000).result
    assert result["failed"]
    for part in ("name 'a/b' cannot be used", "count is 0", "priority is 1000"):
        assert part in result["msg"]
    assert "labels" in site.request().result["msg"]
    missing = site.request(labels=["small"], config="/nonexistent/nodepool.yaml").result
    assert missing["failed"]
    assert "/nonexistent/nodepool.yaml" in missing["msg"]


def test_a_label_that_nobody_has_is_refused_and_time_that_nobody_gets_is_cut(site: Site) -> None:
    refused = site.request(labels=["smal"], wait=False).result
    assert refused["failed"] and "did you mean small?" in refused["msg"]
    assert site.launcher.documents("requests") == {}
    site.launcher.register("elsewhere")
    assert not site.request(name="other", labels=["elsewhere"], wait=False).result.get("failed")
    site.config.write_text(site.config.read_text() + "max-hold-age: 60\n")
    site.launcher.work()
    result = site.request(labels=["small"], expires=7200).result
    assert "it lasts 60 s" in str(result["warnings"])
    assert [
        node["hold_expiration"] for node in site.launcher.documents("nodes").values() if node["state"] == "hold"
    ] == [60]


def test_nodes_yml_speaks_of_no_missing_hosts_when_there_are_none_to_use(site: Site) -> None:
    given = ["-e", f"nodepool_config={site.config}", "-e", "nodes_labels=small"]
    for more in (["-e", "nodes_state=absent"], ["--check"]):
        ran = command("ansible-playbook", ROOT / "playbooks" / "nodes.yml", *given, *more, folder=site.folder)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert "leased_nodes" not in ran.stdout + ran.stderr


@pytest.mark.parametrize(("keys", "checking"), [([], "accept-new"), (["ssh-ed25519 AAAA"], "yes")])
def test_nodes_yml_reaches_nodes_by_ssh_whatever_their_records_say(site: Site, keys: list[str], checking: str) -> None:
    hostile: dict[str, Any] = {
        "connection_type": "local",
        "username": "-oProxyCommand=touch evil",
        "connection_port": 1,
    }
    site.launcher.node = partial(site.launcher.node, host_keys=keys, **hostile)  # type: ignore[method-assign]
    site.launcher.register("small")
    site.launcher.work()
    given = ["-vvv", "-e", f"nodepool_config={site.config}", "-e", "nodes_labels=small"]
    ran = command("ansible-playbook", ROOT / "playbooks" / "nodes.yml", *given, folder=site.folder)
    assert ran.returncode != 0
    assert "UNREACHABLE" in ran.stdout
    assert f"-o StrictHostKeyChecking={checking}" in ran.stdout
    assert "is not used: connection_type 'local', username '-oProxyCommand=touch evil'" in ran.stdout


def _wait_until(condition: object, timeout: float = 30) -> None:
    end = time.monotonic() + timeout
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def _family(pid: int) -> list[int]:
    """A process and all that it started, however often they left their process group."""
    import psutil

    parent = psutil.Process(pid)
    return [child.pid for child in parent.children(recursive=True)] + [pid]


def test_a_lease_for_ever_can_be_read_again_extended_and_released(site: Site) -> None:
    """A number that no document can hold was stored, and nobody could read or release the lease any more."""
    site.launcher.work()
    held = site.request(labels=["small"], expires=10**25).result
    (node,) = held["nodes"]
    assert site.launcher.documents("nodes")[node["id"]]["hold_expiration"] == 4_000_000_000
    assert not site.request(labels=["small"], expires=10**12).result["changed"]
    for more in ({"expires": 10**25}, {"until": "9999-12-31 23:59"}, {"expires": 60}):
        assert site.request(state="extended", **more).result["complete"], more
    assert site.request(name="patient", labels=["small"], timeout=10**25).result["complete"]
    assert not any(site.request(name=name, state="absent").result.get("failed") for name in ("web", "patient"))
