# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The large site of the demo: four providers are ill, and it moves."""

from __future__ import annotations

import json
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import parse_config
from ansible_collections.stackci.nodepool.plugins.module_utils.launching import call_shares
from ansible_collections.stackci.nodepool.plugins.module_utils.model.counters import Counters
from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.overview import overview
from tests.demo import crowd
from tests.demo.crowd_moves import COUNTERS, FREEZES_EVERY, Crowd
from tests.support.tree_reading import NOW, reading_of


class Client:
    """The part of kazoo's client that is used, over a dictionary."""

    def __init__(self) -> None:
        self.tree: dict[str, bytes] = {}
        self.operations: list[str] = []

    def transaction(self) -> Client:
        """Everything is written at once."""
        self.operations = []
        return self

    def commit(self) -> list[str]:
        return list(self.operations)

    def create(self, path: str, data: bytes = b"", *, makepath: bool = False) -> None:
        assert path not in self.tree and (makepath or path.count("/") < 2 or path.rpartition("/")[0] in self.tree)
        self.tree[path] = data
        self.operations.append(path)

    def set(self, path: str, data: bytes) -> None:
        assert path in self.tree
        self.tree[path] = data

    def delete(self, path: str) -> None:
        del self.tree[path]

    def overview(self, now: float) -> Any:
        """What the page shows of it."""
        locks = [path for path in self.tree if "/lock/" in path]
        documents = {path: json.loads(data) for path, data in self.tree.items() if data}
        return overview(parse_config(crowd.nodepool_yaml(2181)), reading_of(documents, locks), now)


def filled() -> tuple[Client, Crowd]:
    client = Client()
    found = Crowd(client, clock=lambda: NOW)
    found.fill()
    return client, found


def test_four_of_seventeen_providers_are_ill_and_each_is_told_with_its_cause():
    client, _crowd = filled()
    found = client.overview(NOW)
    assert len(found.nodes) == 6000 and len(found.providers) == 17
    told = {(row["provider"], row["cause"]) for row in found.troubles if row["provider"]}
    assert told == {
        (crowd.DOWN, "provider"),
        (crowd.DOWN, "stuck"),
        (crowd.FULL, "freeze"),
        (crowd.FLAPPING, "flapping"),
        (crowd.UNSERVED, "no-launcher"),
    }
    assert [row["name"] for row in found.providers[:2]] == sorted((crowd.DOWN, crowd.UNSERVED))


def test_it_moves_and_stays_as_large_as_it_was():
    client, found = filled()
    before = dict(client.tree)
    for _turn in range(FREEZES_EVERY + 1):
        found.move()
    assert sum(1 for path in client.tree if path.startswith("/nodepool/requests/")) == crowd.REQUESTS
    changed = [path for path, data in client.tree.items() if before.get(path) not in (None, data)]
    assert sum(1 for path in changed if path.startswith("/nodepool/nodes/")) > 500
    states = client.overview(NOW).node_states
    assert 0.6 < states["in-use"] / crowd.NODES < 0.8 and min(states.values()) > 100, "shares stay what they were"
    counted = Counters.from_document(json.loads(client.tree[COUNTERS])["counters"])
    assert not counted.empty


def test_calls_are_counted_in_the_slots_of_a_launcher():
    assert crowd.SLOT == call_shares.SLOT
