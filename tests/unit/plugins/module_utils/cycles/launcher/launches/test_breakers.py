# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What fails again and again is not launched for a while, and is tried again."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.breaking import FAILURES, FIRST
from tests.support.virtual_cloud import Fate
from tests.support.world import World, one_provider

CREATE = "POST /servers"


def test_an_image_that_never_boots_is_launched_rarely_and_as_before_once_it_does():
    with World(one_provider()) as world:
        cloud = world.clouds["east"]
        cloud.fate = lambda machine: Fate("ERROR", "kernel panic", 0.5)
        cycle = world.start()
        for _unused in range(2):
            world.request("small")

        def creates() -> int:
            return sum(1 for client in cycle.clients for _unused, kind in client.calls if kind == CREATE)

        def breakers() -> dict[str, dict[str, float]]:
            return world.store.own.get("breakers/east") or {}

        assert world.run(300, until=lambda: breakers().get("debian/small", {}).get("until", 0) > world.agenda.now)
        opened, before = world.agenda.now, creates()
        waits = world.request("small")
        world.run(FIRST / 2)
        assert creates() - before <= 1, "a launch that has failed itself goes on to its end, no other begins"
        reason = world.store.own.get(f"waits/{waits}")
        assert reason is not None and reason["code"] == "breaker" and reason["count"] >= FAILURES
        other = world.request("medium")
        cloud.fate = lambda machine: Fate()
        assert world.run(FIRST / 2 - 1, until=lambda: other in world.fulfilled), "another flavor is not concerned"
        assert waits not in world.fulfilled
        assert world.run(3 * FIRST, until=lambda: waits in world.fulfilled)
        assert world.fulfilled[waits] - opened >= FIRST
        assert world.run(5, until=lambda: "debian/small" not in breakers()), "the first success closes it"
        assert any(f"failed {FAILURES} times in a row" in line for _at, line in cycle.lines)
