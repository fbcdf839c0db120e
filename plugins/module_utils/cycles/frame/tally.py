# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a cycle counts, and how it hands its counters on to the next cycle."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ...clients.statsd import Sink
from ...clients.zookeeper import paths
from ...clients.zookeeper.store import Store
from ...model.counters import API_CALLS, Counters
from ...model.errors import StoreError
from ...model.lines import Trouble
from ...model.stored import BadDocument

COUNTERS = "counters"
"""The folder of the documents below our subtree; there is one for each host and kind of cycle."""
EVERY = 10.0
"""Seconds between two writes at least. A cycle that is killed loses what it has counted in this time."""
KEEP = 30 * 86400.0
"""Seconds after which the document of a host that counts no more is added to that of another one: sums never fall."""
MOST_DOCUMENTS = 40
"""Documents in a tree; the oldest ones are added to others. Cycles in containers have another host name each time."""
MOST_AT_ONCE = 20
"""Documents that a cycle takes over."""
TOKENS = 8
"""Writes that a document names, so that a writer whose answer was lost knows whether it has written."""

Calls = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Calls of APIs since the beginning of the cycle: provider → kind (``POST /servers``) → status → count."""


class _Nowhere:
    """Drops what it is told."""

    def incr(self, name: str, count: int = 1) -> None:
        """Drop it."""

    def gauge(self, name: str, value: float) -> None:
        """Drop it."""

    def timing(self, name: str, seconds: float) -> None:
        """Drop it."""


class Tally:
    """Takes what a cycle counts. Used by the cycle's own thread only.

    :ivar sink: sends it to statsd at once.
    :ivar counters: what was counted and is not stored yet.
    """

    def __init__(self, sink: Sink | None = None) -> None:
        self.sink: Sink = sink or _Nowhere()
        self.counters = Counters()
        self._calls: dict[tuple[str, str, str], int] = {}

    def calls(self, calls: Calls) -> None:
        """Count the calls of APIs that came since this was called last. statsd hears of them from the clients."""
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
        """What is not stored yet; the tally begins anew."""
        taken, self.counters = self.counters, Counters()
        return taken


class KeptCounters:
    """Adds what a tally has counted to the stored counters of this host and kind of cycle.

    Several cycles may share a document: what they add is added to what is stored, and a write fails when another came
    in between.

    :param kind: ``launcher``, ``builds``, ``uploads`` or ``sweep``.
    :param say: takes lines for people.
    :param host: the name of this host.
    """

    def __init__(
        self, store: Store, kind: str, tally: Tally, say: Callable[[str], None], *, host: str | None = None
    ) -> None:
        self._own = store.own
        self._tally = tally
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
        """Store what was counted, if it is time. An error of ZooKeeper is no error of the cycle: it is tried again.

        :param calls: the calls of APIs since the beginning of the cycle.
        """
        if now >= self._due and not self._abandoned:
            self._due = now + EVERY
            self._tally.calls(calls())
            self._store(now)

    def flush(self, now: float, calls: Callable[[], Calls] = dict) -> None:
        """Store all that was counted at once: what follows may take long."""
        self._due = 0.0
        if self._unsure is not None:
            self.step(now)  # the write in doubt; the next one has all the rest
        self._due = 0.0
        self.step(now, calls)

    def end(self, now: float, calls: Callable[[], Calls] = dict) -> None:
        """Store all that was counted, and that the cycle has ended."""
        self._ended = now
        self.flush(now, calls)

    def abandon(self) -> None:
        """Another tree is in the place of the one that the cycle began with: write nothing."""
        self._abandoned = True

    def _store(self, now: float) -> None:
        if self._unsure is None and self._tally.counters.empty and self._ended is None:
            return
        token, content = self._unsure or (uuid.uuid4().hex[:12], self._tally.take())
        self._unsure = token, content
        try:
            self._own.change(self._path, lambda before: self._added(before, token, content))
            self._unsure = None
            self._clear(now)
        except StoreError:
            return

    def _added(self, before: Mapping[str, Any] | None, token: str, content: Counters) -> dict[str, Any]:
        """The document with what is new; as it was when that write is among those that it names."""
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
            self._say(Trouble(f"{path} cannot be used: {problem}; the counters of this host begin again at 0"))
            return Counters(), []

    def _clear(self, now: float) -> None:
        """Once: take over the counters of hosts that count no more, and the oldest where there are too many."""
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
        """This host's document with the counters of *other*, if they can be used."""
        try:
            gone = counters_of(other or {})
        except BadDocument:
            gone = Counters()
        return self._added(mine, uuid.uuid4().hex[:12], gone)


def counters_of(document: Mapping[str, Any]) -> Counters:
    """The counters in a stored document.

    :raises BadDocument: it is something else.
    """
    stored = document.get("counters")
    if not isinstance(stored, Mapping):
        raise BadDocument("'counters' is not an object")
    return Counters.from_document(stored)
