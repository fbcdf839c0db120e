# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills a tree with the large site and moves it until SIGTERM: ``python -m tests.demo.crowd_moves``."""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from kazoo.client import KazooClient

from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import (
    API_CALLS,
    LAUNCH_FAULTS,
    LAUNCHES,
    REQUEST_READY,
    Counters,
)
from tests.demo.crowd import (
    DOWN,
    FLAPPING,
    FULL,
    NODES,
    OWN,
    PROVIDERS,
    QUOTA,
    REQUESTS,
    STATES,
    build,
    documents,
    node,
    pool,
    pool_id,
    provider,
    request,
)
from tests.support.filled_tree import fill

NEXT = {"building": "ready", "ready": "in-use", "in-use": "deleting", "deleting": "building"}
COUNTERS = f"{OWN}/counters/launcher1-launcher"
EVERY = 2.0
"""Seconds between two moves."""
LOOKED_AT = 200
"""Nodes that may change with each move: the longer a state usually lasts, the fewer of those in it."""
BUILDS_EVERY, TAKEOVERS_EVERY, FREEZES_EVERY = 150, 90, 45
"""Moves between two builds, takeovers of a provider, and ends of the freeze."""


def counters_document(counters: Counters) -> dict[str, Any]:
    """The counters of the launchers as they are stored."""
    return {"host": "launcher1", "cycle": "launcher", "ended": None, "writes": [], "counters": counters.document()}


class Crowd:
    """Moves a tree that it has filled with :func:`documents`."""

    def __init__(self, client: KazooClient, clock: Any = time.time) -> None:
        self._client = client
        self._clock = clock
        self._chance = Random(4)
        self._states: dict[int, str] = {}
        self._counters = Counters()
        self._moves = 0
        self._oldest, self._newest = 0, REQUESTS

    def fill(self) -> None:
        """Make the tree."""
        found = list(documents(self._clock()))
        fill(self._client, found)
        nodes = [document for path, document in found if document and path.startswith("/nodepool/nodes/")]
        self._states = {number: document["state"] for number, document in enumerate(nodes)}
        self._client.create(COUNTERS, json.dumps(counters_document(self._counters)).encode(), makepath=True)

    def move(self) -> None:
        """Write what has happened within EVERY seconds."""
        now, wave = self._clock(), abs(self._moves % 60 - 30) / 30
        self._moves += 1
        for number in self._chance.sample(range(NODES), LOOKED_AT):
            state = self._states[number]
            if self._chance.random() < 1 / STATES.count(state):
                self._states[number] = NEXT[state]
                self._write(f"/nodepool/nodes/{number:010d}", node(number, NEXT[state], now))
        self._serve(now, wave)
        self._count(wave)
        if self._moves % 15 == 0:
            for name in PROVIDERS:
                self._write(f"{OWN}/providers/{name}", provider(name, now))
        if self._moves % FREEZES_EVERY:
            freeze = {"instances": {"resource": "instances", "until": now + 30, "refusals": [now], "text": QUOTA}}
            self._write(f"{OWN}/freezes/{pool_id(FULL)}", freeze)
        if self._moves % TAKEOVERS_EVERY == 0:
            host = f"launcher{1 + self._moves // TAKEOVERS_EVERY % 3}"
            self._write(f"/nodepool/components/pool/launcher1{5:09d}", pool(PROVIDERS[5], host))
        if self._moves % BUILDS_EVERY == 0:
            fill_more(self._client, build("debian-12", self._moves, now))

    def _serve(self, now: float, wave: float) -> None:
        """The oldest requests are served, and others are made."""
        for _turn in range(round(2 + 3 * wave)):
            ident = f"200-{self._oldest:010d}"
            self._oldest += 1
            for folder in ("/nodepool/requests", f"{OWN}/waits"):
                self._client.delete(f"{folder}/{ident}")
            fill_more(self._client, request(self._newest, now))
            self._newest += 1
            self._counters.observe(REQUEST_READY, "cloud-01", "main", seconds=25 + 200 * wave * self._chance.random())

    def _count(self, wave: float) -> None:
        for name in PROVIDERS:
            failed = 12 if name == DOWN else 3 if name == FLAPPING else 0
            self._counters.add(API_CALLS, name, "GET", "/servers/detail", "200", amount=round(6 + 10 * wave))
            self._counters.add(API_CALLS, name, "GET", "/servers/detail", "503", amount=failed)
        self._counters.add(LAUNCHES, "cloud-01", "main", "ready", "", amount=8)
        self._counters.add(LAUNCH_FAULTS, DOWN, "main", "cloud", amount=round(2 * wave))
        self._counters.add(LAUNCH_FAULTS, FULL, "main", "capacity", amount=self._moves % 9 // 8)
        self._write(COUNTERS, counters_document(self._counters))

    def _write(self, path: str, document: dict[str, Any]) -> None:
        self._client.set(path, json.dumps(document).encode())


def fill_more(client: KazooClient, found: Iterator[tuple[str, dict[str, Any] | None]]) -> None:
    """Make further znodes in a tree that has their folders."""
    for path, document in found:
        client.create(path, json.dumps(document).encode(), makepath=True)


def main() -> None:
    """Fill the tree, say so by a file, and move it until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True, help="of ZooKeeper")
    parser.add_argument("--state-dir", type=Path, required=True, help="crowd.ready in it says that the tree is filled")
    options = parser.parse_args()
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: over.set())
    client = KazooClient(f"127.0.0.1:{options.port}", timeout=30.0)
    client.start(timeout=30)
    try:
        crowd = Crowd(client)
        crowd.fill()
        (options.state_dir / "crowd.ready").touch()
        while not over.wait(EVERY):
            crowd.move()
    finally:
        client.stop()
        client.close()


if __name__ == "__main__":
    main()
