# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which connections are closed."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.crowd import EVERY, Crowd


class Connection:
    """As much of a waitress channel as is looked at."""

    def __init__(self, client: str = "10.0.0.1", made: float = 0.0, request: Any = None) -> None:
        self.addr = (client, 1)
        self.creation_time = made
        self.request = request
        self.requests: list[Any] = []
        self.total_outbufs_len = 0
        self.will_close = False


@pytest.fixture
def crowd() -> Crowd:
    return Crowd(header_seconds=10.0, per_client=3)


def test_a_header_that_does_not_end_in_its_time_ends_the_connection(crowd):
    slow, quick = Connection(request=object()), Connection(request=object())
    assert crowd.step([slow, quick], 0.0) == 0
    quick.request = object()  # the next request of the same connection
    assert crowd.step([slow, quick], 9.9) == 0
    assert crowd.step([slow, quick], 10.2) == 1
    assert (slow.will_close, quick.will_close) == (True, False)
    assert crowd.step([slow, quick], 19.8) == 0
    assert crowd.step([slow, quick], 20.1) == 1


@pytest.mark.parametrize("change", [{"requests": ["one"]}, {"total_outbufs_len": 5}])
def test_what_is_being_answered_goes_on(crowd, change):
    busy = Connection(request=object())
    vars(busy).update(change)
    for second in range(0, 100, 5):
        assert crowd.step([busy], float(second)) == 0


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
    crowd.step([Connection(request=object())], 0.0)
    crowd.step([], 1.0)
    assert crowd._begun == {}
