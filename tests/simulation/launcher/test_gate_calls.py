# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a canary costs the launcher in calls of the cloud's API, compared with the same time without one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import gate_run
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.gate_run import Gate
from tests.support.effort import EFFORT, first
from tests.support.gate_world import VirtualBuilder, document, gated, new_build, playbook_of
from tests.support.memory_zookeeper import MemoryZooKeeper
from tests.support.virtual_cloud import Timing
from tests.support.world import Habit, World

SEEDS = 40
TOGETHER = 4 if EFFORT > 1 else 2
"""So many seeds make one mean."""
WARM = 4
"""Launches before: the times of the provider are known."""
QUIET = 1000.0
LATER = 1200.0
"""Seconds for which calls are counted: the lists that are read in any case are among them on both sides."""


def calls_made(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, *, tested: bool, foreign: int = 1
) -> tuple[Counter[str], float]:
    """Count the launcher's calls after a quiet while, with one build to be tested or without.

    :param foreign: servers of others in the project.
    :return: the calls, and the seconds from the upload to the decision.
    """
    with World(document("east"), clouds={"east": {"timing": Timing(boot=(20.0, 1.5))}}, seed=seed, lag=0.02) as world:
        world.config = gated("east")
        new_build(world, world.store, 1, "ready")
        world.clouds["east"].add_foreign(foreign)
        cycle = world.start()
        for _unused in range(WARM):
            world.request("small", habit=Habit())
            world.run(120)
        assert len(world.fulfilled) == WARM
        world.run(QUIET)
        began, took = world.agenda.now, 0.0
        if tested:
            builder = VirtualBuilder(world, folder, set(), every=QUIET + 100.0 * WARM)
            monkeypatch.setattr(gate_run, "playbook_for", playbook_of(lambda: builder))
            monkeypatch.setattr(Gate, "_is_tested", lambda gate: False)
            assert world.run(300, until=lambda: bool(builder.passed))
            took = world.agenda.now - began
        world.run(began + LATER - world.agenda.now)
        assert not world.nodes(), "the canary is deleted, and its record, too"
        return Counter(kind for client in cycle.clients for at, kind in client.calls if at >= began), took


@pytest.mark.parametrize("first_seed", first(1, range(0, SEEDS, TOGETHER)))
def test_a_canary_costs_three_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first_seed: int) -> None:
    """A create, a list and a delete; another list when the server takes longer than usual, once in a while."""
    costs = []
    for seed in range(first_seed, first_seed + TOGETHER):
        without, _unused = calls_made(tmp_path, monkeypatch, seed, tested=False)
        tested, took = calls_made(tmp_path, monkeypatch, seed, tested=True)
        more = tested - without
        assert more["POST /servers"] == more["DELETE /servers/{id}"] == 1
        costs.append(tested.total() - without.total())
        assert took <= 20 + 1.5 * 3 + 8 + 5, "boot, playbook, and five seconds"
    assert mean(costs) <= 3 and max(costs) <= 4, costs


@pytest.mark.parametrize("seed", first(2, range(1, 9)))
def test_in_an_empty_project_it_costs_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """An empty list looks the same whether all servers are gone or none can be shown: the next sweep's list tells."""
    without, _unused = calls_made(tmp_path, monkeypatch, seed, tested=False, foreign=0)
    tested, _unused = calls_made(tmp_path, monkeypatch, seed, tested=True, foreign=0)
    assert tested["POST /servers"] == tested["DELETE /servers/{id}"] == 1
    assert tested.total() - without.total() <= 3, tested - without


def test_a_request_that_waits_for_room_does_not_wait_for_the_list_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The canary had the last place of the project."""
    with World(document("east"), quota={"east": {"instances": 1}}, lag=0.02) as world:
        world.config = gated("east")
        new_build(world, world.store, 1, "ready")
        world.start()
        builder = VirtualBuilder(world, tmp_path, set())
        monkeypatch.setattr(gate_run, "playbook_for", playbook_of(lambda: builder))
        monkeypatch.setattr(Gate, "_is_tested", lambda gate: False)
        assert world.run(300, until=lambda: bool(builder.passed))
        began = world.agenda.now
        world.run(20)
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert world.agenda.now - began < 20 + 30


def spent(settings: str | None, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], Counter[str]]:
    """Count calls of the cloud's API, and operations on ZooKeeper by what they do and where, of some work.

    :param settings: the text of nodepool-settings.yaml; None for no file.
    """
    operations: Counter[str] = Counter()
    answer = MemoryZooKeeper.answer

    def counted(keeper: MemoryZooKeeper, request: Any, session: Any) -> Any:
        for one in getattr(request, "operations", None) or (request,):
            place = "/".join(str(getattr(one, "path", "")).split("/")[:4])
            operations[f"{type(one).__name__} {place}"] += 1
        return answer(keeper, request, session)

    with monkeypatch.context() as patch, World(document("east"), lag=0.02, seed=3) as world:
        patch.setattr(MemoryZooKeeper, "answer", counted)
        world.config = parse_config(yaml.safe_dump(document("east")), settings_text=settings)
        new_build(world, world.store, 1, "ready")
        cycle = world.start()
        for _unused in range(10):
            world.request("small", habit=Habit())
        world.run(120)
        new_build(world, world.store, 2, "ready")
        world.run(60)
        for _unused in range(10):
            world.request("small", habit=Habit())
        world.run(700)
        assert len(world.fulfilled) == 20
        return Counter(kind for client in cycle.clients for _at, kind in client.calls), operations


@pytest.mark.parametrize(
    "settings",
    [
        "{}",
        "diskimages: [{name: built, fall-back: true}]",
        "diskimages: [{name: built, gate: {playbook: smoke.yml}}]",
    ],
)
def test_the_file_of_settings_costs_nothing_while_no_upload_is_tested(
    monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    without = spent(None, monkeypatch)
    assert without[0]["POST /servers"] == 20 and without[1].total() > 100
    assert spent(settings, monkeypatch) == without
