# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ZooKeeper that goes away and comes back, in words."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.zookeeper_absence import ZooKeeperAbsence
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    ZooKeeperServer,
    ZooKeeperSettings,
)


class World:
    """A connection that the test sets, and a clock that it turns."""

    state, generation, now, refusal = "connected", 1, 100.0, ""

    def __init__(self):
        self.said: list[str] = []
        settings = ZooKeeperSettings((ZooKeeperServer("zk01"), ZooKeeperServer("::1", 2)))
        self.absence = ZooKeeperAbsence(self, settings, self.said.append, lambda: self.now)

    def becomes(self, state, after):
        self.state = state
        self.now += after
        self.absence.changed("")


@pytest.fixture
def world():
    return World()


def test_a_loss_and_the_return_are_told_once_with_the_seconds(world):
    world.becomes("connected", 1)
    world.becomes("suspended", 1)
    world.absence.changed("/nodepool/nodes/1")
    world.becomes("suspended", 3)
    world.becomes("connected", 17.25)
    world.becomes("connected", 1)
    assert world.said == [
        "ZooKeeper (zk01:2281, [::1]:2): the connection is lost; nothing is changed until it returns",
        "ZooKeeper (zk01:2281, [::1]:2): back after 20.2 s",
    ]


def test_a_refused_account_is_told_once_for_each_absence(world):
    for _absence in range(2):
        world.becomes("suspended", 1)
        world.refusal = "ZooKeeper does not accept the account sasl:launcher"
        world.becomes("lost", 10)
        world.becomes("lost", 10)
        world.refusal = ""
        world.becomes("connected", 1)
    assert [line for line in world.said if "sasl:launcher" in line] == [
        "ZooKeeper (zk01:2281, [::1]:2): ZooKeeper does not accept the account sasl:launcher"
    ] * 2


def test_a_new_session_is_told(world):
    world.becomes("suspended", 1)
    world.becomes("lost", 10)
    world.generation = 2
    world.becomes("connected", 10)
    assert world.said[1:] == [
        (
            "ZooKeeper (zk01:2281, [::1]:2): back after 20.0 s, in a new session: everything that was locked in"
            " the old one is checked again"
        )
    ]
    world.becomes("suspended", 1)
    world.becomes("connected", 1)
    assert world.said[-1].endswith("back after 1.0 s")
