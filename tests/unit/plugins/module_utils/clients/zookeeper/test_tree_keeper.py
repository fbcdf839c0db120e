# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the last state of the tree is written, and when not."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.kept_tree import KeptStat, find
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.tree_keeper import TreeKeeper
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)

SETTINGS = ZooKeeperSettings(servers=(ZooKeeperServer("a", 2181, ""),))


class Stage:
    """A session that is connected or not, and the pause after a loss, which ends when the test says so."""

    def __init__(self, folder):
        self.folder = str(folder / "state")
        self.state, self.tree, self.now = "connected", Tree(), 100.0
        self.pauses: list[Callable[[], None]] = []
        self.lines: list[str] = []
        self.tree.put("/nodepool", b"{}", KeptStat(1, 1, 0, 0, 0))
        self.keeper = TreeKeeper(
            self, SETTINGS, self.folder, self.lines.append, clock=lambda: self.now, start=self.pauses.append
        )

    def become(self, state):
        self.state = state
        self.keeper.changed("")

    def end_pauses(self):
        pauses, self.pauses[:] = list(self.pauses), []
        for work in pauses:
            work()

    @property
    def kept(self):
        return find(self.folder, SETTINGS, self.now)


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_nothing_is_written_while_zookeeper_answers(stage):
    for path in ("", "/nodepool/nodes/1", ""):
        stage.keeper.changed(path)
    stage.end_pauses()
    assert not os.path.exists(stage.folder)


def test_the_loss_is_the_time_of_the_state(stage):
    stage.become("suspended")
    stage.now += 7
    stage.become("lost")
    stage.end_pauses()
    assert stage.kept.seen == 100.0
    assert stage.kept.tree.content() == stage.tree.content()


def test_a_short_loss_writes_nothing(stage):
    stage.become("suspended")
    stage.tree = Tree()  # it was read anew
    stage.become("connected")
    stage.end_pauses()
    assert not os.path.exists(stage.folder)


def test_each_loss_replaces_the_state_of_the_one_before(stage):
    stage.become("suspended")
    stage.end_pauses()
    stage.tree = Tree()
    stage.become("connected")
    stage.now = 200.0
    stage.become("suspended")
    stage.end_pauses()
    assert stage.kept.seen == 200.0
    assert stage.kept.tree.content() == ({}, set())


def test_what_cannot_be_kept_is_told(stage):
    os.mkdir(stage.folder)
    os.chmod(stage.folder, 0o777)
    stage.become("lost")
    stage.end_pauses()
    (line,) = stage.lines
    assert line.startswith("ZooKeeper: the last state cannot be kept") and stage.folder in line
