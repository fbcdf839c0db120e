# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node requests and their locks, which are stored apart so that they survive the request."""

from __future__ import annotations

import uuid

from ...model.request import (
    DEFAULT_PRIORITY,
    NodeRequest,
    request_prefix,
)
from .link import paths
from .locks import Held, acquire
from .records import Records


class Requests(Records[NodeRequest]):
    """The records in ``/nodepool/requests``, with the locks in ``/nodepool/requests-lock``."""

    ROOT = paths.REQUESTS
    LOCK_ROOT = paths.REQUEST_LOCKS
    KIND = NodeRequest

    def create(self, request: NodeRequest, *, priority: int = DEFAULT_PRIORITY, ephemeral: bool = False) -> None:
        """Store a new request; sets ``id``, ``version`` and, when it has none, ``event_id``.

        :param priority: 0 to 999; smaller numbers are served first.
        :param ephemeral: the request vanishes with this session.
        """
        request.event_id = request.event_id or uuid.uuid4().hex
        prefix = f"{self.ROOT}/{request_prefix(priority)}"
        path, stat = self._session.create(prefix, request.to_bytes(), sequence=True, parents=True, ephemeral=ephemeral)
        request.id = paths.split(path)[1]
        request.version = stat.version

    def lock(self, record_id: str) -> Held | None:
        """Take the request's lock without waiting; return None when it is held or the request is gone."""
        if self._session.tree.entry(self._path(record_id)) is None:
            return None
        return acquire(self._session, self._lock_path(record_id), parents=True)

    def created_at(self, record_id: str) -> float | None:
        """Return the time of the request's creation (UNIX seconds, ZooKeeper's clock); None when it is gone."""
        entry = self._session.tree.entry(self._path(record_id))
        return entry.stat.ctime / 1000.0 if entry is not None else None

    def lock_ids(self) -> list[str]:
        """Return, fresh, the ids of all requests that have a lock directory, including deleted requests."""
        return self._session.children(paths.REQUEST_LOCKS)

    def free_since(self, record_id: str) -> float | None:
        """Return, fresh, the creation time of the lock directory (UNIX seconds); None when it is gone or locked."""
        found = self._session.read(self._lock_path(record_id))
        return found[1].mtime / 1000.0 if found and not found[1].numChildren else None

    def delete_lock(self, record_id: str) -> None:
        """Delete the lock directory of a request that is gone, if it exists."""
        self._session.delete(self._lock_path(record_id))

    def _lock_path(self, record_id: str) -> str:
        return f"{paths.REQUEST_LOCKS}/{record_id}"
