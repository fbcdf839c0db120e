# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""boot-timeout and the timeout of a probe may be longer than a cycle: they do not begin anew with each one."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from tests.support.config_texts import parse
from tests.support.virtual_cloud import Fate, Timing
from tests.support.world import World, one_provider

LIMIT, CYCLE = 900, 300.0
QUICK = Timing(boot=(5.0, 1.0), delete=(1.0, 0.2))
DOCUMENT = one_provider()
OPTIONS: dict[str, dict[str, Any]] = {
    "boot-timeout": {"boot-timeout": LIMIT},
    "probe": {"probe": {"port": 5986, "timeout": LIMIT}},
}


def configured(name: str) -> NodepoolConfig:
    document = {**DOCUMENT, "providers": [{**DOCUMENT["providers"][0], "launch-retries": 1}]}
    return parse(document, settings_text=json.dumps({"labels": [{"name": "small", **OPTIONS[name]}]}))


def waiting(name: str, until: float) -> World:
    """A world in which a guest answers, or passes its probe, only after so many seconds."""
    world = World(DOCUMENT, clouds={"east": {"timing": QUICK}})
    world.config = configured(name)
    if name == "probe":
        world.passes = until
    else:
        world.clouds["east"].fate = lambda machine: Fate(reachable=until < math.inf, silent=min(until, 1e6))
    return world


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_a_limit_that_is_longer_than_a_cycle_ends_the_launch(name: str, killed: bool) -> None:
    with waiting(name, math.inf) as world:
        request = world.request("small")
        for _cycle in range(6):
            cycle = world.start(duration=1e9 if killed else CYCLE)
            if world.run(CYCLE, until=lambda: world.state(request) == "failed"):
                break
            if killed:
                cycle.kill()
            else:
                assert world.run(60, until=partial(getattr, cycle, "ended"))
        assert world.state(request) == "failed"
        assert LIMIT < world.agenda.now - world.asked[request] < LIMIT + 200


@pytest.mark.parametrize("name", OPTIONS)
def test_a_cycle_that_begins_late_asks_once_more_before_it_ends_the_launch(name: str) -> None:
    with waiting(name, math.inf) as world:
        request = world.request("small")
        cycle = world.start()
        world.run(100)
        cycle.kill()
        world.run(5 * LIMIT)
        world.passes = 10.0
        world.clouds["east"].fate = lambda machine: Fate()
        for machine in world.clouds["east"].machines.values():
            machine.fate = Fate()
        world.start()
        assert world.run(60, until=lambda: world.state(request) == "fulfilled")


def test_cycles_that_are_killed_soon_wait_again_and_again() -> None:
    with waiting("boot-timeout", LIMIT / 2) as world:
        request = world.request("small")
        for _cycle in itertools.count():
            cycle = world.start()
            if world.run(20, until=lambda: world.state(request) == "fulfilled"):
                break
            cycle.kill()
            world.run(15)
        assert world.agenda.now - world.asked[request] < LIMIT
        assert len(world.clouds["east"].past) + len(world.clouds["east"].machines) == 1
