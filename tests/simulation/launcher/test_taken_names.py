# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of servers at a cloud that allows each name once: a former tree has left its servers there."""

from __future__ import annotations

from tests.support.owner_case import creates
from tests.support.world import World, one_provider


def test_after_the_first_refused_name_the_list_is_looked_at_before_each_create():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.unique_names = True
        for number, machine in enumerate(cloud.add_foreign(30)):
            machine.name = f"np{number:010d}"
        cycle = world.start(duration=60)
        first = world.request("small")
        assert world.run(30, until=lambda: first in world.fulfilled)
        assert len(creates(cycle)) == 2, "one name was refused"
        more = [world.request("small") for _unused in range(6)]
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in more))
        assert len(creates(cycle)) == 2 + 6
        assert world.run(120, until=lambda: cycle.ended)
        after = world.start()
        last = world.request("small")
        assert world.run(60, until=lambda: last in world.fulfilled)
        assert len(creates(after)) == 1, "the next cycle knows it"
        assert all(len(machine.name) > len("np0000000000") for machine in cloud.ours())


def test_where_a_name_may_be_given_twice_nothing_is_added_to_it():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        for number, machine in enumerate(cloud.add_foreign(10)):
            machine.name = f"np{number:010d}"
        world.start()
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert [machine.name for machine in cloud.ours()] == ["np0000000000"]
