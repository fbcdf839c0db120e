# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reason of a failure is stored before the request fails, so that a killed cycle leaves none without one."""

from __future__ import annotations

from tests.support.kill_points import ChaosWorld, kill
from tests.support.world import one_provider


def test_a_cycle_that_dies_as_it_fails_a_request_has_told_why():
    with ChaosWorld(one_provider()) as world:
        request = world.request("unheard-of")
        victim = world.hunt(
            lambda _number, what: kill if what == f"after SetData /nodepool/requests/{request}" else None
        )
        assert world.run(60, until=lambda: bool(victim.struck))
        assert world.state(request) == "failed"
        told = world.store.own.get(f"waits/{request}")
        assert told["code"] == "failed"
        assert told["reasons"]
