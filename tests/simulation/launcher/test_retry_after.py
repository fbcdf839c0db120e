# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud that asks to be left alone for an hour is asked again much sooner, and by one call at first."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable
from tests.support.world import World, one_provider


def busy() -> CloudUnavailable:
    """One 503 of a maintenance page."""
    return CloudUnavailable("503 Service Unavailable", provider="east", status=503, retry_after=3600.0)


@pytest.mark.parametrize("kind", ["GET /servers/detail", "POST /servers", "GET /limits"])
def test_one_answer_does_not_end_service_for_an_hour(kind):
    with World(one_provider(max_servers=5)) as world:
        cycle = world.start()
        world.run(3)
        world.fault("east", kind, left=1, error=busy)
        request = world.request("small")
        assert world.run(70, until=lambda: world.state(request) == "fulfilled"), cycle.lines


def test_while_it_lasts_there_is_a_reason_and_one_cheap_call_at_a_time():
    with World(one_provider(max_servers=5)) as world:
        cycle = world.start()
        world.run(3)
        fault = world.fault("east", error=busy)
        request = world.request("small", "small")
        world.run(30)
        client = cycle.clients[0]
        before = client.counters.result()
        assert not world.run(50, until=lambda: world.state(request) == "fulfilled")
        wait = cycle.account.waiting[request]
        assert "it asked for a pause of 3600 s, which ends in" in wait["text"]
        after = client.counters.result()
        fresh = {
            name: sum(after[name].values()) - sum(before.get(name, {}).values())
            for name in after
            if after[name] != before.get(name)
        }
        assert set(fresh) == {"GET /os-availability-zone"}
        assert 2 <= fresh["GET /os-availability-zone"] <= 4
        fault.left = 0
        assert world.run(120, until=lambda: world.state(request) == "fulfilled"), cycle.lines
