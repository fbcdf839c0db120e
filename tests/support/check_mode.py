# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's check mode in a world on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import preview as preview_module
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.preview import preview
from tests.support.memory_zookeeper import MemorySession, MemoryStore
from tests.support.virtual_time import VirtualInbox
from tests.support.world import World, WorldOptions


@contextmanager
def check_mode(world: World) -> Iterator[Callable[[], dict[str, Any]]]:
    """A function that runs check mode and sees to it that ZooKeeper is not written."""
    options = WorldOptions(config="nodepool.yaml")
    object.__setattr__(options, "world", world)

    def run() -> dict[str, Any]:
        before = world.keeper.writes
        result = preview(options)
        assert world.keeper.writes == before, "check mode writes nothing"
        return result

    def store(_settings: Any) -> MemoryStore:
        return MemoryStore(MemorySession(world.keeper))

    def inbox(_clock: Any) -> VirtualInbox:
        return VirtualInbox(world.agenda)

    with mock.patch.object(preview_module, "Store", store), mock.patch.object(preview_module, "Inbox", inbox):
        yield run
