# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sweep of one provider by hand: used by the thread that runs it, its calls are made by another."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...clients.openstack.client import CloudClient
from ...clients.zookeeper.locks import Held
from ...model.config.types import Provider
from ...model.errors import CloudError
from ...sweeping.candidate import Kind
from ...sweeping.find import find
from ...sweeping.judge import Judgement, Row, judge
from ..frame.tree_identity import confirm_tree
from ..frame.workers import WorkerSet
from ..launcher.context.context import Context
from ..launcher.context.sweep_memory import SweepMemory, expire_tombstones
from ..launcher.leaks.deletion_calls import CALLS, may_go
from ..launcher.leaks.reads import READS, seen_of
from ..launcher.leaks.view import known_to
from .options import SweepOptions

CALL_SECONDS = 90.0
"""Wall-clock bound of one call; above the client's own."""
LOCK_TRIES = 40
LOCK_PAUSE = 0.25


class ProviderSweep:
    """Look, judge, delete, save; each once per round.

    *errors*: kind → why it could not be looked at; *outcomes*: key → what went wrong with its deletion, or "", or None
    when the last look showed it in use.
    """

    def __init__(self, context: Context, options: SweepOptions, provider: Provider, client: CloudClient) -> None:
        self.name = provider.name
        self.workers = WorkerSet(provider.name, context.inbox, size=1, seconds=CALL_SECONDS)
        self.errors: dict[str, str] = {}
        self.outcomes: dict[str, str | None] = {}
        self._context = context
        self._options = options
        self._client = client
        self._held: Held | None = None
        self._left = 0
        self._found: dict[str, Any] = {}
        self._seen_at = 0.0
        self._judgement = Judgement()

    @property
    def busy(self) -> bool:
        """True while a call is under way."""
        return self._left > 0

    @property
    def blind(self) -> bool:
        """True when the servers could not be listed: then nothing can be said."""
        return Kind.SERVER in self.errors

    def lock(self, sleep: Callable[[float], None] = time.sleep) -> bool:
        """Take the right to sweep; False when somebody else does for long."""
        for _unused in range(LOCK_TRIES):
            self._held = self._memory().lock(self._context.store)
            if self._held is not None:
                return True
            sleep(LOCK_PAUSE)
        return False

    def close(self) -> None:
        """Let go of everything."""
        if self._held is not None:
            self._held.release()
        self.workers.close()
        self._client.close()

    def look(self) -> None:
        """Begin to read what is to be looked at; servers are always read."""
        self.errors, self.outcomes = {}, {}
        self._found.clear()
        wanted = [kind for kind in READS if kind in self._options.kinds or kind == Kind.SERVER]
        self._left = len(wanted)
        for kind in wanted:
            self._ask(kind)

    def _ask(self, kind: str) -> None:
        what, read = READS[kind]

        def answered(result: Any, error: CloudError | None) -> None:
            self._left -= 1
            if error is None:
                self._seen_at, self._found[kind] = result
            else:
                self.errors[kind] = str(error)

        clock = self._context.now
        self.workers.submit(what, lambda: (clock(), read(self._client)), answered)

    def judge(self) -> list[Row]:
        """What was found, with what is to be done about it."""
        kinds = [kind for kind in (*self._found, Kind.LAUNCH) if kind in self._options.kinds]
        known = known_to(self._context.store, self._context.site, self.name, claims=self._options.claims)
        candidates = [candidate for candidate in find(seen_of(self._found), known) if candidate.kind in kinds]
        self._judgement = judge(candidates, kinds, self._memory().sightings, self._options.rules, self._seen_at)
        return self._judgement.rows

    def delete(self) -> None:
        """Begin to delete what is due; the last look at each node is taken here."""
        if self._judgement.due:
            confirm_tree(self._context.store, self._context.site)
        for row in self._judgement.due:
            if not may_go(self._context.store, row.candidate):
                self.outcomes[row.candidate.key] = None
            elif row.candidate.kind == Kind.LAUNCH:
                self._context.add_tombstone(row.candidate.id, self.name)
                self._context.forget(row.candidate.id)
                self._judgement.sightings.pop(row.candidate.key)
                self.outcomes[row.candidate.key] = ""
            else:
                self._left += 1
                self._delete(row)

    def _delete(self, row: Row) -> None:
        candidate, sightings = row.candidate, self._judgement.sightings
        what, call = CALLS[candidate.kind]

        def answered(existed: bool | None, error: CloudError | None) -> None:
            self._left -= 1
            self.outcomes[candidate.key] = str(error) if error is not None else ""
            answer = str(error) if error is not None else "accepted, but still there"
            sightings[candidate.key] = sightings[candidate.key].attempt(self._context.now(), answer)

        self.workers.submit(what, lambda: call(self._client, candidate.id), answered, changes=True)

    def save(self) -> None:
        """Store what the next sweep must know."""
        if self.blind:
            return
        memory = self._memory()
        looked = {**memory.looked, **dict.fromkeys(self._found, self._seen_at)}
        SweepMemory(memory.path, self._judgement.sightings, looked).save(self._context.store)
        expire_tombstones(self._context.store, self.name, self._context.now())

    def _memory(self) -> SweepMemory:
        return SweepMemory.of_provider(self._context.store, self.name)
