# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that sweeps keep in ZooKeeper: sightings, and tombstones of nodes that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ....clients.zookeeper.link.batch import Batch
from ....clients.zookeeper.link.paths import segment
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.launch import Launch
from ....model.own_tree import SIGHTINGS, TOMBSTONES, TREE_SIGHTINGS
from ....model.stored import is_number
from ....model.tombstone import MOST, Life, Tombstone, Tombstones
from ....sweeping.judge import Sighting

_MOST_SIGHTINGS = 5000
_MOST_EXPIRED = 500
"""Largest number of tombstones that are deleted in one round trip."""


@dataclass
class SweepMemory:
    """The sightings of a provider (or of the tree). *looked*: kind → UNIX time of the last look at it."""

    path: str
    sightings: dict[str, Sighting] = field(default_factory=dict)
    looked: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of_provider(cls, store: Store, provider: str) -> SweepMemory:
        """Return the memory that is stored for a provider."""
        return cls._read(store, f"{SIGHTINGS}/{segment(provider)}")

    @classmethod
    def of_tree(cls, store: Store) -> SweepMemory:
        """Return the memory that is stored for the tree."""
        return cls._read(store, TREE_SIGHTINGS)

    @classmethod
    def _read(cls, store: Store, path: str) -> SweepMemory:
        document = store.own.get(path) or {}
        seen, looked = document.get("seen"), document.get("looked")
        read = {key: Sighting.from_document(item) for key, item in (seen.items() if isinstance(seen, Mapping) else ())}
        return cls(
            path,
            {key: item for key, item in read.items() if item is not None},
            {
                key: float(value)
                for key, value in (looked.items() if isinstance(looked, Mapping) else ())
                if is_number(value)
            },
        )

    def save(self, store: Store) -> None:
        """Store the memory; if there are too many sightings, only the oldest."""
        oldest = sorted(self.sightings.items(), key=lambda item: item[1].first)[:_MOST_SIGHTINGS]
        store.own.put(self.path, {"seen": {key: item.document() for key, item in oldest}, "looked": self.looked})

    def lock(self, store: Store) -> Held | None:
        """Take the lock for a sweep; return None if another launcher has it."""
        return None if store.own.is_locked(self.path) else store.own.lock(self.path)


def add_tombstone(
    store: Store,
    node_id: str,
    provider: str,
    launch: Launch | None,
    server_id: str | None,
    now: float,
    life: Life | None = None,
    batch: Batch | None = None,
) -> None:
    """Remember the cloud resources of a node (or of one attempt of its launch) before its record is deleted.

    :param life: the life of a node that is gone; it is stored only if the node had cloud resources to remember.
    :param batch: store it together with these changes.
    """
    path = f"{TOMBSTONES}/{segment(provider)}/{node_id}"
    tombstone = store.own.understood(path, Tombstone.from_document, key="node_id") or Tombstone(node_id)
    if tombstone.add(launch, server_id):
        tombstone.buried = now
        if life is not None:
            tombstone.times, tombstone.request_id, tombstone.why = dict(life.times), life.request_id, life.why
        store.own.folder(f"{TOMBSTONES}/{segment(provider)}")
        store.own.put(path, tombstone.document(), batch)


def read_tombstones(store: Store, provider: str) -> Tombstones:
    """Return the tombstones of a provider's nodes."""
    root = f"{TOMBSTONES}/{segment(provider)}"
    stones = (
        store.own.understood(f"{root}/{name}", Tombstone.from_document, key="node_id")
        for name in store.own.children(root)
    )
    return Tombstones(stone for stone in stones if stone is not None)


def expire_tombstones(store: Store, provider: str, now: float) -> int:
    """Delete tombstones that are too old or too many, the oldest first; return how many were deleted."""
    root = f"{TOMBSTONES}/{segment(provider)}"
    found = [
        (store.own.understood(f"{root}/{name}", Tombstone.from_document, key="node_id"), name)
        for name in store.own.children(root)
    ]
    known = sorted(((stone, name) for stone, name in found if stone is not None), key=lambda pair: pair[0].buried)
    surplus = len(known) - MOST
    past = [name for place, (stone, name) in enumerate(known) if place < surplus or stone.is_past(now)]
    chosen = past[:_MOST_EXPIRED]
    return len(chosen) if store.own.delete_as_known(*(f"{root}/{name}" for name in chosen)) else 0
