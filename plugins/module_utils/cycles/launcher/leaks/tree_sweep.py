# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One look at the tree: what was left behind in ZooKeeper, judged and cleared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ....clients.zookeeper.store import Store
from ....model.errors import StoreError
from ....sweeping.candidate import Kind
from ....sweeping.judge import Judgement, Rules, judge
from ....sweeping.tree import find_in_tree
from ..context.sweep_memory import SweepMemory
from .deletion_calls import clear_znode
from .view import tree_view


@dataclass
class TreeSweep:
    """What came of it. *outcomes*: key → what went wrong with its removal, or "", or None when it was somebody's."""

    judgement: Judgement
    outcomes: dict[str, str | None] = field(default_factory=dict)


def look_at_tree(store: Store, kinds: tuple[str, ...], rules: Rules, now: float) -> Judgement:
    """What would be cleared now. Writes nothing."""
    chosen = [kind for kind in Kind.TREE if kind in kinds]
    candidates = [candidate for candidate in find_in_tree(tree_view(store, now), now) if candidate.kind in chosen]
    return judge(candidates, chosen, SweepMemory.of_tree(store).sightings, rules, now)


def sweep_tree(store: Store, kinds: tuple[str, ...], rules: Rules, now: float) -> TreeSweep | None:
    """Look and clear what may go; None while somebody else does it."""
    memory = SweepMemory.of_tree(store)
    held = memory.lock(store)
    if held is None:
        return None
    try:
        memory = SweepMemory.of_tree(store)
        result = TreeSweep(look_at_tree(store, kinds, rules, now))
        for row in result.judgement.due:
            try:
                result.outcomes[row.candidate.key] = "" if clear_znode(store, row.candidate, now) else None
            except StoreError as problem:
                if store.state != "connected":
                    raise
                result.outcomes[row.candidate.key] = str(problem)
                sighting = result.judgement.sightings[row.candidate.key]
                result.judgement.sightings[row.candidate.key] = sighting.attempt(now, str(problem))
        left = {key: item for key, item in result.judgement.sightings.items() if result.outcomes.get(key) != ""}
        if left != memory.sightings:
            replace(memory, sightings=left).save(store)
        return result
    finally:
        held.release()
