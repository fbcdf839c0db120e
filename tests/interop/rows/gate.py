# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's builder beside a builder of ours whose upload waits for its gate."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
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


@row("gate-kills", "a gate that is killed all the time beside Nodepool's builder; INTEROP_KILL_SECONDS says how long")
def gate_kills(lab: Lab) -> str:
    """Every second build is broken; whatever is killed, no broken one becomes ready, and no good one is lost."""
    seconds, seed = float(os.environ.get("INTEROP_KILL_SECONDS", "240")), int(os.environ.get("INTEROP_SEED", "1"))
    chance, world = random.Random(seed), lab.world()
    configure(world, min_ready=0, images=(image(GATED),))
    folder = world.site.folder
    (folder / "smoke.yml").write_text(SMOKE.replace("FOLDER", str(folder)), encoding="utf-8")
    settings = {"diskimages": [{"name": GATED, "gate": {"playbook": "smoke.yml", "timeout": 30}}]}
    (folder / "nodepool-settings.yaml").write_text(json.dumps(settings), encoding="utf-8")
    watch, kills, resting = Watch(world), 0, 0
    serving = {**world.site.files(), "duration": 3000, "until": "deadline", "state_dir": str(folder / "launcher")}
    with (
        _beside(world).builder("--build-workers", "1") as daemon,
        ModuleProcess("node_launch", serving, folder, "launcher.json") as launcher,
    ):
        with watch:
            end = time.monotonic() + seconds
            while time.monotonic() < end and not watch.wrong:
                if not watch.testing:
                    watch.broken_next = bool(len(watch.builds) % 2)
                    world.site.module(
                        "dib_build", first_build_room=0, image_names=[GATED], force=True, **_options(world)
                    )
                    watch.look_for_builds()
                with ModuleProcess("image_upload", _waiting(world), folder) as ours:
                    # Mostly right after a step of the upload or its gate, and now and then after a whole test.
                    if chance.random() < WHOLE:
                        time.sleep(chance.uniform(15.0, 30.0))
                    else:
                        watch.await_steps(chance.randint(1, MOST_STEPS), LONGEST_STEPS)
                        time.sleep(chance.uniform(0.0, 0.3))
                    if ours.poll() is None:
                        os.kill(ours.pid, signal.SIGKILL)
                        kills += 1
                if chance.random() < REST:
                    time.sleep(ROUNDS)
                    resting += 1
            with ModuleProcess("image_upload", _waiting(world), folder):
                eventually(lambda: not watch.testing or watch.wrong, PATIENCE)
        assert daemon.running and launcher.poll() is None
    assert not watch.wrong, watch.wrong
    assert len(watch.passed()) >= 2 and watch.broken, (watch.passed(), watch.broken)
    return (
        f"{kills} kills, {resting} times no lock for {ROUNDS:.0f} s, {len(watch.builds)} builds, {len(watch.broken)}"
        f" broken; {watch.looks} looks: no untested build ready, no good one lost, {watch.deleted} under test deleted"
    )


class Watch:
    """Looks at the uploads all the time.

    :ivar wrong: what must never be, in words.
    :ivar deleted: number of uploads under test that somebody has deleted.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._folder = Path(world.site.folder)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_all_the_time, daemon=True)
        self.builds: list[str] = []
        self.broken: set[str] = set()
        self.broken_next = False
        self.wrong: list[str] = []
        self.looks = self.deleted = 0
        self._last: dict[str, str] = {}

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        self._ended.set()
        self._thread.join(30)

    @property
    def testing(self) -> bool:
        """True while the gate has not decided about the newest build."""
        record = self._world.site.requestor.read(f"/nodepool/stackci/image-gates/one/{GATED}") or {}
        return bool(self.builds) and (record.get("build") != self.builds[-1] or not record.get("outcome"))

    def await_steps(self, steps: int, seconds: float) -> None:
        """Wait until the upload or its gate has made so many steps, or until the time is over."""
        end, before = time.monotonic() + seconds, self._step()
        while steps > 0 and time.monotonic() < end:
            time.sleep(STEP_PACE)
            now = self._step()
            if now != before:
                steps, before = steps - 1, now

    def _step(self) -> Any:
        record = self._world.site.requestor.read(f"/nodepool/stackci/image-gates/one/{GATED}") or {}
        found = self._world.host.uploads(GATED, "one")
        return json.dumps([record, found], sort_keys=True)

    def look_for_builds(self) -> None:
        """Note a build that is new; the next playbook fails on it if it is to be broken."""
        for build in self._world.host.builds(GATED):
            if build not in self.builds:
                self.builds.append(build)
                if self.broken_next:
                    self.broken.add(build)
                    (self._folder / f"broken-{build}").touch()

    def passed(self) -> set[str]:
        """The builds on a canary of which the playbook has passed."""
        path = self._folder / "tested"
        return set(path.read_text("utf-8").split()) if path.exists() else set()

    def _look_all_the_time(self) -> None:
        while not self._ended.wait(PACE):
            with suppress(OSError):
                self._look()

    def _look(self) -> None:
        states = _states(self._world)
        self.looks += 1
        for key, state in states.items():
            build = key.partition("/")[0]
            if state == "ready" and build not in self.passed():
                self.wrong.append(f"{key} is ready without a test")
        for key, state in self._last.items():
            newer = sum(1 for other, one in states.items() if one == "ready" and self._is_newer(other, key))
            if state == "ready" and states.get(key) != "ready" and newer < 2:
                self.wrong.append(f"{key} was ready and is {states.get(key, 'gone')}, with {newer} newer ones")
            self.deleted += state == "uploading" and key not in states
        self._last = states

    def _is_newer(self, one: str, other: str) -> bool:
        places = [self.builds.index(key.partition("/")[0]) for key in (one, other)]
        return places[0] > places[1]


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
