# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Old spares that are tried by ssh again before they are handed out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from tests.support.virtual_cloud import Machine
from tests.support.virtual_time import VirtualScanner
from tests.support.world import Cycle, World, label, provider_document, site

AFTER = 300.0


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all jobs of the scanner."""
    jobs: list[str] = []
    submit = VirtualScanner.submit

    def noted(self: VirtualScanner, job: Any) -> None:
        jobs.append(job.key)
        submit(self, job)

    monkeypatch.setattr(VirtualScanner, "submit", noted)
    return jobs


def with_spares(most: int = 1, **options: Any) -> World:
    pool = {"name": "main", "labels": [label("small", **options)]}
    return World(site(provider_document("east", pool), min_ready={"small": most}))


def spare(world: World, **options: Any) -> tuple[Cycle, Node]:
    """A cycle, and the oldest of its spares, which is older than AFTER."""
    cycle = world.start(**options)
    assert world.run(120, until=lambda: bool(world.nodes("ready")))
    world.run(AFTER + 60)
    return cycle, world.nodes("ready")[0]


def machine_of(world: World, node: Node) -> Machine:
    return world.clouds["east"].machines[str(node.external_id)]


def test_no_spare_is_tried_unless_it_is_wanted(scans: list[str]):
    with with_spares() as world:
        _cycle, node = spare(world)
        machine_of(world, node).fate = replace(machine_of(world, node).fate, reachable=False)
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert world.take(request) == [node.id]
        assert not [key for key in scans if key.startswith("spare")]


def test_an_old_spare_that_answers_is_handed_out_at_once_and_not_tried_again_soon(scans: list[str]):
    with with_spares() as world:
        _cycle, node = spare(world, spare_ssh_after=AFTER)
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert world.take(request) == [node.id] and world.fulfilled[request] - world.asked[request] < 3
        assert scans.count(f"spare {node.id}") == 1


def test_a_young_spare_is_not_tried(scans: list[str]):
    with with_spares() as world:
        world.start(spare_ssh_after=AFTER)
        assert world.run(120, until=lambda: bool(world.nodes("ready")))
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert not [key for key in scans if key.startswith("spare")]


def test_a_spare_that_does_not_answer_is_not_handed_out_and_replaced():
    with with_spares() as world:
        cycle, node = spare(world, spare_ssh_after=AFTER)
        machine_of(world, node).fate = replace(machine_of(world, node).fate, reachable=False)
        request = world.request("small")
        assert world.run(90, until=lambda: request in world.fulfilled)
        assert node.id not in world.take(request)
        assert world.run(120, until=lambda: node.id not in [item.id for item in world.nodes()])
        told = [line for _when, line in cycle.lines if f"node {node.id}: " in line]
        assert any("no longer answers by ssh" in line for line in told)
        assert world.run(120, until=lambda: len(world.nodes("ready")) == 1), "min-ready is kept"


def test_a_spare_that_answers_at_the_second_try_is_kept():
    with with_spares() as world:
        _cycle, node = spare(world, spare_ssh_after=AFTER)
        machine = machine_of(world, node)
        good = machine.fate
        machine.fate = replace(good, reachable=False)
        first = world.request("small")
        assert world.run(90, until=lambda: first in world.fulfilled)
        assert node.id not in world.take(first)
        machine.fate = good
        world.run(60)
        assert node.id in [item.id for item in world.nodes("ready")]
        second = world.request("small")
        assert world.run(30, until=lambda: second in world.fulfilled)
        assert world.take(second) == [node.id]


def test_another_host_key_is_no_answer():
    with with_spares() as world:
        cycle, node = spare(world, spare_ssh_after=AFTER)
        machine_of(world, node).host_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther"
        request = world.request("small")
        assert world.run(90, until=lambda: request in world.fulfilled)
        assert node.id not in world.take(request)
        assert any("a different host key" in line for _when, line in cycle.lines)


def test_the_next_cycle_tries_old_spares_as_well(scans: list[str]):
    with with_spares() as world:
        cycle, node = spare(world, spare_ssh_after=AFTER)
        cycle.kill()
        world.run(15)
        world.start(spare_ssh_after=AFTER)
        world.run(30)
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert world.take(request) == [node.id] and f"spare {node.id}" in scans


def test_a_label_without_host_key_checking_is_never_tried(scans: list[str]):
    with with_spares(**{"host-key-checking": False}) as world:
        _cycle, node = spare(world, spare_ssh_after=AFTER)
        request = world.request("small")
        assert world.run(30, until=lambda: request in world.fulfilled)
        assert world.take(request) == [node.id] and scans == []
