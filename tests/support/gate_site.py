# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site with a gate on virtual time, whose builder and launchers may die anywhere; and what must never be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.paths import IMAGES, NODES
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import Upload, UploadState
from tests.support.build_case import build_id
from tests.support.gate_world import builds_of_nodes, document, gated, is_broken, new_build
from tests.support.kill_points import ChaosWorld, Strike, Victim
from tests.support.stock_cleaner import StockCleaner
from tests.support.virtual_builder import IMAGE, VirtualBuilder, built, passes_unless

PROVIDERS = ("east", "west")
AGAIN = 1.0
"""Seconds after which what was killed is started again, at the least."""


class GateSite:
    """Two launchers and a builder. The first build is in use from the beginning; every third one is broken.

    :param stock: how often Nodepool's builder cleans up on the same tree, in seconds; 0 for not at all.
    :ivar passed: the builds that a canary has shown to be good, and the first.
    :ivar kills: where something was killed.
    """

    def __init__(self, world: ChaosWorld, folder: Path, stock: float = 0.0) -> None:
        self.world, self.folder = world, folder
        self.passed = {build_id(1)}
        self.made: set[str] = set()
        self.kills: list[str] = []
        self.builder_dies: Callable[[str], bool] = lambda what: False
        self.launcher_dies: Callable[[int, str], Strike | None] = lambda number, what: None
        self._order: list[str] = []
        self._tree: Tree | None = None
        self._seen: tuple[NodepoolConfig, list[dict[str, str]]] | None = None
        new_build(world, world.store, 1, UploadState.READY)
        self.builder = self._builder()
        self.launchers = [self._launcher() for _unused in range(2)]
        self.cleaner = StockCleaner(world, IMAGE, PROVIDERS, stock) if stock else None

    # -- what happens -----------------------------------------------------------------------------------------------

    def bake(self) -> str:
        """Build the image once more."""
        builder_id = (self.folder / "builder_id.txt").read_text("utf-8")
        number = 2 + len(self._order)
        build = built(self.world, self.folder, build_id(number), builder_id).id
        self._order.append(build)
        return build

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> bool:
        """Let time pass, look at everything all the time, and start again what was killed."""
        end = self.world.agenda.now + seconds
        while self.world.agenda.now < end:
            self.world.run(min(AGAIN, end - self.world.agenda.now + 0.001))
            self.check()
            self._start_again()
            if until():
                return True
        return until()

    def _builder(self) -> VirtualBuilder:
        judge = passes_unless(is_broken, self.passed)
        return VirtualBuilder(self.world, self.folder, judge, self._strikes_builder)

    def _launcher(self) -> Victim:
        return self.world.hunt(self._strikes_launcher)

    def _strikes_builder(self, what: str) -> bool:
        return self.builder_dies(what)  # which a test may set later

    def _strikes_launcher(self, number: int, what: str) -> Strike | None:
        return self.launcher_dies(number, what)

    def _start_again(self) -> None:
        if self.builder.died:
            self.kills.append(f"builder {self.builder.died}")
            self.builder = self._builder()
        assert not self.builder.ended, self.builder.lines[-3:]
        for place, victim in enumerate(self.launchers):
            if victim.session.killed:
                self.kills.append(f"launcher {victim.struck[-1]}")
                self.launchers[place] = self._launcher()

    # -- what must never be ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """No node of a request is of an untested build, no untested build is ready, and the last good one stays.

        It looks again when something that it looks at has changed.
        """
        if self._is_as_before():
            return
        self.made |= builds_of_nodes(self.world, self.passed)
        for name in PROVIDERS if self.world.config.providers.keys() >= set(PROVIDERS) else ():
            ready = self.ready(name)
            assert {one.build_id for one in ready} <= self.passed, (name, ready)
            images = self.world.clouds[name].own_images
            there = [one for one in ready if (image := images.get(one.external_id or "")) and image.status == "active"]
            assert there, (name, ready, sorted(images))

    def _is_as_before(self) -> bool:
        """True when nodes, images, clouds and configuration are as they were when this was asked last."""
        tree = self.world.store.session.tree
        if tree is not self._tree:
            self._tree = tree
            tree.follow(NODES)
            tree.follow(IMAGES)
            self._seen = None
        clouds = [
            {ident: image.status for ident, image in self.world.clouds[name].own_images.items()} for name in PROVIDERS
        ]
        seen = self.world.config, clouds
        before, self._seen = self._seen, seen
        changed = tree.changed(NODES) | tree.changed(IMAGES)
        return not changed and before is not None and before[0] is seen[0] and before[1] == seen[1]

    def ready(self, provider: str) -> list[Upload]:
        """The uploads that are ready at a provider."""
        uploads = self.world.store.images.uploads(IMAGE, provider)
        return [one for one in uploads if one.state == UploadState.READY]

    def builds_at(self, provider: str) -> list[str]:
        """The builds that are ready at a provider."""
        return sorted(one.build_id for one in self.ready(provider))

    def verdicts(self) -> dict[str, str]:
        """Build → what is decided about it."""
        return {build: one.state for build, one in self.world.store.verdicts.of_image(IMAGE).items()}

    def requests(self) -> list[str]:
        """The labels that a gate asks for."""
        return [str(one.node_types) for one in self.world.store.requests.list() if one.requestor == "stackci-gate"]


@contextmanager
def gate_site(folder: Path, *, seed: int = 1, stock: float = 0.0, **quota: Any) -> Iterator[GateSite]:
    """A site on a world of its own."""
    most = {name: {"instances": 6} for name in PROVIDERS}
    folder.mkdir(parents=True, exist_ok=True)
    with ChaosWorld(document(*PROVIDERS), quota=most, lag=0.05, seed=seed) as world, VirtualBuilder.installed(world):
        world.config = gated(*PROVIDERS)
        yield GateSite(world, folder, stock)
