# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Floating IPs of which nobody heard that they were made."""

from __future__ import annotations

import pytest

from tests.support.virtual_client import VirtualClient
from tests.support.world import Habit, World, one_provider

CREATE = "POST /floatingips"


@pytest.mark.parametrize(
    "works", [(True,), (False,), (False, True), (True, True), (False, False), (False, False, True)]
)
def test_creates_without_an_answer_leave_no_floating_ip_behind(works):
    """Whatever was made is found by its description, however many answers were lost before."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        for place, effective in enumerate(works):
            world.fault("east", CREATE, left=1, skip=place, works=effective)
        world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: request in world.fulfilled)
        world.run(30)
        cloud = world.clouds["east"]
        assert len(cloud.floating_ips) == len(cloud.ours()) == 1


@pytest.mark.parametrize("works", [True, False])
def test_an_answer_that_comes_after_the_session_was_lost_harms_nobody(works):
    """The launch has been adopted anew when it comes, and what the create may have made is being looked for."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        world.fault("east", CREATE, left=1, works=works, seconds=0.5)
        cycle = world.start()
        request = world.request("small", habit=Habit(work=lambda chance: 10.0))
        assert world.run(60, until=lambda: any(CREATE in kinds(client) for client in cycle.clients))
        cycle.store.session.expire(2.0)
        assert world.run(300, until=lambda: request in world.fulfilled and not world.nodes())
        assert not world.clouds["east"].floating_ips


def kinds(client: VirtualClient) -> set[str]:
    """What it was asked so far."""
    return {kind for _unused, kind in client.calls}
