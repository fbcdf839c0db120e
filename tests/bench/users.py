# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Users of nodes: they ask, accept what they are given, use it for a while and give it back."""

from __future__ import annotations

import time
from typing import Any

from tests.bench.world import World

LOOK_EVERY = 0.02


class Users:
    """All users of a world.

    :param held: seconds for which they use a node.
    :ivar servers: node → the cloud's own record of its server, of those that were served.
    """

    def __init__(self, world: World, held: float) -> None:
        self._world = world
        self._held = held
        self._waiting: set[str] = set()
        self._using: dict[str, float] = {}
        self.servers: dict[str, dict[str, Any]] = {}

    @property
    def busy(self) -> bool:
        """True while a request waits or a node is used."""
        return bool(self._waiting or self._using)

    def ask(self, number: int, nodes: int = 1) -> None:
        """Submit so many requests for so many nodes each."""
        self._waiting |= set(self._world.requestor.ask(number, ["small"] * nodes))

    def step(self) -> int:
        """Accept and give back what is due, then wait a moment; returns how many requests were served."""
        requestor = self._world.requestor
        served = [request for request in self._waiting if request in requestor.fulfilled]
        if served:
            self.servers |= self._world.servers()
        for request in served:
            self._waiting.discard(request)
            self._using |= dict.fromkeys(requestor.accept(request), time.monotonic() + self._held)
        for node in [node for node, over in self._using.items() if over <= time.monotonic()]:
            del self._using[node]
            requestor.give_back(node)
        time.sleep(LOOK_EVERY)
        return len(served)
