# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's builder beside a builder of ours whose upload waits for its gate."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from tests.interop.filling import configure
from tests.interop.lab import Lab, World, row
from tests.interop.stock import Stock
from tests.support.ansible_run import ModuleProcess
from tests.support.builder_case import image
from tests.support.fixtures_zookeeper import eventually

PATIENCE = 300.0
ROUNDS = 75.0
"""Seconds in which Nodepool's builder looks once at what to clean up: it does so every minute."""
GATED = "fake"
PACE = 0.1
STEP_PACE = 0.02
WHOLE = 0.12
"""How often our builder lives long enough for a whole test."""
MOST_STEPS, LONGEST_STEPS = 4, 6.0
"""Steps of an upload and its gate after which our builder is killed, and most seconds that they may take."""
REST = 0.02
"""How often nobody holds the lock for so long that Nodepool's builder looks once."""
SMOKE = """
- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - name: It is not broken
      ansible.builtin.raw: test ! -e FOLDER/broken-{{ nodepool_gate.build }}
    - name: What was tested
      ansible.builtin.raw: echo {{ nodepool_gate.build }} >> FOLDER/tested
      when: nodepool_gate.kind == "canary"
"""


@row("gate-builder", "Nodepool's builder leaves an upload that is tested, and never takes the good one")
def gate_builder(lab: Lab) -> str:
    """Our upload waits for its gate under its lock; then our builder is killed."""
    world = lab.world()
    configure(world, min_ready=0, images=(image(GATED),))
    _build(world)
    good = _states(world)
    assert sorted(good.values()) == ["ready"], good
    settings = {"diskimages": [{"name": GATED, "gate": {"playbook": "none.yml"}}]}
    (world.site.folder / "nodepool-settings.yaml").write_text(json.dumps(settings), encoding="utf-8")
    _build_again(world)
    stock = _beside(world)
    with stock.builder("--build-workers", "1") as daemon:
        with ModuleProcess("image_upload", _waiting(world), world.site.folder) as ours:
            eventually(lambda: len(_states(world)) == 2, PATIENCE)
            (tested,) = set(_states(world)) - set(good)
            time.sleep(ROUNDS)
            assert daemon.running and _states(world) == {**good, tested: "uploading"}, _states(world)
            os.kill(ours.pid, signal.SIGKILL)
        time.sleep(ROUNDS)
        after = _states(world)
        assert {key: after.get(key) for key in good} == good, after
        taken = "was deleted" if tested not in after else "was left"
        with ModuleProcess("image_upload", _waiting(world), world.site.folder):
            eventually(lambda: "uploading" in _states(world).values(), PATIENCE)
            assert {key: _states(world).get(key) for key in good} == good
    return f"the upload without a lock {taken}, the ready one stayed, and ours goes on"


def _options(world: World) -> dict[str, Any]:
    files = world.site.files()
    files.pop("config")
    return {**files, "state_dir": str(world.site.folder / "state")}


def _build(world: World) -> None:
    world.site.module("dib_build", first_build_room=0, **_options(world))
    world.site.module("image_upload", provider="one", **_options(world))


def _build_again(world: World) -> None:
    world.site.module("dib_build", first_build_room=0, image_names=[GATED], force=True, **_options(world))


def _waiting(world: World) -> dict[str, Any]:
    """The options of a cycle that stays and that no launcher serves."""
    return {
        **_options(world),
        "config": str(world.site.config),
        "provider": "one",
        "until": "deadline",
        "duration": 900,
    }


def _states(world: World) -> dict[str, str]:
    """Build and upload → state, at provider one."""
    found = world.host.uploads(GATED, "one")
    return {f"{build}/{number}": str(one["state"]) for build, many in found.items() for number, one in enumerate(many)}


def _beside(world: World) -> Stock:
    """Nodepool's builder on another host: the same tree, its own images-dir."""
    folder = Path(world.site.folder) / "other-host"
    (folder / "images").mkdir(parents=True)
    document = json.loads(world.site.config.read_text("utf-8"))
    document["images-dir"] = str(folder / "images")
    config = folder / "nodepool.yaml"
    config.write_text(json.dumps(document), encoding="utf-8")
    return world.stock.beside(config)
