# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a sweep deletes and when it does not: sightings, floor, bound, check mode, kills, silent clouds, others."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from tests.support.ansible_run import ROOT, command, environment, run_alone, run_module
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, provider
from tests.support.leftovers import GONE, sweep, verdicts

PLAYBOOK = ROOT / "playbooks" / "leak_cleanup.yml"


def options(site: Site, **more):
    return {
        "config": str(site.config),
        "clouds_config": str(site.clouds_yaml),
        "min_age": 0,
        "wait": 0.3,
        "kinds": ["server", "floating-ip"],
        **more,
    }


def test_one_look_deletes_nothing_and_the_second_counts_a_minute_later(site: Site, leftovers):
    site.configure()
    ghost = leftovers().server()
    assert verdicts(sweep(site, wait=0)) == {ghost: "waiting"}
    assert verdicts(sweep(site, wait=0, ahead=55)) == {ghost: "waiting"}
    assert verdicts(sweep(site, wait=0, ahead=65)) == {ghost: "deleted"}


def test_what_is_young_waits_for_its_age(site: Site, leftovers):
    site.configure()
    ghost = leftovers().server()
    assert verdicts(sweep(site, min_age=600)) == {ghost: "young"}
    assert verdicts(sweep(site, min_age=600, ahead=500)) == {ghost: "young"}
    assert verdicts(sweep(site, min_age=600, ahead=620)) == {ghost: "deleted"}


def test_a_thing_that_was_away_in_between_begins_anew(site: Site, leftovers):
    """A node that comes back (a restored record, a slow cache) clears the suspicion."""
    site.configure()
    ghost = leftovers().server()
    sweep(site, wait=0)
    site.requestor.put(f"/nodepool/nodes/{GONE}", {"state": "hold", "type": ["small"], "provider": "one"})
    assert sweep(site, wait=0, ahead=100)["things"] == []
    site.requestor.client.delete(f"/nodepool/nodes/{GONE}")
    assert verdicts(sweep(site, wait=0, ahead=200)) == {ghost: "waiting"}


def test_the_bound_of_deletions(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    for _unused in range(3):
        somebody.floating_ip(somebody.description(f"{GONE}-1-a"))
    result = sweep(site, max_deletions=2)
    assert sorted(verdicts(result).values()) == ["beyond-bound", "deleted", "deleted"]
    assert result["counts"]["one"]["floating-ip"]["beyond_bound"] == 1
    assert list(verdicts(sweep(site, max_deletions=2)).values()) == ["deleted"]


def test_check_mode_lists_everything_and_writes_nothing(site: Site, leftovers):
    site.configure()
    somebody = leftovers()
    ghost, foreign = somebody.server(), somebody.server(provider=None)
    site.requestor.put("/nodepool/nodes/0000000050", b"")
    site.cloud.clear_calls()
    before, left = site.requestor.tree(), somebody.left()
    made = len(site.cloud.calls())
    asked = options(site, kinds=["server", "empty-node"])
    result = run_module("leak_cleanup", asked, site.folder, check=True, diff=True).result
    assert verdicts(result) == {ghost: "waiting", foreign: "foreign", "0000000050": "waiting"}
    assert result["changed"] is False
    assert f"server {ghost}: waiting, made for node {GONE}" in result["diff"]["after"]
    assert site.requestor.tree() == before
    assert somebody.left() == left
    own = site.cloud.calls()[made:]
    assert {call["kind"] for call in own if not call["kind"].startswith("GET")} <= {"POST /auth/tokens"}
    # After a sighting, what would be deleted is told.
    sweep(site, wait=0, kinds=("server",))
    before = site.requestor.tree()
    result = sweep(site, check=True, kinds=("server",), ahead=100)
    assert (verdicts(result)[ghost], result["changed"]) == ("due", True)
    assert site.requestor.tree() == before
    assert ghost in somebody.left()


def test_the_playbook(site: Site, leftovers):
    site.configure()
    ghost = leftovers().server()
    variables = site.variables(leak_min_age=0, leak_wait=0.5)
    done = command("ansible-playbook", PLAYBOOK, "-e", variables, folder=site.folder)
    assert done.returncode == 0, done.stdout
    assert f"one: server {ghost}: deleted, made for node {GONE}" in done.stdout
    assert "1 deleted, 0 could not be deleted, 0 not yet, 0 foreign" in " ".join(done.stdout.split())
    eventually(lambda: ghost not in {server["id"] for server in site.cloud.servers()})


def test_the_module_explains_wrong_options(site: Site):
    site.configure()
    for wrong, text in (({"wait": -1}, "wait is -1"), ({"providers": ["x"]}, "'x' is not a provider in")):
        result = run_alone("leak_cleanup", options(site, **wrong), site.folder).result
        assert result["failed"] is True
        assert text in result["msg"]


def test_a_sweep_that_is_killed_is_gone_on_with(site: Site, leftovers):
    """kill -9 while a deletion is under way: the lock goes with the session, the next run finds the rest."""
    site.configure()
    somebody = leftovers()
    ghosts = {somebody.server() for _unused in range(3)}
    foreign = somebody.server(provider=None)
    sweep(site, wait=0, kinds=("server",))
    hang = site.cloud.fault("DELETE /servers/{id}", "hang_after")
    process = subprocess.Popen(
        [sys.executable, "-c", _SWEEP, str(site.config), str(site.clouds_yaml)],
        env=environment(site.folder, PYTHONPATH=f"{ROOT}:{ROOT / 'playbooks' / 'collections'}"),
    )
    try:
        eventually(lambda: site.cloud.struck(hang), 30)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    site.cloud.clear_faults()
    eventually(lambda: not site.requestor.children("/nodepool/stackci/sightings/one/lock"), 20)
    sweep(site, kinds=("server",))
    eventually(lambda: {server["id"] for server in site.cloud.servers()} == {foreign})
    assert ghosts.isdisjoint(somebody.left())


_SWEEP = """
import sys
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.sweep_options import SweepOptions
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.by_hand import run_sweep
run_sweep(SweepOptions(config=sys.argv[1], clouds_config=sys.argv[2], min_age=0.0, wait=0.3, kinds=("server",)))
"""


def test_a_delete_that_is_lost_is_asked_for_again(site: Site, leftovers):
    site.configure()
    ghost = leftovers().server()
    site.cloud.fault(None, "lost_delete", count=1)
    assert verdicts(sweep(site)) == {ghost: "deleted"}
    assert ghost in {server["id"] for server in site.cloud.servers()}
    (row,) = sweep(site)["things"]
    assert (row["verdict"], row["tries"], row["answer"]) == (
        "paused",
        1,
        "the delete was accepted, but it still exists",
    )
    assert verdicts(sweep(site, wait=0, ahead=70)) == {ghost: "deleted"}
    eventually(lambda: site.cloud.servers() == [])


@pytest.mark.parametrize("kind", ["GET /ports", "GET /volume/volumes/detail", "GET /images"])
def test_what_cannot_be_listed_keeps_nothing_else_waiting(site: Site, leftovers, kind):
    site.configure()
    ghost = leftovers().server()
    site.cloud.fault(kind, "status", status=500)
    result = sweep(site)
    assert verdicts(result)[ghost] == "deleted"
    assert "500" in result["left_out"]["one"]


def test_a_provider_that_cannot_be_seen_is_left_out(site: Site, leftovers):
    site.configure(provider("one"), provider("two"))
    ghost = leftovers("two").server(provider="two")
    hidden = leftovers("one").server()
    site.clouds["one"].fault("GET /servers/detail", "status", status=503)
    result = sweep(site, kinds=("server",))
    assert verdicts(result) == {ghost: "deleted"}
    assert "503" in result["left_out"]["one"]
    assert hidden in {server["id"] for server in site.clouds["one"].servers()}


def test_of_two_sweeps_one_works(site: Site, leftovers, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        "ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.leaks.by_hand.LOCK_TRIES", 2
    )
    site.configure()
    ghost = leftovers().server()
    held = site.requestor.client.Lock("/nodepool/stackci/sightings/one/lock")
    held.acquire()
    result = sweep(site, kinds=("server",))
    assert (result["things"], result["changed"]) == ([], False)
    assert "swept by another process" in result["left_out"]["one"]
    held.release()
    assert verdicts(sweep(site, kinds=("server",))) == {ghost: "deleted"}


def test_beside_a_launcher_at_full_speed_nothing_is_ever_taken_for_a_leak(site: Site, leftovers):
    """Nodes come, are used and go as fast as they can, while somebody sweeps without pause and without any floor."""
    site.configure()
    somebody = leftovers()
    foreign = somebody.server(provider="nodepool-one")
    over = threading.Event()
    results: list[dict[str, Any]] = []

    def sweep_on() -> None:
        while not over.is_set():
            results.append(sweep(site, wait=0.05, max_deletions=1000))

    sweeper = threading.Thread(target=sweep_on)
    used: list[str] = []
    with site.stay() as cycle:
        eventually(lambda: cycle.acts("one"))
        sweeper.start()
        try:
            while len(used) < 80 or len(results) < 20:
                requests = [site.requestor.ask("small") for _unused in range(8)]
                for request in requests:
                    site.requestor.wait_for(request, seconds=30)
                    nodes = site.requestor.accept(request)
                    servers = {server["id"] for server in site.cloud.servers()}
                    assert {site.requestor.node(node_id)["external_id"] for node_id in nodes} <= servers
                    used += nodes
                    site.requestor.give_back(*nodes)
        finally:
            over.set()
            sweeper.join()
        site.requestor.wait_gone(used)
    assert not any(row["verdict"] == "deleted" for result in results for row in result["things"])
    assert [server["id"] for server in site.cloud.servers()] == [foreign]
