# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web service without sockets: its application over a tree in memory, asked through werkzeug's test client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from werkzeug.test import Client

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.reconnecting import (
    CONNECTED,
    LOST,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.session import Session
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.tree import Tree
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import (
    NodepoolConfig,
    ZooKeeperServer,
    ZooKeeperSettings,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import StoreError
from ansible_collections.stackci.nodepool.plugins.module_utils.web.picture import Picture
from ansible_collections.stackci.nodepool.plugins.module_utils.web.routing import Route
from ansible_collections.stackci.nodepool.plugins.module_utils.web.server.application import (
    ROUTES,
    Application,
    Visitors,
)
from tests.support import populated_tree
from tests.support.tree_reading import NOW, Written, tree_of

SETTINGS = ZooKeeperSettings((ZooKeeperServer("127.0.0.1", 1, ""),))


class StillSession(Session):
    """A session over a tree that only the test changes.

    :ivar refuses: how often it still cannot be opened.
    """

    def __init__(self, tree: Tree, refuses: int = 0) -> None:
        super().__init__(SETTINGS)
        self.tree = tree
        self.refuses = refuses
        self.opened: list[dict[str, Any]] = []

    def open(self, **how: Any) -> None:
        """Be connected, or refuse it."""
        self.opened.append(how)
        if self.refuses:
            self.refuses -= 1
            raise StoreError("no connection to ZooKeeper")
        self.turn(CONNECTED)

    def close(self) -> None:
        """Nothing is open."""

    def turn(self, state: str) -> None:
        """Take another state and tell it."""
        self.state = state
        self.notify("")

    def put(self, path: str, data: bytes) -> None:
        """Write a document and tell it."""
        entry = self.tree.entry(path)
        self.tree.put(path, data, Written(1 + (entry.stat.mzxid if entry else 1_000_000)))
        self.notify(path)


class WebCase:
    """An application over a tree.

    :ivar now: UNIX time, which only the test moves on.
    """

    def __init__(
        self,
        documents: Mapping[str, Any] | None = None,
        locks: Iterable[str] | None = None,
        *,
        config: NodepoolConfig | None = None,
        routes: Iterable[Route] = ROUTES,
        visitors: Visitors | None = None,
    ) -> None:
        self.now = NOW
        found = populated_tree.documents(NOW) if documents is None else documents
        taken = (populated_tree.locks() if documents is None else ()) if locks is None else locks
        self.session = StillSession(tree_of(found, taken))
        self.picture = Picture(
            config or NodepoolConfig("nodepool.yaml", SETTINGS),
            clock=lambda: self.now,
            monotonic=lambda: self.now,
            session=self.session,
        )
        self.session.on_change(self.picture.changed)
        self.session.turn(CONNECTED)
        self.client = Client(Application(self.picture, routes, visitors))

    def lose(self) -> None:
        """ZooKeeper is away."""
        self.session.turn(LOST)

    def get(self, path: str, **headers: str) -> Any:
        """The answer to GET; underscores in names of headers are hyphens."""
        return self.client.get(path, headers={name.replace("_", "-"): value for name, value in headers.items()})
