# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recognition of the events that this session's own writes cause: their content is known, so nothing is read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable

SEQUENCE_DIGITS = 10


class Awaited:
    """The events that one request of this session will cause, all of which come before its answer."""

    __slots__ = ("heard", "keys")

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.heard: list[str] = []


class OwnWrites:
    """The write requests of this session that have no answer yet. Thread-safe.

    Each change causes one event, and the event does not say which client made the change. So an event counts as this
    session's own while the session expects one for that path. If another client has written the same znode, one event
    is left over in the end and causes a read. An event that was counted as own by mistake is found when the answer
    comes: see :meth:`answered`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[str, deque[Awaited]] = {}

    def expect(self, keys: Iterable[str]) -> Awaited:
        """Note a request that is about to be sent.

        :param keys: the paths that it writes; for a sequence znode, the path without its number.
        """
        awaited = Awaited(tuple(keys))
        with self._lock:
            for key in awaited.keys:
                self._due.setdefault(key, deque()).append(awaited)
        return awaited

    def is_ours(self, path: str) -> bool:
        """Return True when the present event for *path* is most likely caused by a write of this session."""
        with self._lock:
            for key in (path, path[:-SEQUENCE_DIGITS]):
                due = self._due.get(key)
                if due:
                    due.popleft().heard.append(path)
                    if not due:
                        del self._due[key]
                    return True
        return False

    def answered(self, awaited: Awaited, written: Collection[str]) -> list[str]:
        """Note that the answer to a request has come.

        :param written: the paths that the request has changed.
        :return: paths of events that were counted as caused by the request, but were caused by another client.
        """
        with self._lock:
            for key in awaited.keys:
                due = self._due.get(key)
                if due and awaited in due:
                    due.remove(awaited)
                    if not due:
                        del self._due[key]
        return [path for path in awaited.heard if path not in written]
