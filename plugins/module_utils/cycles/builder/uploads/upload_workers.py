# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The threads of the uploads cycle: each provider has separate threads, so that one that hangs stops no other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from ...frame.inbox import Inbox

R = TypeVar("R")
Key = tuple[str, str]

UPLOAD = "upload"
DELETION = "deletion"
CHECK = "check"
TEST = "test"
"""An upload that waits for its gate; any number of them."""

_LOG = logging.getLogger(__name__)


class UploadWorkers:
    """Runs work in threads, one for each (build id, provider); the cycle's thread gets the results.

    :param width: kind of work → how many threads one provider may have for it at the same time.
    """

    def __init__(self, inbox: Inbox, width: dict[str, int]) -> None:
        self._inbox = inbox
        self._width = width
        self._lock = threading.Lock()
        self._busy: dict[Key, str] = {}

    @property
    def keys(self) -> frozenset[Key]:
        """The keys of all work under way."""
        with self._lock:
            return frozenset(self._busy)

    def busy(self, kind: str) -> frozenset[Key]:
        """Return the keys of the work of one kind under way."""
        with self._lock:
            return frozenset(key for key, name in self._busy.items() if name == kind)

    def has_room(self, kind: str, provider: str) -> bool:
        """Return True if the provider may have one more thread for this kind."""
        with self._lock:
            running = sum(name == kind for key, name in self._busy.items() if key[1] == provider)
        return running < self._width[kind]

    def become(self, key: Key, kind: str) -> None:
        """Count work under way as another kind from now on."""
        with self._lock:
            if key in self._busy:
                self._busy[key] = kind

    def start(self, kind: str, key: Key, work: Callable[[], R], take: Callable[[R | Exception], None]) -> None:
        """Run *work* in a thread; *take* gets its result, or the exception that it should not have raised."""
        with self._lock:
            self._busy[key] = kind
        name = f"{kind} {key[1]}"
        threading.Thread(target=self._run, args=(key, work, take), name=name, daemon=True).start()

    def _run(self, key: Key, work: Callable[[], R], take: Callable[[R | Exception], None]) -> None:
        outcome: R | Exception
        try:
            outcome = work()
        except Exception as problem:
            _LOG.exception("work for %s", key)
            outcome = problem

        def hand_over() -> None:
            with self._lock:
                self._busy.pop(key, None)
            take(outcome)

        self._inbox.post(hand_over)
