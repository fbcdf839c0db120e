# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZooKeeper goes away, comes back and forgets, or somebody else writes, while a build is under way."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from kazoo.recipe.lock import Lock

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds import build as build_module
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds import build_guard as guard_module
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.builds.build_cycle import BuildsCycle
from tests.support.builder_case import CLEAN, BuilderSite, image
from tests.support.fixtures_zookeeper import eventually, expire_session
from tests.support.zookeeper_server import ZooKeeperServer


@pytest.fixture
def own_site(tmp_path):
    """A site whose server may be stopped."""
    with ZooKeeperServer(tick_ms=200) as server:
        made = BuilderSite(tmp_path, server)
        yield made
        made.close()


class Cycle:
    """A cycle in a thread, with a build that runs until *go* is called."""

    def __init__(self, site, monkeypatch):
        self.site = site
        self.go = site.folder / "go"
        self.stores: list[Any] = []
        self.results: list[Any] = []
        self.errors: list[Any] = []
        self.said: list[str] = []
        original = BuildsCycle.__init__

        def watched(cycle, begun, *more):
            self.stores.append(begun.store)
            original(cycle, begun, *more)

        monkeypatch.setattr(BuildsCycle, "__init__", watched)
        site.configure(image(env_vars={"FAKE_SECONDS": "100", "FAKE_GO": str(self.go)}))
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self.build_id = site.running()
        eventually(site.processes)

    def _run(self):
        try:
            self.results.append(self.site.run(state_dir="", say=self.said.append))
        except Exception as error:
            self.errors.append(error)

    @property
    def store(self):
        return self.stores[0]

    def result(self, seconds=60):
        self.thread.join(seconds)
        assert not self.thread.is_alive() and not self.errors, self.errors
        return self.results[0]

    def report(self):
        (report,) = [one for one in self.result()["builds"] if one["build_id"] == self.build_id]
        return report


def test_a_restart_of_zookeeper_costs_nothing(own_site, monkeypatch):
    cycle = Cycle(own_site, monkeypatch)
    own_site.zookeeper.stop()
    eventually(lambda: cycle.store.state != "connected")
    own_site.zookeeper.start()
    eventually(lambda: cycle.store.state == "connected")
    cycle.go.touch()
    assert cycle.report()["state"] == "ready"
    eventually(lambda: own_site.zk.connected)
    assert own_site.states() == ["ready"]
    told = [line.partition("): ")[2] for line in cycle.said if line.startswith("ZooKeeper (")]
    assert [line.split(" ")[0] for line in told] == ["the", "back"]
    assert "connection is lost" in told[0] and told[1].split(",")[0].endswith(" s")


def test_a_build_that_ends_while_zookeeper_is_away_is_written_down_later(own_site, monkeypatch):
    cycle = Cycle(own_site, monkeypatch)
    own_site.zookeeper.stop()
    eventually(lambda: cycle.store.state != "connected")
    cycle.go.touch()
    eventually(lambda: own_site.processes() == [])
    own_site.zookeeper.start()
    assert cycle.report()["state"] == "ready"
    eventually(lambda: own_site.zk.connected)
    assert own_site.states() == ["ready"]


def test_a_lost_session_costs_nothing_while_lock_and_record_are_ours(site, monkeypatch):
    cycle = Cycle(site, monkeypatch)
    generation = cycle.store.generation
    expire_session(site.zookeeper, cycle.store)
    locks = site.path("fake", "builds", "lock")
    eventually(lambda: cycle.store.generation > generation and site.zk.get_children(locks))
    cycle.go.touch()
    assert cycle.report()["state"] == "ready"
    assert site.states() == ["ready"]
    eventually(lambda: not site.zk.get_children(locks))


@pytest.mark.parametrize("what", ["deleted", "failed", "somebody else's"])
def test_a_record_that_is_not_ours_any_more_ends_the_build(site, monkeypatch, what):
    cycle = Cycle(site, monkeypatch)
    path = site.path("fake", "builds", cycle.build_id)
    if what == "deleted":
        site.zk.delete(path, recursive=True)
    elif what == "failed":
        site.write("fake", cycle.build_id, state="failed")
    else:
        site.write("fake", cycle.build_id, builder_id=str(uuid.uuid4()))
    eventually(lambda: not any(cycle.build_id in text for text in site.leftovers()["temporary files"]), 30)
    cycle.go.touch()  # for the one that follows
    assert cycle.report()["state"] == "lost"
    assert not any(cycle.build_id in name for name in site.files())
    if what == "deleted":
        assert not site.zk.exists(path)
        assert site.states() == ["ready"]
    assert site.leftovers() == CLEAN


def test_a_lock_that_somebody_took_meanwhile_ends_the_build(site, monkeypatch):
    monkeypatch.setattr(guard_module, "GRACE", -18.0)  # of 2 × 10 s nothing is left but 2 s
    cycle = Cycle(site, monkeypatch)
    thief = Lock(site.zk, site.path("fake", "builds", "lock"))
    waiting = threading.Thread(target=lambda: thief.acquire(timeout=30))
    waiting.start()
    eventually(lambda: len(site.zk.get_children(site.path("fake", "builds", "lock"))) == 2)
    expire_session(site.zookeeper, cycle.store)
    waiting.join(30)
    eventually(lambda: site.processes() == [], 30)
    thief.release()
    cycle.go.touch()
    assert cycle.report()["state"] == "lost"
    assert "another client now has the lock of image" in cycle.report()["error"]


def test_a_build_without_a_record_leaves_no_files(own_site, monkeypatch):
    monkeypatch.setattr(build_module, "STORE_GRACE", -9.0)  # of the session's 10 s 1 s is left
    cycle = Cycle(own_site, monkeypatch)
    own_site.zookeeper.stop()
    eventually(lambda: cycle.store.state != "connected")
    cycle.go.touch()
    eventually(lambda: own_site.processes() == [] and own_site.files() == [], 30)
    own_site.zookeeper.start()
    result = cycle.result()
    eventually(lambda: own_site.zk.connected)
    assert result["abandoned"] == [cycle.build_id]
    assert own_site.states() == ["failed", "ready"]
    assert not any(cycle.build_id in name for name in own_site.files())
