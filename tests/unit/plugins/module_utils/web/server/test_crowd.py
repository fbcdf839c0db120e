# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which connections are closed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.crowd import EVERY, LEAST_TAKEN, Crowd


class Connection:
    """As much of a waitress channel as is looked at."""

    def __init__(self, client: str = "10.0.0.1", made: float = 0.0, request: Any = None) -> None:
        self.addr = (client, 1)
        self.creation_time = made
        self.request = request
        self.requests: list[Any] = []
        self.total_outbufs_len = 0
        self.taken = 0
        self.will_close = self.closed = False

    def handle_close(self) -> None:
        self.closed = True


@pytest.fixture
def crowd() -> Crowd:
    return Crowd(header_seconds=10.0, taking_seconds=20.0, per_client=3)


def test_a_header_that_does_not_end_in_its_time_ends_the_connection(crowd):
    slow, quick = Connection(request=object()), Connection(request=object())
    assert crowd.step([slow, quick], 0.0) == 0
    quick.request = object()  # the next request of the same connection
    assert crowd.step([slow, quick], 9.9) == 0
    assert crowd.step([slow, quick], 10.2) == 1
    assert (slow.will_close, quick.will_close) == (True, False)
    assert crowd.step([slow, quick], 19.8) == 0
    assert crowd.step([slow, quick], 20.1) == 1


def test_what_is_being_answered_goes_on(crowd):
    busy, reader = Connection(request=object()), Connection()
    busy.requests, reader.total_outbufs_len = ["one"], 10**7
    for second in range(0, 100, 5):
        reader.taken += LEAST_TAKEN // 4
        assert crowd.step([busy, reader], float(second)) == 0


def test_who_takes_an_answer_too_slowly_loses_the_connection(crowd):
    slow, quick = Connection(), Connection()
    slow.total_outbufs_len = quick.total_outbufs_len = 10**7
    for second in range(0, 20, 5):
        slow.taken += 2
        assert crowd.step([slow, quick], float(second)) == 0
    quick.total_outbufs_len = 0
    assert crowd.step([slow, quick], 20.0) == 1
    assert (slow.will_close, slow.closed, quick.will_close) == (True, False, False)
    crowd.step([slow, quick], 21.0)
    assert slow.closed, "also if it can never be written to"
    assert not quick.closed


def test_connections_that_are_being_answered_count_for_their_client(crowd):
    found = [Connection(made=float(number)) for number in range(6)]
    for one in found[:4]:
        one.total_outbufs_len = 9
    found[5].requests = ["one"]
    assert crowd.step(found, 0.0) == 3
    assert [one.will_close for one in found] == [True, True, False, False, True, False]


def test_a_client_with_too_many_connections_loses_its_oldest_idle_ones(crowd):
    found = [Connection(made=float(number)) for number in range(5)]
    found[0].requests = ["one"]
    others = [Connection(client="10.0.0.2", made=float(number)) for number in range(3)]
    assert crowd.step([*others, *found], 0.0) == 2
    assert [one.will_close for one in found] == [False, True, True, False, False]
    assert not any(one.will_close for one in others)


def test_looks_are_rare(crowd):
    found = [Connection() for _number in range(5)]
    assert crowd.step([], 0.0) == 0
    assert crowd.step(found, EVERY / 2) == 0
    assert crowd.step(found, EVERY) == 2


def test_connections_that_are_gone_are_forgotten(crowd):
    taker = Connection()
    taker.total_outbufs_len = 5
    crowd.step([Connection(request=object()), taker], 0.0)
    crowd.step([], 1.0)
    assert crowd._begun == crowd._taking == {}


def test_many_clients_together_leave_room_and_those_with_the_most_lose_first():
    crowd = Crowd(per_client=10, most=24)
    many = {name: [Connection(name, float(made)) for made in range(10)] for name in ("a", "b", "c")}
    few = [Connection("d"), Connection("e"), Connection("e")]
    there = [*few, *(one for found in many.values() for one in found)]
    assert crowd.step(there, 0.0) == 33 - 24
    assert not any(one.will_close for one in few)
    assert [sum(one.will_close for one in found) for found in many.values()] == [3, 3, 3]
    assert many["a"][0].will_close and not many["a"][9].will_close


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(12, 100), st.integers(1, 30))
def test_all_together_have_no_more_than_the_most_and_small_clients_lose_nothing(counts, most, per_client):
    crowd = Crowd(per_client=per_client, most=most)
    clients = [[Connection(f"client{place}") for _unused in range(count)] for place, count in enumerate(counts)]
    crowd.step([one for found in clients for one in found], 0.0)
    left = [sum(not one.will_close for one in found) for found in clients]
    assert sum(left) <= most and max(left) <= per_client
    assert all(kept == count for kept, count in zip(left, counts, strict=True) if count < max(left))
    assert all(kept >= 1 for kept in left), "who has one connection keeps it"
