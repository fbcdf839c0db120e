# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher's check mode in a world on virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import config_check
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import preview as preview_module
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.preview import preview
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import NodepoolConfig
from tests.support.memory_zookeeper import MemorySession, MemoryStore
from tests.support.virtual_time import VirtualInbox
from tests.support.world import World, WorldOptions


def options_of(world: World) -> WorldOptions:
    """Return options for what runs once in the world."""
    options = WorldOptions(config="nodepool.yaml")
    object.__setattr__(options, "world", world)
    return options


def check_configuration(world: World, *, offline: bool = False) -> dict[str, Any]:
    """Return what the check of the configuration finds."""
    with mock.patch.object(config_check, "config_by_hand", config_of_world):
        return config_check.check_config(options_of(world), offline=offline)


def config_of_world(options: WorldOptions, *, check: bool) -> NodepoolConfig:
    """Return the world's configuration in the place of what ``config_by_hand`` reads from files in check mode."""
    assert check, "check mode tells what is wrong with the files"
    return options.load()


@contextmanager
def check_mode(world: World) -> Iterator[Callable[[], dict[str, Any]]]:
    """A function that runs check mode and sees to it that ZooKeeper is not written."""
    options = options_of(world)

    def run() -> dict[str, Any]:
        before = world.keeper.writes
        result = preview(options)
        assert world.keeper.writes == before, "check mode writes nothing"
        return result

    def store(_settings: Any) -> MemoryStore:
        return MemoryStore(MemorySession(world.keeper))

    def inbox(_clock: Any) -> VirtualInbox:
        return VirtualInbox(world.agenda)

    with mock.patch.multiple(preview_module, Store=store, Inbox=inbox, config_by_hand=config_of_world):
        yield run
