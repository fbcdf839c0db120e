# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the server list whole or as changes: which of them when, and what follows from an answer."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.provider.server_list import (
    LONGEST_PAUSE,
    NOTICED,
    OVERLAP,
    PAUSE,
    SLOW,
    WHOLE_EVERY,
    Listing,
    ServerList,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import META_NODE_ID, Server
from tests.simcloud.plane import ControlPlane
from tests.support.virtual_cloud import Fate, Timing
from tests.support.world import World, one_provider

NOW = 1000.0
SLOW_CALL = SLOW + 2.0


class Nova:
    """Answers lists after *seconds*, and keeps what it was asked for."""

    def __init__(self, seconds: float = SLOW_CALL) -> None:
        self.now = NOW
        self.seconds = seconds
        self.paced = 0.0
        """Seconds for which a list waits for its turn first."""
        self.waiting = 7.0
        self.servers: list[Server] = []
        self.asked: list[str | None] = []

    def list_servers(self, changes_since: str | None = None) -> list[Server]:
        self.asked.append(changes_since)
        self.waiting += self.paced
        self.now += self.paced + self.seconds
        return self.servers

    def waited(self, ident: int) -> float:
        assert ident == threading.get_ident()
        return self.waiting


def server(ident: str, updated: str = "1970-01-01T00:16:30Z", status: str = "ACTIVE", **more: Any) -> Server:
    return Server(ident, ident, status, metadata={META_NODE_ID: ident}, updated=updated, **more)


def by_id(*servers: Server) -> dict[str, Server]:
    return {one.id: one for one in servers}


def reader(nova: Nova) -> ServerList:
    client: Any = nova
    return ServerList(lambda: client, lambda: nova.now)


def look(reading: ServerList, nova: Nova, before: Mapping[str, Server], *, whole: bool = False) -> Mapping[str, Server]:
    reading.choose(nova.now, whole=whole)
    return reading.merge(before, reading.read(), nova.now)


def test_after_a_slow_list_only_changes_are_read_from_before_the_newest_one():
    nova = Nova()
    reading = reader(nova)
    nova.servers = [server("a"), server("b", "1970-01-01T00:16:35Z")]
    known = look(reading, nova, {})
    nova.servers = [server("b", "1970-01-01T00:16:50Z", "ERROR"), server("c", "1970-01-01T00:16:45Z", "BUILD")]
    known = look(reading, nova, known)
    assert nova.asked == [None, "1970-01-01T00:16:05Z"] and OVERLAP == 30.0
    assert {key: one.status for key, one in known.items()} == {"a": "ACTIVE", "b": "ERROR", "c": "BUILD"}


@pytest.mark.parametrize("reason", ["quick", "asked for", "too old", "no times"])
def test_the_list_is_read_whole(reason):
    nova = Nova(SLOW / 2 if reason == "quick" else SLOW_CALL)
    reading = reader(nova)
    nova.servers = [replace(server("a"), updated=None if reason == "no times" else server("a").updated)]
    known = look(reading, nova, {})
    nova.now += WHOLE_EVERY if reason == "too old" else 0.0
    look(reading, nova, known, whole=reason == "asked for")
    assert nova.asked == [None, None]


def test_what_nova_has_let_go_of_is_not_there_any_more():
    """Observed: such a server has no metadata. One that is DELETED and has some still counts."""
    nova = Nova()
    reading = reader(nova)
    nova.servers = [server("a"), server("b"), server("c")]
    known = look(reading, nova, {})
    unknown = replace(server("other", status="DELETED"), metadata={})
    nova.servers = [replace(server("a", status="DELETED"), metadata={}), server("b", status="DELETED"), unknown]
    known = look(reading, nova, known)
    assert {key: one.status for key, one in known.items()} == {"b": "DELETED", "c": "ACTIVE"}


def test_changes_are_read_from_before_the_oldest_server_that_is_still_shown_as_deleted():
    """Observed: nova leaves ``updated`` as it is when it lets go of a server, up to 85 s later in a burst."""
    nova = Nova()
    reading = reader(nova)
    nova.servers = [server("a"), server("b", "1970-01-01T00:16:35Z", "DELETED"), server("c", "1970-01-01T00:18:30Z")]
    known = look(reading, nova, {})
    nova.servers = [replace(server("b", "1970-01-01T00:16:35Z", "DELETED"), metadata={})]
    known = look(reading, nova, known)
    assert nova.asked[-1] == "1970-01-01T00:16:35Z" and set(known) == {"a", "c"}
    look(reading, nova, known)
    assert nova.asked[-1] == "1970-01-01T00:18:00Z"


@pytest.mark.parametrize("missed", ["change", "server"])
def test_changes_are_not_trusted_any_more_once_they_have_missed_one(missed):
    nova = Nova()
    reading = reader(nova)
    first, late = "1970-01-01T00:16:40Z", "1970-01-01T00:16:05Z"
    nova.servers = [server("a"), server("b", first)]
    known = look(reading, nova, {})
    nova.servers = [server("b", first)]
    known = look(reading, nova, known)
    assert nova.asked[-1] is not None
    # The clock of the host of "a" is behind by more than the overlap.
    nova.servers = [server("a", late) if missed == "change" else server("a"), server("b", first)]
    nova.servers += [server("c", late)] if missed == "server" else []
    known = look(reading, nova, known, whole=True)
    look(reading, nova, known)
    assert nova.asked[-2:] == [None, None]


def test_changes_that_missed_nothing_go_on_being_read():
    nova = Nova()
    reading = reader(nova)
    nova.servers = [server("a"), server("b", "1970-01-01T00:16:40Z")]
    known = look(reading, nova, {})
    nova.servers = []
    known = look(reading, nova, known)
    # What an earlier cycle knew of a server is without a time.
    known = {key: replace(one, updated=None) if key == "a" else one for key, one in known.items()}
    nova.servers = [server("a", "1970-01-01T00:16:01Z"), server("b", "1970-01-01T00:16:55Z")]
    known = look(reading, nova, known, whole=True)
    look(reading, nova, known)
    assert [since is None for since in nova.asked] == [True, False, True, False]


def test_a_slow_cloud_is_asked_rarely():
    nova = Nova()
    reading = reader(nova)
    assert reading.due(nova.now) <= 0
    known = look(reading, nova, {})
    assert reading.due(nova.now) == PAUSE * SLOW_CALL
    assert reading.due(nova.now + PAUSE * SLOW_CALL) == 0
    assert reading.due(nova.now, PAUSE * SLOW_CALL + 2.0) == PAUSE * SLOW_CALL + 2.0
    assert reading.due(nova.now, 2 * LONGEST_PAUSE) == LONGEST_PAUSE
    nova.seconds = NOTICED
    for _unused in range(3):
        known = look(reading, nova, known)
    assert reading.due(nova.now) <= 0
    assert reading.due(nova.now, LONGEST_PAUSE) <= 0
    nova.seconds = (NOTICED + SLOW) / 2
    for _unused in range(3):
        known = look(reading, nova, known)
    assert reading.due(nova.now) == pytest.approx(PAUSE * nova.seconds / 2)
    assert reading.due(nova.now, 4.0) == pytest.approx(2.0)


def test_a_list_that_waited_for_the_providers_rate_was_not_slow():
    nova = Nova(NOTICED)
    nova.paced = SLOW_CALL
    reading = reader(nova)
    known = look(reading, nova, {})
    assert reading.due(nova.now, LONGEST_PAUSE) <= 0 and reading.slowest == pytest.approx(NOTICED)
    look(reading, nova, known)
    assert nova.asked == [None, None], "whole lists"


def test_a_single_quick_list_does_not_make_a_cloud_quick():
    nova = Nova()
    reading = reader(nova)
    known = look(reading, nova, look(reading, nova, {}))
    nova.seconds = NOTICED
    look(reading, nova, known)
    assert reading.due(nova.now) == PAUSE * SLOW_CALL


def test_a_whole_list_of_others_says_nothing_of_how_long_it_took():
    nova = Nova()
    reading = reader(nova)
    nova.servers = [server("a")]
    known = look(reading, nova, {})
    known = reading.merge(known, Listing(by_id(server("a"))), nova.now)
    look(reading, nova, known)
    assert nova.asked[-1] is not None


def test_a_launcher_sees_boots_failures_and_deletions_by_changes():
    """A hundred servers of others make the list slow; nova's list of changes is quick."""
    fates = [Fate("ERROR", "No valid host was found. ", 5.0)]
    timing = Timing(per_server=0.05)
    shape = {"timing": timing, "fate": lambda machine: fates.pop() if fates else Fate(), "faults_listed": True}
    with World(one_provider(), clouds={"east": shape}) as world:
        world.clouds["east"].add_foreign(100)
        cycle = world.start()
        requests = [world.request("small") for _unused in range(10)]
        assert world.run(300, until=lambda: set(requests) <= set(world.fulfilled))
        nodes = [node for request in requests for node in world.take(request)]
        world.give_back(nodes)
        assert world.run(300, until=lambda: not world.nodes())
        assert not world.clouds["east"].ours()
        lists = [since for client in cycle.clients for since in client.lists]
        assert lists[0] is None and lists.count(None) <= len(lists) / 2, lists


def test_a_crowd_at_a_cloud_with_slow_lists_is_served_with_few_of_them_and_never_two_at_a_time():
    plane = ControlPlane(alone=12.0, each=2.5, knee=8, thrash=0.01, post_each=0.15)
    timing = Timing(plane=plane, listing=0.9, per_server=0.02, spread=0.0)
    with World(one_provider(), clouds={"east": {"timing": timing}}) as world:
        cycle = world.start(duration=3600)
        requests = [world.request("small") for _unused in range(100)]
        assert world.run(3000, until=lambda: set(requests) <= set(world.fulfilled))
        began = [at for client in cycle.clients for at, kind in client.calls if kind == "GET /servers/detail"]
        assert len(began) <= 45, "57 when each one that comes up is looked for"
        assert all(after - before >= timing.listing for before, after in pairwise(began))


def test_a_server_that_nova_shows_as_deleted_for_long_is_seen_to_go_by_changes():
    timing = Timing(listing=1.5, delete=(20.0, 10.0))
    with World(one_provider(), clouds={"east": {"timing": timing, "shown_deleted": 45.0}}) as world:
        cycle = world.start(duration=3600)
        requests = [world.request("small") for _unused in range(30)]
        assert world.run(300, until=lambda: set(requests) <= set(world.fulfilled))
        world.give_back([node for request in requests for node in world.take(request)])
        assert world.run(600, until=lambda: not world.nodes())
        deletes = sum(kind == "DELETE /servers/{id}" for client in cycle.clients for _at, kind in client.calls)
        assert deletes == len(requests), "none is sent again"
