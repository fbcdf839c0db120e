# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which events are only the echo of our own writes: what those wrote is known from their answers, nothing is read."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterable

SEQUENCE_DIGITS = 10


class Awaited:
    """The events that one request of ours will cause, all of which come before its answer."""

    __slots__ = ("heard", "keys")

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.heard: list[str] = []


class OwnWrites:
    """The requests without an answer. Threads that send write it, and the thread that takes answers and events.

    Each change causes one event, and the event does not say which client made it. So an event is taken for ours while
    one of ours is due for that path; if another client has written the same znode, one event is left over in the end,
    and that one is acted on. An event that was taken for ours by mistake shows when the answer comes: see
    :meth:`answered`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due: dict[str, deque[Awaited]] = {}

    def expect(self, keys: Iterable[str]) -> Awaited:
        """A request is about to be sent.

        :param keys: the paths that it writes; of a sequence znode the path without its number.
        """
        awaited = Awaited(tuple(keys))
        with self._lock:
            for key in awaited.keys:
                self._due.setdefault(key, deque()).append(awaited)
        return awaited

    def is_ours(self, path: str) -> bool:
        """True when the event that has just come for *path* is most likely the echo of a write of ours."""
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
        """The answer is there, and *written* is what the request has changed.

        :return: paths of events that were taken for its echo and were caused by another client.
        """
        with self._lock:
            for key in awaited.keys:
                due = self._due.get(key)
                if due and awaited in due:
                    due.remove(awaited)
                    if not due:
                        del self._due[key]
        return [path for path in awaited.heard if path not in written]
