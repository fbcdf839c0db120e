# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two launchers that are compared, each as its users run it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from tests.bench.launcher import START_SECONDS, BenchError, LauncherRun
from tests.bench.process_tree import ProcessTree
from tests.bench.world import World, until
from tests.interop.environments import Environment
from tests.interop.stock import Stock

STAY_SECONDS = 7200.0


class Running(Protocol):
    """A launcher at work. *tree*: its processes."""

    tree: ProcessTree

    def kill(self) -> None:
        """End all of its processes by SIGKILL."""

    def tail(self) -> str:
        """The end of what it has written."""


class Side(Protocol):
    """A launcher that can be started in a world."""

    @property
    def name(self) -> str:
        """Its key in the JSON file."""

    @property
    def title(self) -> str:
        """For the table."""

    def start(self, world: World) -> AbstractContextManager[Running]:
        """Start it; its pools are registered when the context is entered."""


@dataclass(frozen=True)
class Ours:
    """playbooks/launcher.yml, one cycle that stays."""

    name: str = "ours"
    title: str = "this collection"

    def start(self, world: World) -> AbstractContextManager[Running]:
        """Start it."""
        return LauncherRun(world, STAY_SECONDS, launcher_state_dir=str(world.folder / "state"))


@dataclass(frozen=True)
class Theirs:
    """nodepool-launcher from the package index."""

    environment: Environment
    name: str = "theirs"
    title: str = "Nodepool 11.0.0"

    def start(self, world: World) -> AbstractContextManager[Running]:
        """Start it."""
        return StockRun(self.environment, world)


class StockRun:
    """Nodepool's launcher; logs what it logs by default."""

    def __init__(self, environment: Environment, world: World) -> None:
        self._world = world
        stock = Stock(environment, world.folder, world.config, world.cloud.clouds_yaml)
        self._daemon = stock.launcher("--no-webapp", debug=False)
        self.tree: ProcessTree

    def __enter__(self) -> Self:
        world = self._world
        known = world.requestor.registrations()
        self._daemon.start()
        self.tree = ProcessTree(self._daemon.pid)

        def registered() -> bool:
            new = world.requestor.registrations() - known
            return len(new) >= len(world.scene.providers) or not self._daemon.running

        if not until(registered, START_SECONDS) or not self._daemon.running:
            self.kill()
            raise BenchError(f"Nodepool's launcher did not register its pools: {self.tail()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> None:
        """SIGKILL."""
        self.tree.stop()
        self._daemon.kill()

    def tail(self) -> str:
        """The end of its log."""
        return self._daemon.said()[-3000:]


def settle(seconds: float = 3.0) -> None:
    """Let a launcher that has just registered read what does not change."""
    time.sleep(seconds)
