# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node requests and their locks, which live apart so that they survive the request."""

from __future__ import annotations

import uuid

from ...model.request import (
    DEFAULT_PRIORITY,
    NodeRequest,
    request_prefix,
)
from . import paths
from .locks import Held, acquire
from .records import Records


class Requests(Records[NodeRequest]):
    """``/nodepool/requests``, with the locks in ``/nodepool/requests-lock``."""

    ROOT = paths.REQUESTS
    LOCK_ROOT = paths.REQUEST_LOCKS
    KIND = NodeRequest

    def create(self, request: NodeRequest, *, priority: int = DEFAULT_PRIORITY, ephemeral: bool = False) -> None:
        """Store a new request; sets ``id``, ``version`` and, where there is none, ``event_id``.

        :param priority: 0 to 999, smaller is sooner.
        :param ephemeral: it vanishes with our session.
        """
        request.event_id = request.event_id or uuid.uuid4().hex
        prefix = f"{self.ROOT}/{request_prefix(priority)}"
        path, stat = self._session.create(prefix, request.to_bytes(), sequence=True, parents=True, ephemeral=ephemeral)
        request.id = paths.split(path)[1]
        request.version = stat.version

    def lock(self, record_id: str) -> Held | None:
        """Take the request's lock without waiting; None when it is held or the request is gone."""
        if self._session.tree.entry(self._path(record_id)) is None:
            return None
        return acquire(self._session, self._lock_path(record_id), parents=True)

    def created_at(self, record_id: str) -> float | None:
        """When ZooKeeper created the request (UNIX seconds by its clock); None when the request is gone."""
        entry = self._session.tree.entry(self._path(record_id))
        return entry.stat.ctime / 1000.0 if entry is not None else None

    def lock_ids(self) -> list[str]:
        """Ids of the requests, vanished ones included, for which there is a lock directory; fresh from ZooKeeper."""
        return self._session.children(paths.REQUEST_LOCKS)

    def free_since(self, record_id: str) -> float | None:
        """When the lock directory was made (UNIX seconds), fresh; None when it is gone or the lock is held."""
        found = self._session.read(self._lock_path(record_id))
        return found[1].mtime / 1000.0 if found and not found[1].numChildren else None

    def delete_lock(self, record_id: str) -> None:
        """Delete the lock directory of a request that is gone; absent is fine."""
        self._session.delete(self._lock_path(record_id))

    def _lock_path(self, record_id: str) -> str:
        return f"{paths.REQUEST_LOCKS}/{record_id}"
