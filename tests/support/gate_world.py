# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A builder with a gate in a world on virtual time: its playbook is replaced by what it would find."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.playbook_run import PlaybookEnd
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.record_lock import RecordLost
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
from tests.support.virtual_time import Fiber, Killed
from tests.support.world import World, provider_document, site

PLAY = 8.0
"""Seconds that the playbook takes."""
ROUND = 120.0
"""Seconds between two builds."""


def document(*providers: str, **pool: Any) -> dict[str, Any]:
    pools = {
        name: {"name": "main", "labels": [{"name": "small", "flavor-name": "small", "diskimage": "built"}], **pool}
        for name in providers
    }
    made = [provider_document(name, pools[name], diskimages=[{"name": "built"}]) for name in providers]
    return site(*made, diskimages=[{"name": "built", "formats": ["qcow2"]}])


def gated(*providers: str, **pool: Any) -> Any:
    """The first provider tests; *pool*: more options of each pool."""
    gate = {"playbook": "smoke.yml", "providers": [providers[0]], "reserve-after": 60}
    settings = yaml.safe_dump({"diskimages": [{"name": "built", "gate": gate}]})
    return parse_config(yaml.safe_dump(document(*providers, **pool)), settings_text=settings)


class VirtualBuilder:
    """A builder with one image and a real gate: it is killed at any moment, and another one goes on.

    :ivar passed: builds on a canary of which the playbook has passed.
    :param every: seconds between two builds.
    """

    def __init__(self, world: World, folder: Path, passed: set[str], every: float = ROUND) -> None:
        self.world, self.passed, self.every = world, passed, every
        self.store = world.keeper.store()
        self._resources: Any = SimpleNamespace(
            store=self.store,
            images_dir=SimpleNamespace(path=str(folder)),
            config=lambda: world.config,
            clock=world.agenda.clock,
            sleeper=world.agenda.sleep,
            sighting=lambda upload: None,
            say=lambda line: None,
            interrupted=SimpleNamespace(is_set=lambda: False),
            ending=SimpleNamespace(is_set=lambda: False),
        )
        images = world.clouds["east"].own_images
        self._client: Any = SimpleNamespace(secrets=(), images=SimpleNamespace(get=images.get))
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
        elif now - last > self.every:
            new_build(self.world, self.store, len(builds) + 1, UploadState.UPLOADING)

    def _finish(self, upload: Upload) -> None:
        held = self.store.images.lock_provider("built", upload.build_id, "east")
        if held is None:
            return  # the session of one that was killed has not ended yet
        agenda = self.world.agenda
        claim = UploadClaim(self.store, upload, held, patience=10.0, clock=agenda.clock, sleeper=agenda.sleep)
        claim.take_over()
        try:
            Gate(claim, self._resources, self._client).run()
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


def builds_of_nodes(world: World, passed: set[str]) -> set[str]:
    """The builds of the nodes that a request may get; each of them must have passed."""
    made = set[str]()
    for node in world.nodes():
        place = build_of_path(node.image_id)
        if place is not None and node.type == ["small"]:
            made.add(place[1])
            assert place[1] in passed and not is_broken(place[1]), (node.id, node.state, place)
    return made


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


def playbook_of(builder: Callable[[], VirtualBuilder]) -> Callable[..., Any]:
    """What stands for ``gate_run.playbook_for``."""

    def playbook_for(node: Any, kind: str, upload: Upload, *_more: Any) -> Any:
        return SimpleNamespace(run=lambda is_running: builder().play(kind, upload))

    return playbook_for
