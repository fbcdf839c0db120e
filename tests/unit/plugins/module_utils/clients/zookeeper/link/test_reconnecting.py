# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The thread that keeps the connection outlives whatever comes in its way."""

from __future__ import annotations

import errno
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link import reconnecting as link_file
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import (
    CONNECTED,
    ReconnectingClient,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree_client import DEAD, UP
from tests.support.memory_zookeeper import SETTINGS

GENEROUS = 60.0
EXHAUSTED = OSError(errno.EMFILE, "Too many open files")


class Shaky(ReconnectingClient):
    """A link whose steps fail as told; there is no ZooKeeper."""

    def __init__(self) -> None:
        super().__init__(SETTINGS)
        self.fails: dict[str, list[Exception]] = {}
        self.connected = threading.Event()

    def _step(self, name: str) -> None:
        waiting = self.fails.get(name)
        if waiting:
            raise waiting.pop(0)

    def _connect(self, timeout: float, *, seen_zxid: int = 0) -> None:
        self._step("connect")
        client: Any = SimpleNamespace(discard=lambda wait=0.0: None, seen_zxid=0, negotiated_timeout=10.0)
        self.client, self._link = client, UP

    def _synchronize(self) -> None:
        self._step("synchronize")
        self.state = CONNECTED
        self.connected.set()

    def _await_link(self) -> str:
        self._step("await")
        return super()._await_link()


@pytest.fixture
def shaky(monkeypatch):
    monkeypatch.setattr(link_file, "_PAUSES", (0.0,))
    monkeypatch.setattr(link_file, "_AMEND_PAUSE", 0.0)
    made = Shaky()
    made.open()
    yield made
    made.close()


@pytest.mark.parametrize("step", ["connect", "synchronize", "await"])
def test_the_session_is_replaced_although_file_descriptors_are_exhausted_for_a_moment(shaky, step):
    shaky.connected.clear()
    shaky.fails[step] = [EXHAUSTED, MemoryError("no memory"), EXHAUSTED]
    shaky._on_link(shaky.client, DEAD)
    assert shaky.connected.wait(GENEROUS)
    assert shaky.state == CONNECTED
    assert not shaky.fails[step]
    told = shaky.unusable.drain()
    assert len([line for line in told if "Too many open files" in line and "retrying" in line]) == 1, told


def test_one_thing_that_cannot_be_put_right_does_not_hold_up_the_others(shaky):
    tries: list[str] = []
    done = threading.Event()

    def first() -> bool:
        tries.append("first")
        if len(tries) < 3:
            raise EXHAUSTED
        done.set()
        return True

    def second() -> bool:
        tries.append("second")
        return True

    shaky.make_up_for(first)
    shaky.make_up_for(second)
    assert done.wait(GENEROUS)
    assert tries.count("second") == 1
