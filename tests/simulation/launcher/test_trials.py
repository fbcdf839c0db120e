# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A new build is tried with few launches; one that is broken is given up, and the cloud's troubles are none of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.trials import Ended, Trials
from ansible_collections.stackci.nodepool.plugins.module_utils.model.build_verdict import APPROVED, HAND
from tests.support.build_case import broken, build_id, figures, made, of, serve, upload, uploaded
from tests.support.virtual_cloud import Fate
from tests.support.world import Habit, World

FOLDER = "/nodepool/stackci/launch-counts"


def test_a_broken_newest_image_under_a_hundred_requests() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 20)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        found = made(world)
        serve(world, 100)
        world.run(90)
        assert of(found, "east-2") <= 5
        reason = world.store.verdicts.of_build("built", build_id(2)).fallen_back["east"].reason
        figures = f"built build {build_id(2)[:8]}: 0 of 3 in east; the build before: {figures_text(world)}"
        assert reason.startswith(f"{figures}; the last failure: unreachable: ") and reason.endswith(
            "connection refused"
        )
        told = [line for _at, line in cycle.lines if "nodes are launched from build" in line]
        assert len(told) == 1 and build_id(1) in told[0]
        lost = of(found, "east-2")
        serve(world, 20)
        assert of(found, "east-2") == lost


def figures_text(world: World) -> str:
    """The figures of the build before, as the reason has them: those of the moment of the decision."""
    reason = world.store.verdicts.of_build("built", build_id(2)).fallen_back["east"].reason
    text = reason.partition("the build before: ")[2].partition(";")[0]
    ready, _of, tried = text.split(" ")
    assert ready == tried and int(ready) >= 20
    return text


def test_nodes_in_use_of_a_build_that_is_given_up_are_listed_and_stay() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        cycle = world.start()
        serve(world, 10)
        upload(world, 2)
        serve(world, 5)
        serve(world, 5)
        asked = [world.request("small") for _unused in range(2)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in asked))
        taken = sorted(node for request in asked for node in world.take(request))
        # A person has restored it: what it did before counts no more.
        world.run(10)
        world.store.verdicts.change("built", build_id(2), lambda had: had.undone(world.agenda.now))
        world.clouds["east"].fate = broken("east-2")
        serve(world, 30)
        world.run(90)
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back
        (told,) = [line for _at, line in cycle.lines if "nodes are launched from build" in line]
        assert told.rpartition("stay in use: ")[2].split() == taken
        assert [world.store.nodes.read(node).state for node in taken] == ["in-use"] * 2


def test_the_next_build_is_used_again() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        serve(world, 30)
        upload(world, 3)
        found = made(world)
        serve(world, 30)
        assert of(found, "east-3") >= 3 and of(found, "east-2") == 0
        serve(world, 10)
        assert [machine.image for machine in found[-10:]] == ["east-3"] * 10


def test_a_person_brings_it_back() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        serve(world, 30)
        world.run(90)
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back
        world.clouds["east"].fate = broken()
        world.store.verdicts.change("built", build_id(2), lambda had: had.undone(world.agenda.now))
        found = made(world)
        serve(world, 10)
        serve(world, 10)
        assert [machine.image for machine in found[-10:]] == ["east-2"] * 10


def test_what_a_person_has_approved_stays() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        now = world.agenda.now
        world.store.verdicts.change("built", build_id(2), lambda had: had.given(APPROVED, "", HAND, now))
        world.clouds["east"].fate = broken("east-2")
        found = made(world)
        for _unused in range(10):
            world.request("small")
        world.run(400)
        assert of(found, "east-2") >= 10 and of(found, "east-1") == 0


def test_one_request_after_the_other_is_served_and_few_servers_are_lost() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 5)
        upload(world, 2)
        world.clouds["east"].fate = broken("east-2")
        found = made(world)
        for _unused in range(8):
            serve(world, 1)
        assert of(found, "east-2") <= 5
        assert "east" in world.store.verdicts.of_build("built", build_id(2)).fallen_back


@pytest.mark.parametrize("proved", [True, False])
def test_an_outage_of_the_cloud_is_no_fault_of_the_newest_build(proved: bool) -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        if proved:
            serve(world, 10)
        world.clouds["east"].fate = broken("east-1", "east-2")
        for _unused in range(30):
            world.request("small", habit=Habit())
        world.run(600)
        world.clouds["east"].fate = broken()
        assert world.run(3600, until=lambda: len(world.fulfilled) >= 40 + 10 * proved)
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}
        found = made(world)
        serve(world, 10)
        serve(world, 10)
        assert [machine.image for machine in found[-10:]] == ["east-2"] * 10


def test_servers_that_go_to_error_for_want_of_hosts_are_no_fault_of_the_build() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        world.clouds["east"].fate = lambda machine: (
            Fate("ERROR", "No valid host was found. ") if machine.image == "east-2" else Fate()
        )
        for _unused in range(20):
            world.request("small", habit=Habit())
        world.run(600)
        assert world.store.verdicts.of_build("built", build_id(2)).fallen_back == {}


def test_it_can_be_switched_off() -> None:
    with World(uploaded()) as world:
        images = {name: replace(image, fall_back=False) for name, image in world.config.diskimages.items()}
        world.config = replace(world.config, diskimages=images)
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        found = made(world)
        serve(world, 20)
        assert of(found, "east-2") == 20


def test_nodes_of_one_request_are_made_from_one_build() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        serve(world, 10)
        upload(world, 2)
        asked = [world.request("small", "small", "small", "small") for _unused in range(6)]
        assert world.run(600, until=lambda: all(request in world.fulfilled for request in asked))
        for request in asked:
            builds = {node.image_id.split("/")[5] for node in world.nodes() if node.allocated_to == request}
            assert len(builds) == 1
        assert {machine.image for machine in world.clouds["east"].machines.values()} == {"east-1", "east-2"}


def test_the_figures_outlive_a_cycle_and_count_each_attempt_once() -> None:
    with World(uploaded()) as world:
        upload(world, 1)
        first = world.start()
        serve(world, 7)
        world.run(30)
        assert figures(world, 1) == {"ready": 7}
        for _unused in range(5):
            world.request("small", habit=Habit())
        world.run(2)
        first.kill()
        world.start()
        assert world.run(300, until=lambda: len(world.fulfilled) == 12)
        world.run(30)
        assert figures(world, 1) == {"ready": 12}


def test_without_a_second_build_a_node_costs_no_call_and_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> tuple[dict[str, int], dict[str, int], int]:
        with World(uploaded()) as world:
            upload(world, 1)
            cycle = world.start()
            written: list[str] = []
            world.store.on_change(written.append)
            serve(world, 40)
            world.run(20)
            mine = [path for path in written if path.startswith(FOLDER)]
            others = Counter("/".join(path.split("/")[:4]) for path in written if path not in mine)
            return Counter(kind for client in cycle.clients for _when, kind in client.calls), others, len(mine)

    calls, others, mine = seen()
    assert 0 < mine <= 5
    monkeypatch.setattr(Trials, "ended", lambda self, what, now: None)
    assert seen() == (calls, others, 0)


def test_a_launcher_that_leaves_a_provider_stores_its_figures_and_never_writes_them_again() -> None:
    with World(uploaded()) as world:
        trials, ended = Trials(), Ended("east", "built", build_id(1), "small", "ready", 1.0)
        trials.ended(ended, 2.0)
        trials.leave(world.store, "east")
        assert figures(world, 1) == {"ready": 1}
        other = Trials()
        other.learn(world.store, "east")
        other.ended(ended, 3.0)
        other.save(world.store, 100.0)
        trials.save(world.store, 200.0, every=0.0)
        assert trials.judge(lambda image, provider: [], lambda image: {}, 200.0) == []
        assert figures(world, 1) == {"ready": 2}
