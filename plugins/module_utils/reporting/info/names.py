# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The names of providers, pools and labels in the configuration and in the tree."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...clients.zookeeper.link import paths
from ...clients.zookeeper.tree_reading import Found, TreeReading
from ...model import own_tree
from ...model.component import PoolComponent, is_lasting
from ...model.config.types import NodepoolConfig
from ...model.documents import words

LAUNCHERS = (paths.COMPONENTS, paths.own(own_tree.KNOWN_POOLS))
"""Where launchers and builders are registered, and where pools are stored."""
KINDS = {"providers": "provider", "pools": "pool", "labels": "label"}
"""Option of a module → what it names."""
_IN_NODES = {"provider": "provider", "pool": "pool", "label": "type"}
_IN_POOLS = {"provider": "provider_name", "pool": "name", "label": "supported_labels"}


def pool_documents(reading: TreeReading) -> Iterator[tuple[Found, bool]]:
    """Yield the stored pools, then the registered ones, each with True when it is registered."""
    for root, registered in ((paths.own(own_tree.KNOWN_POOLS), False), (f"{paths.COMPONENTS}/pool", True)):
        for found in reading.below(root):
            if not (registered and is_lasting(found.document)):
                yield found, registered


def registered_pools(reading: TreeReading) -> list[PoolComponent]:
    """Return the registered pools of all launchers; leaves out broken and lasting registrations."""
    found = (PoolComponent.from_document(pool.name, pool.document) for pool, here in pool_documents(reading) if here)
    return [pool for pool in found if not pool.broken]


def known_names(kind: str, config: NodepoolConfig, reading: TreeReading, asked: Collection[str] = ()) -> set[str]:
    """Return all names of a kind (provider, pool or label) in the configuration and in the pools.

    :param asked: when one of these is not among them, the names in node records are included, too.
    """
    known = _configured(kind, config)
    for pool, _registered in pool_documents(reading):
        known.update(words(pool.document.get(_IN_POOLS[kind])))
    if set(asked) - known:
        for node in reading.below(paths.NODES):
            known.update(words(node.document.get(_IN_NODES[kind])))
    return known - {""}


def _configured(kind: str, config: NodepoolConfig) -> set[str]:
    if kind == "provider":
        return set(config.providers)
    if kind == "label":
        return set(config.labels)
    return {pool for provider in config.providers.values() for pool in provider.pools}
