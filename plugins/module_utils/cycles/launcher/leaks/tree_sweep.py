# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One sweep of the tree, for a launcher cycle and for a sweep by hand: it removes leaked records from ZooKeeper."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import replace
from typing import Self

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.errors import StoreError
from ....model.lines import Trouble
from ....sweeping.candidate import Kind, LeakCandidate
from ....sweeping.find_in_tree import find_in_tree
from ....sweeping.judge import Judgement, Rules, judge
from ...frame.tree_identity import confirm_tree
from ..context.context import Context
from ..context.sweep_memory import SweepMemory
from .calls import clear_znode
from .tree_view import tree_view


def look_at_tree(store: Store, kinds: Collection[str], rules: Rules, now: float) -> Judgement:
    """Judge the records in the tree that have no owner. Writes nothing."""
    chosen = [kind for kind in Kind.TREE if kind in kinds]
    candidates = [candidate for candidate in find_in_tree(tree_view(store, now), now) if candidate.kind in chosen]
    return judge(candidates, chosen, SweepMemory.of_tree(store).sightings, rules, now)


class TreeSweep:
    """A sweep that has the lock of the tree's sightings until :meth:`close`.

    *outcomes*: key → the error of its removal, "" if it was removed, None if it has an owner after all.
    """

    def __init__(self, context: Context, held: Held, judgement: Judgement) -> None:
        self.judgement = judgement
        self.outcomes: dict[str, str | None] = {}
        self._context = context
        self._held = held
        self._due = deque(row.candidate for row in judgement.due)
        self._stored = SweepMemory.of_tree(context.store).sightings

    @classmethod
    def begin(cls, context: Context, kinds: Collection[str], rules: Rules, now: float) -> Self | None:
        """Judge the tree and store the sightings; return None if another sweep has the lock."""
        store = context.store
        held = SweepMemory.of_tree(store).lock(store)
        if held is None:
            return None
        try:
            sweep = cls(context, held, look_at_tree(store, kinds, rules, now))
            if sweep._due:
                confirm_tree(store, context.site)
            context.account.sweeps.found("", [kind for kind in Kind.TREE if kind in kinds], sweep.judgement.rows)
            sweep._save(now)
        except BaseException:
            held.release()
            raise
        return sweep

    def clear(self, now: float, most: int) -> bool:
        """Remove up to *most* records that are due, each with one or more round trips; return True if some are left."""
        for _unused in range(min(most, len(self._due))):
            candidate = self._due.popleft()
            if self._held.valid:
                self.outcomes[candidate.key] = self._clear(candidate, now)
        if not self._due and self._held.valid:
            self._save(now)
        return bool(self._due)

    def _clear(self, candidate: LeakCandidate, now: float) -> str | None:
        store, account, sightings = self._context.store, self._context.account, self.judgement.sightings
        try:
            if not clear_znode(store, candidate, now):
                return None
        except StoreError as problem:
            if store.state != "connected":
                raise
            sightings[candidate.key] = sightings[candidate.key].attempt(now, str(problem))
            account.sweeps.failed("", candidate.kind)
            account.say(Trouble(f"{candidate.kind} {candidate.id} could not be removed: {problem}"))
            return str(problem)
        del sightings[candidate.key]
        account.sweeps.deleted("", candidate.kind)
        account.say(f"{candidate.kind} {candidate.id} removed: {candidate.text}")
        return ""

    def _save(self, now: float) -> None:
        sightings = dict(self.judgement.sightings)
        if sightings != self._stored:
            replace(SweepMemory.of_tree(self._context.store), sightings=sightings, looked={"tree": now}).save(
                self._context.store
            )
            self._stored = sightings

    def close(self) -> None:
        """Release the lock."""
        self._held.release()
