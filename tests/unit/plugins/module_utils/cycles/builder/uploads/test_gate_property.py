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
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import PlaybookEnd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.record_lock import RecordLost
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads import gate_run
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.gate_run import Gate, GateRejected
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.upload_claim import UploadClaim
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import IMAGE_BUILD, META_PROVIDER, Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.gate import CANARY
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
    build_of_path,
)
from tests.support.build_case import build_id
from tests.support.effort import first
from tests.support.virtual_time import Fiber, Killed
from tests.support.world import Habit, World, provider_document, site

KILLS = 40
SEEDS = 25
"""In the slow lane: 1,000 kills in all."""
EVERY = 25.0
"""Mean seconds between two kills."""
PLAY = 8.0
"""Seconds that the playbook takes."""
ROUND = 120.0
"""Seconds between two builds."""


def document(*providers: str) -> dict[str, Any]:
    pools = {
        name: {"name": "main", "labels": [{"name": "small", "flavor-name": "small", "diskimage": "built"}]}
        for name in providers
    }
    made = [provider_document(name, pools[name], diskimages=[{"name": "built"}]) for name in providers]
    return site(*made, diskimages=[{"name": "built", "formats": ["qcow2"]}])


def gated(*providers: str) -> Any:
    gate = {"playbook": "smoke.yml", "providers": ["east"], "reserve-after": 60}
    settings = yaml.safe_dump({"diskimages": [{"name": "built", "gate": gate}]})
    return parse_config(yaml.safe_dump(document(*providers)), settings_text=settings)


class VirtualBuilder:
    """A builder with one image and a real gate: it is killed at any moment, and another one goes on.

    :ivar passed: builds on a canary of which the playbook has passed.
    """

    def __init__(self, world: World, folder: Path, passed: set[str]) -> None:
        self.world, self.passed = world, passed
        self.store = world.keeper.store()
        self._resources: Any = SimpleNamespace(
            store=self.store,
            images_dir=SimpleNamespace(path=str(folder)),
            config=lambda: world.config,
            clock=world.agenda.clock,
            sleeper=world.agenda.sleep,
            say=lambda line: None,
            interrupted=SimpleNamespace(is_set=lambda: False),
            ending=SimpleNamespace(is_set=lambda: False),
        )
        self.fiber = Fiber(world.agenda, self._run)

    def kill(self) -> None:
        self.store.session.kill()
        self.fiber.kill()

    def _run(self) -> None:
        try:
            while True:
                self._begin_and_finish()
                self.world.agenda.sleep(1.0)
        except (Killed, StoreError):
            if not self.store.session.killed:
                self.store.session.kill()

    def _begin_and_finish(self) -> None:
        images, now = self.store.images, self.world.agenda.now
        builds = images.builds("built")
        last = max((build.state_time or 0.0 for build in builds), default=0.0)
        waiting = [upload for upload in images.uploads("built", "east") if upload.state == UploadState.UPLOADING]
        if waiting:
            self._finish(waiting[-1])
        elif now - last > ROUND:
            new_build(self.world, self.store, len(builds) + 1, UploadState.UPLOADING)

    def _finish(self, upload: Upload) -> None:
        held = self.store.images.lock_provider("built", upload.build_id, "east")
        if held is None:
            return  # the session of one that was killed has not ended yet
        agenda = self.world.agenda
        claim = UploadClaim(self.store, upload, held, patience=10.0, clock=agenda.clock, sleeper=agenda.sleep)
        claim.take_over()
        try:
            Gate(claim, self._resources).run()
            upload.set_state(UploadState.READY, agenda.now)
        except GateRejected:
            upload.set_state(UploadState.FAILED, agenda.now)
        except RecordLost:
            return
        claim.write()
        claim.release()

    def play(self, kind: str, upload: Upload) -> PlaybookEnd:
        self.world.agenda.sleep(PLAY)
        if kind == CANARY and is_broken(upload.build_id):
            return PlaybookEnd(False, "no DNS")
        if kind == CANARY:
            self.passed.add(upload.build_id)
        return PlaybookEnd(True)


def is_broken(build: str) -> bool:
    return int(build, 16) % 3 == 0


def new_build(world: World, store: Any, number: int, state: str) -> None:
    build = Build(image="built", id=build_id(number))
    build.set_state(BuildState.READY, world.agenda.now)
    store.images.create_build(build)
    for name, cloud in world.clouds.items():
        if name == "east" or state == UploadState.READY:
            made = Upload(image="built", build_id=build.id, provider=name, external_id=f"{name}-{number}")
            made.set_state(state, world.agenda.now)
            marks = {IMAGE_BUILD: build.id, META_PROVIDER: name}
            cloud.own_images[f"{name}-{number}"] = Image(f"{name}-{number}", f"built-{number}", "active", marks)
            store.images.create_upload(made)


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
        for node in self.world.nodes():
            place = build_of_path(node.image_id)
            if place is not None and node.type == ["small"]:
                self.made.add(place[1])
                assert place[1] in self.passed and not is_broken(place[1]), (node.id, node.state, place)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[[Site], None]:
    def use(found: Site) -> None:
        def playbook_for(node: Any, kind: str, upload: Upload, *_more: Any) -> Any:
            return SimpleNamespace(run=lambda is_running: found.builder.play(kind, upload))

        monkeypatch.setattr(gate_run, "playbook_for", playbook_for)
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
