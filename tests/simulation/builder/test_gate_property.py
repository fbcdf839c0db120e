# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No node of any request is made from a build that has not passed its test, whatever is killed and whenever.

The launchers, the gate, its requests and ZooKeeper's locks are the real ones, in virtual time; only the playbook is
replaced by what it would find. Every third build is broken. Two launchers and the builder are killed at random moments,
one provider leaves the configuration for a while, and the project of the other one is full now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import gate_run
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.gate_run import Gate
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import UploadState
from tests.support.build_case import build_id
from tests.support.effort import first
from tests.support.gate_world import VirtualBuilder, builds_of_nodes, document, gated, is_broken, new_build, playbook_of
from tests.support.world import Habit, World

KILLS = 40
SEEDS = 25
"""In the slow lane: 1,000 kills in all."""
EVERY = 25.0
"""Mean seconds between two kills."""


class Site:
    """Everything at work, and what is killed of it."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.passed = {build_id(1)}
        self.made: set[str] = set()
        new_build(world, world.store, 1, UploadState.READY)
        self.launchers = [world.start(host=f"host-{number}") for number in range(2)]
        self.builder = VirtualBuilder(world, folder, self.passed)

    def kill_one(self) -> None:
        victim = self.world.random.choice([0, 1, 2])
        if victim == 2:
            self.builder.kill()
            self.builder = VirtualBuilder(self.world, self.folder, self.passed)
        else:
            self.launchers[victim].kill()
            self.launchers[victim] = self.world.start(host=f"host-{victim}")

    def check(self) -> None:
        """Every node that a request may get was made from a build that has passed."""
        self.made |= builds_of_nodes(self.world, self.passed)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[Site], None]:
    def use(found: Site) -> None:
        monkeypatch.setattr(gate_run, "playbook_for", playbook_of(lambda: found.builder))
        monkeypatch.setattr(Gate, "_is_tested", lambda gate: False)  # no build is in use before its test

    return use


@pytest.mark.parametrize("seed", first(1, range(SEEDS)))
def test_no_node_of_a_request_is_made_from_a_build_that_was_not_tested(
    tmp_path: Path, played: Callable[[Site], None], seed: int
) -> None:
    quota = {"east": {"instances": 6}, "west": {"instances": 6}}
    with World(document("east", "west"), quota=quota, lag=0.05, seed=seed) as world:
        world.config = gated("east", "west")
        found = Site(world, tmp_path)
        played(found)
        for number in range(KILLS):
            world.request("small", habit=Habit())
            if number % 20 == 10:  # the projects are full for a while
                for _unused in range(14):
                    world.request("small", priority=50, habit=Habit(work=lambda chance: 40.0))
            if number % 40 in (25, 30):  # the provider without the gate leaves, and is back later
                world.config, world.written = gated(*(("east",) if number % 40 == 25 else ("east", "west"))), number
            end = world.agenda.now + world.random.expovariate(1.0 / EVERY)
            while world.agenda.now < end:
                world.run(min(1.0, end - world.agenda.now + 0.001))
                found.check()
            found.kill_one()
        world.run(300)
        found.check()
        verdicts = world.store.verdicts.of_image("built")
        rejected = {build for build, verdict in verdicts.items() if verdict.state == "rejected"}
        assert len(found.passed) >= 3 and rejected and all(map(is_broken, rejected))
        assert len(found.made) >= 2, "nodes are made from newer builds, too"
        assert len(world.fulfilled) >= KILLS / 2
