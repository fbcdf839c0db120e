# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node records and their locks."""

from __future__ import annotations

from ...model.node import Node
from .link import paths
from .link.batch import Batch, Sent
from .link.tree import Stat
from .locks import Held, acquire
from .records import Records


class Nodes(Records[Node]):
    """The records in ``/nodepool/nodes``.

    The lock is below the node's znode: taking it never re-creates a node that is gone.
    """

    ROOT = paths.NODES
    KIND = Node

    def create(self, node: Node) -> None:
        """Store a new node. Sets ``node.id`` and ``node.version``, and updates the cache."""
        path, stat = self._session.create(f"{self.ROOT}/", node.to_bytes(), sequence=True, parents=True)
        node.id = paths.split(path)[1]
        node.version = stat.version

    def send(self, node: Node) -> Sent:
        """Store a new node without waiting; the thread that waits for the answer sets its ``id`` and ``version``."""
        self._session.ensure(self.ROOT)
        batch = Batch(self._session)

        def made(path: str, stat: Stat | None) -> None:
            node.id = paths.split(path)[1]
            node.version = stat.version if stat is not None else -1

        batch.create(f"{self.ROOT}/", node.to_bytes(), sequence=True, then=made)
        return batch.send()

    def lock(self, record_id: str) -> Held | None:
        """Take the node's lock without waiting; return None when it is held or the node is gone."""
        return acquire(self._session, self._lock_path(record_id))
