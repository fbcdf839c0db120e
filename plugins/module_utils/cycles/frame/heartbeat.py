# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat of a cycle: an ephemeral document, written by the cycle's own thread, that ends with its session."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable

from ...clients.zookeeper import paths
from ...clients.zookeeper.components import Registration
from ...clients.zookeeper.store import Store
from ...model.errors import StoreError

HEARTBEATS = "heartbeats"
"""The folder of the documents below our subtree; each running cycle has one document."""
EVERY = 30.0
"""Minimum seconds between two writes, unless the providers change."""


class Heartbeat:
    """Writes an ephemeral document as long as its :meth:`step` is called. Used by the cycle's own thread only.

    :param cycle: ``launcher``, ``builds`` or ``uploads``.
    """

    def __init__(self, store: Store, cycle: str) -> None:
        self._store = store
        self._cycle = cycle
        self._registration: Registration | None = None
        self._written = float("-inf")
        self._providers: list[str] = []

    def step(self, now: float, providers: Iterable[str] = ()) -> None:
        """Write the document if a write is due. A ZooKeeper error does not fail the cycle: a later call tries again.

        :param providers: the providers that a launcher acts for; a change is written at once.
        """
        acted_for = sorted(providers)
        if now - self._written < EVERY and acted_for == self._providers:
            return
        self._written, self._providers = now, acted_for
        fields = {"cycle": self._cycle, "at": round(now, 3), "providers": acted_for}
        if self._registration is not None:
            self._registration.update(**fields)
            return
        with contextlib.suppress(StoreError):
            self._registration = self._store.components.register(
                HEARTBEATS, socket.gethostname(), fields, root=paths.OWN
            )

    def end(self) -> None:
        """Delete the document."""
        if self._registration is not None:
            self._registration.unregister()
