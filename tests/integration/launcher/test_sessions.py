# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session that is lost, a ZooKeeper that restarts; and how many calls are made at which distance."""

from __future__ import annotations

import itertools
import uuid
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from tests.support.fixtures_zookeeper import break_connection, eventually, expire_session
from tests.support.launcher_case import CloudBank, Cycle, Site, provider
from tests.support.zookeeper_server import ZooKeeperServer


def test_a_lost_session_in_the_middle_loses_no_server(site: Site):
    site.configure()
    site.cloud.settings(boot=1.5)
    requestor = site.requestor
    with site.stay() as cycle:
        request = requestor.ask("small", "small")
        eventually(lambda: [node for node in requestor.nodes().values() if node["external_id"]])
        eventually(lambda: len(site.cloud.servers()) == 2)
        generation = cycle.store.generation
        expire_session(site.zookeeper, cycle.store)
        requestor.wait_for(request, seconds=40)
        assert cycle.store.generation > generation
        node_ids = requestor.nodes_of(request)
        # It is a launcher like before: registered, and it deletes what is used.
        eventually(lambda: len(requestor.children("/nodepool/components/pool")) == 1)
        requestor.give_back(*requestor.accept(request))
        requestor.wait_gone(node_ids)
        cycle.end()
    assert len(site.cloud.calls("POST /servers")) == 2
    assert site.cloud.servers() == []


def has_a_newer_session(cycle: Cycle, generation: int) -> bool:
    return cycle.store.generation > generation


def has_seen(cycle: Cycle, document: dict[str, int]) -> bool:
    return cycle.store.own.get("tests") == document


def test_a_session_lost_again_and_again(site: Site):
    site.configure()
    requestor = site.requestor
    requests = [requestor.ask("small") for _unused in range(4)]
    with site.stay() as cycle:
        for _unused in range(3):
            eventually(cycle.acts)
            generation = cycle.store.generation
            expire_session(site.zookeeper, cycle.store)
            eventually(partial(has_a_newer_session, cycle, generation))
        for request in requests:
            requestor.wait_for(request, seconds=60)
    names = sorted(server["name"] for server in site.cloud.servers())
    assert names == sorted(f"np{requestor.nodes_of(request)[0]}" for request in requests)


def test_a_broken_connection_is_not_a_lost_session(site: Site):
    site.configure()
    site.cloud.settings(boot=1.0)
    with site.stay() as cycle:
        request = site.requestor.ask("small")
        eventually(lambda: len(site.cloud.servers()) == 1)
        generation = cycle.store.generation
        break_connection(cycle.store)
        site.requestor.wait_for(request, seconds=30)
        assert cycle.store.generation == generation
    assert len(site.cloud.servers()) == 1


def test_zookeeper_restarts_in_the_middle(bank: CloudBank, tmp_path: Path):
    with ZooKeeperServer(tick_ms=100) as server:
        site = Site(tmp_path, server, f"/test-{uuid.uuid4().hex}", bank)
        site.configure()
        site.cloud.settings(boot=1.0)
        with site.stay() as cycle:
            request = site.requestor.ask("small", "small")
            eventually(lambda: len(site.cloud.servers()) == 2)
            server.restart()
            eventually(lambda: site.requestor.client.connected)
            site.requestor.wait_for(request, seconds=40)
            assert cycle.running
        assert len(site.cloud.servers()) == 2
        site.close()


def test_a_zookeeper_that_stays_away_ends_the_cycle_with_one_sentence(
    bank: CloudBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.loop.STORE_GRACE", 0.5)
    with ZooKeeperServer(tick_ms=100) as server:
        site = Site(tmp_path, server, f"/test-{uuid.uuid4().hex}", bank)
        site.configure(zookeeper_timeout=1.0)
        cycle = site.stay().__enter__()
        eventually(cycle.acts)
        server.stop()
        eventually(lambda: not cycle.running, 30)
        with pytest.raises(StoreError, match="ZooKeeper") as caught:
            cycle.end()
        assert "\n" not in str(caught.value)
        server.start()
        site.close()


def test_the_calls_that_are_told_are_the_calls_that_were_made(site: Site):
    site.configure(provider("one"), provider("two"))
    site.cloud.fault("POST /servers", "status", status=400, count=1)
    site.clouds["two"].fault("GET /limits", "status", status=503, count=1)
    requestor = site.requestor
    with site.stay() as cycle:
        requests = [requestor.ask("small", provider=name) for name in ("one", "two", "one")]
        for request in requests:
            requestor.wait_for(request, seconds=30)
        requestor.give_back(*requestor.accept(requests[0]))
        eventually(lambda: len(requestor.nodes()) == 2)
        result = cycle.end()
    for name, cloud in site.clouds.items():
        told = {kind: dict(counts) for kind, counts in result["api_calls"][name].items()}
        assert told == cloud.counts()["by_status"], name


def test_the_rate_is_kept_from_start_to_start(site: Site):
    site.configure(provider("one", rate=0.15))
    requests = [site.requestor.ask("small") for _unused in range(6)]
    with site.stay():
        for request in requests:
            site.requestor.wait_for(request, seconds=40)
    starts = sorted(call["start"] for call in site.cloud.calls())
    # A busy machine receives a call late, but none too early: so no stretch may hold more than fits into it.
    late = 0.5
    assert len(starts) > 12
    for first, last in itertools.combinations(range(len(starts)), 2):
        assert starts[last] - starts[first] >= (last - first) * 0.15 - late
    assert starts[-1] - starts[0] >= 0.14 * (len(starts) - 1)


def test_an_idle_cycle_makes_no_call(site: Site):
    site.configure()
    with site.stay() as cycle:
        site.requestor.wait_for(site.requestor.ask("small"))
        before = len(site.cloud.calls())
        # Many passes without work.
        for number in range(20):
            site.requestor.put("/nodepool/stackci/tests", {"nudge": -number})
            eventually(partial(has_seen, cycle, {"nudge": -number}))
        assert len(site.cloud.calls()) == before
