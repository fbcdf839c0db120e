# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A strike may meet a launcher while another strike is under way: while its new session registers it anew."""

from __future__ import annotations

from functools import partial

import pytest

from tests.chaos.virtual import freeze
from tests.support.kill_points import ChaosWorld, Strike, Victim, kill, lose_session
from tests.support.world import one_provider

PLACES = ("before Create2 /nodepool/requests-lock/", "before Create2 /nodepool/components/")


@pytest.mark.parametrize("at_once", [True, False], ids=["known", "timed-out"])
@pytest.mark.parametrize("first", [partial(freeze, seconds=25.0), lose_session], ids=["frozen", "session-lost"])
def test_a_launcher_that_is_killed_while_its_new_session_begins_is_dead_and_others_go_on(first, at_once):
    struck: list[str] = []

    def choose(_number: int, what: str) -> Strike | None:
        if len(struck) == len(PLACES) or not what.startswith(PLACES[len(struck)]):
            return None
        struck.append(what)
        return first if len(struck) == 1 else partial(kill, at_once=at_once)

    with ChaosWorld(one_provider(max_servers=2)) as world:
        victim: Victim = world.hunt(choose)
        request = world.request("small")
        world.run(60, until=lambda: victim.cycle.ended)
        assert len(struck) == len(PLACES)
        assert victim.session.killed and victim.cycle.result == {"ended": "killed"}
        world.hunt()
        assert world.run(120, until=lambda: world.state(request) == "fulfilled")
