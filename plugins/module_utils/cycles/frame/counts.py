# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counters of a cycle, and how they are stored for the next cycle."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ...clients.statsd import Sink
from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...model.counters import API_CALLS, Counters
from ...model.errors import StoreError
from ...model.lines import Trouble
from ...model.own_tree import COUNTERS
from ...model.stored import BadDocument

EVERY = 10.0
"""Minimum seconds between two writes. A cycle that is killed loses the counts of this time."""
KEEP = 30 * 86400.0
"""Seconds after which the document of a host that no longer writes is added to another document: sums never fall."""
MOST_DOCUMENTS = 40
"""Largest number of documents in a tree; the oldest are added to another one. Each container has a new host name."""
MOST_AT_ONCE = 20
"""Largest number of documents that one cycle takes over."""
TOKENS = 8
"""Number of recent writes that a document names. A writer whose answer was lost sees from it whether it has written."""

Calls = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Calls of APIs since the beginning of the cycle: provider → kind (``POST /servers``) → status → count."""


class _Nowhere:
    """A sink that drops all metrics."""

    def incr(self, name: str, count: int = 1) -> None:
        """Drop it."""

    def gauge(self, name: str, value: float) -> None:
        """Drop it."""

    def timing(self, name: str, seconds: float) -> None:
        """Drop it."""


class CycleCounts:
    """The counters of a running cycle. Used by the cycle's own thread only.

    :ivar sink: sends metrics to statsd at once.
    :ivar counters: the counts that are not stored yet.
    """

    def __init__(self, sink: Sink | None = None) -> None:
        self.sink: Sink = sink or _Nowhere()
        self.counters = Counters()
        self._calls: dict[tuple[str, str, str], int] = {}

    def calls(self, calls: Calls) -> None:
        """Count the calls of APIs since the previous call of this method. The clients report them to statsd."""
        for provider, kinds in calls.items():
            for kind, counts in kinds.items():
                method, _space, resource = kind.partition(" ")
                for status, count in counts.items():
                    key = (provider, kind, status)
                    self.counters.add(
                        API_CALLS, provider, method, resource, status, amount=count - self._calls.get(key, 0)
                    )
                    self._calls[key] = count

    def take(self) -> Counters:
        """Return the counts that are not stored yet, and begin again at zero."""
        taken, self.counters = self.counters, Counters()
        return taken


class KeptCounters:
    """Adds the counts of a cycle to the stored counters of this host and kind of cycle.

    Several cycles may share a document: each adds its counts to the stored ones, and a write fails when another cycle
    has written in between.

    :param kind: ``launcher``, ``builds``, ``uploads`` or ``sweep``.
    :param say: takes lines for the operator.
    :param host: the name of this host.
    """

    def __init__(
        self, store: Store, kind: str, cycle_counts: CycleCounts, say: Callable[[str], None], *, host: str | None = None
    ) -> None:
        self._own = store.own
        self._cycle_counts = cycle_counts
        self._say = say
        self._kind = kind
        self._host = host or socket.gethostname()
        self._path = f"{COUNTERS}/{paths.segment(self._host)}-{kind}"
        self._due = 0.0
        self._unsure: tuple[str, Counters] | None = None
        """Token and content of a write whose answer was lost."""
        self._ended: float | None = None
        self._cleared = False
        self._abandoned = False

    def step(self, now: float, calls: Callable[[], Calls] = dict) -> None:
        """Store the counts if a write is due. A ZooKeeper error does not fail the cycle: a later call tries again.

        :param calls: the calls of APIs since the beginning of the cycle.
        """
        if now >= self._due and not self._abandoned:
            self._due = now + EVERY
            self._cycle_counts.calls(calls())
            self._store(now)

    def flush(self, now: float, calls: Callable[[], Calls] = dict) -> None:
        """Store all counts at once; call it before work that may take long."""
        self._due = 0.0
        if self._unsure is not None:
            self.step(now)  # the write whose answer was lost; the next write has all other counts
        self._due = 0.0
        self.step(now, calls)

    def end(self, now: float, calls: Callable[[], Calls] = dict) -> None:
        """Store all counts, and that the cycle has ended."""
        self._ended = now
        self.flush(now, calls)

    def abandon(self) -> None:
        """Write nothing from now on, as another tree has replaced the one that the cycle began with."""
        self._abandoned = True

    def _store(self, now: float) -> None:
        if self._unsure is None and self._cycle_counts.counters.empty and self._ended is None:
            return
        token, content = self._unsure or (uuid.uuid4().hex[:12], self._cycle_counts.take())
        self._unsure = token, content
        try:
            self._own.change(self._path, lambda before: self._added(before, token, content))
            self._unsure = None
            self._clear(now)
        except StoreError:
            return

    def _added(self, before: Mapping[str, Any] | None, token: str, content: Counters) -> dict[str, Any]:
        """Return the document with *content* added; its counters stay as they are if it already names *token*."""
        total, tokens = self._understood(before)
        if token not in tokens:
            total.merge(content)
            tokens = [*tokens, token][-TOKENS:]
        stored = (before or {}).get("counters")
        unknown = (
            {key: value for key, value in stored.items() if key not in total.series} if isinstance(stored, dict) else {}
        )
        counters = {**unknown, **total.document()}
        ended = self._ended or (before or {}).get("ended")
        return {"host": self._host, "cycle": self._kind, "ended": ended, "writes": tokens, "counters": counters}

    def _understood(self, before: Mapping[str, Any] | None) -> tuple[Counters, list[str]]:
        if before is None:
            return Counters(), []
        try:
            tokens = before.get("writes")
            return counters_of(before), [str(token) for token in tokens] if isinstance(tokens, list) else []
        except BadDocument as problem:
            path = paths.own(self._path)
            self._say(Trouble(f"{path} cannot be used: {problem}; the counters of this host restart at 0"))
            return Counters(), []

    def _clear(self, now: float) -> None:
        """Take over the counters of hosts that no longer write, and the oldest if there are too many; do it once."""
        if self._cleared:
            return
        self._cleared = True
        places = [f"{COUNTERS}/{name}" for name in self._own.children(COUNTERS)]
        by_age = sorted((self._own.written(place) or now, place) for place in places if place != self._path)
        surplus = len(places) - MOST_DOCUMENTS
        for number, (written, place) in enumerate(by_age[:MOST_AT_ONCE]):
            if number < surplus or now - written > KEEP:
                self._own.absorb(self._path, place, self._with)

    def _with(self, mine: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return this host's document with the counters of *other* added, if *other* is valid."""
        try:
            gone = counters_of(other or {})
        except BadDocument:
            gone = Counters()
        return self._added(mine, uuid.uuid4().hex[:12], gone)


def counters_of(document: Mapping[str, Any]) -> Counters:
    """Return the counters in a stored document.

    :raises BadDocument: the document has no valid counters.
    """
    stored = document.get("counters")
    if not isinstance(stored, Mapping):
        raise BadDocument("'counters' is not an object")
    return Counters.from_document(stored)
