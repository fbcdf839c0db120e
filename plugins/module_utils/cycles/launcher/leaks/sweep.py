# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeping as a step of the launcher cycle.

Servers come free of charge with the listing at hand; everything else is asked for rarely, one call after the other, by
the provider's threads. Only who acts for a provider sweeps it, and nobody else meanwhile.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any

from ....clients.zookeeper.locks import Held
from ....model.config.types import Provider
from ....model.errors import CloudError, CloudUnavailable
from ....model.lines import Trouble
from ....sweeping.candidate import Kind
from ....sweeping.find import find
from ....sweeping.judge import Judgement, Row, Rules, judge
from ...frame.tree_identity import confirm_tree
from ..context.context import Context
from ..context.sweep_memory import SweepMemory, expire_tombstones
from ..provider.actor import ProviderActor
from ..removals.removals import STUCK_AFTER, Removals
from .deletion_calls import CALLS, clear_znode, may_go
from .reads import READS, seen_of
from .tree_sweep import look_at_tree
from .view import known_to

EVERY = 60.0
"""Seconds between two looks at least."""
SUSPICIOUS = 120.0
"""A provider where something waits for its second sighting is looked at again, also when nothing else happens there."""
IDLE = 300.0
"""The same where nothing is suspicious."""
FLOATING_IPS_EVERY = 300.0
VOLUMES_EVERY = 1800.0
IMAGES_EVERY = 3600.0
TOMBSTONES_EVERY = 900.0
CLEARED_PER_PASS = 5
PATIENCE = 5.0
"""Seconds for which the end of a settled cycle waits for a look under way."""
TREE_RULES = Rules(most=200)


def intervals(provider: Provider) -> dict[str, float]:
    """Kind → seconds between two looks, for what has to be asked for; a kind that is switched off is absent."""
    found: dict[str, float] = {}
    if provider.port_cleanup_interval > 0:
        found[Kind.PORT] = max(EVERY, float(provider.port_cleanup_interval))
    if provider.clean_floating_ips:
        found[Kind.FLOATING_IP] = FLOATING_IPS_EVERY
    if any(label.boot_from_volume for pool in provider.pools.values() for label in pool.labels.values()):
        found[Kind.VOLUME] = VOLUMES_EVERY
    if provider.diskimages:
        found[Kind.IMAGE] = IMAGES_EVERY
    return found


@dataclass(eq=False)
class _Look:
    """A look at a provider under way: *left* are the kinds yet to be asked for, *found* what was answered."""

    actor: ProviderActor
    held: Held
    memory: SweepMemory
    began: float
    left: list[str]
    found: dict[str, Any] = field(default_factory=dict)
    asking: bool = False
    over: bool = False
    """An answer that cannot be done without did not come."""


class LeakSweep:
    """All sweeping of a cycle. *rules*: how careful to be."""

    def __init__(self, context: Context, removals: Removals, rules: Rules | None = None) -> None:
        self._context = context
        self._removals = removals
        self._rules = rules or Rules()
        self._looks: dict[str, _Look] = {}
        self._looked: dict[str, dict[str, float]] = {}
        self._suspicious: dict[str, bool] = {}
        self._stuck: dict[str, list[dict[str, Any]]] = {}
        self._tree_looked: float | None = None
        self._tree_held: Held | None = None
        self._clearing: deque[Row] = deque()
        self._expired_at: dict[str, float] = {}
        self._notes: list[tuple[str, str, str]] = []
        """(provider, key, answer) of deletions that failed, to be stored."""

    def step(self, now: float, *, tree: bool) -> None:
        """Begin what is due.

        :param tree: this cycle has the tree as a whole in its hands.
        """
        for name, look in list(self._looks.items()):
            if not look.asking:
                self._next(name, look)
        while self._notes:
            self._note(*self._notes.pop())
        for name, actor in self._context.actors.items():
            # By a list that lacks servers nothing is proven.
            if name not in self._looks and actor.blocked is None and not actor.missing:
                self._consider(name, actor, now)
            if now - self._expired_at.setdefault(name, now) >= TOMBSTONES_EVERY:
                self._expired_at[name] = now
                expire_tombstones(self._context.store, name, now)
        if self._clearing:
            self._clear(now)
        elif tree:
            self._consider_tree(now)

    def under_way(self, now: float) -> bool:
        """True while a look is not over that began a moment ago."""
        return bool(self._clearing) or any(now - look.began < PATIENCE for look in self._looks.values())

    def stuck(self) -> list[dict[str, Any]]:
        """Leaked things other than servers that do not go."""
        return [entry for entries in self._stuck.values() for entry in entries]

    def drop(self) -> None:
        """The session is lost or the cycle ends."""
        for look in self._looks.values():
            look.held.release()
        if self._tree_held is not None:
            self._tree_held.release()
        self._looks.clear()
        self._looked.clear()
        self._notes.clear()
        self._clearing.clear()
        self._tree_held = None
        self._tree_looked = None

    # -- when ----------------------------------------------------------------------------------------------------

    def _consider(self, name: str, actor: ProviderActor, now: float) -> None:
        looked = self._looked.get(name)
        if looked is None:
            looked = self._looked[name] = self._first_look(name, actor.provider, now)
        since = now - looked.get(Kind.SERVER, 0.0)
        if since < EVERY:
            return
        due = [kind for kind, seconds in intervals(actor.provider).items() if now - looked.get(kind, 0.0) >= seconds]
        fresh = actor.listed_from - looked.get(Kind.SERVER, 0.0) >= EVERY
        if fresh or due or since >= (SUSPICIOUS if self._suspicious.get(name) else IDLE):
            self._begin(name, actor, due, now)

    def _first_look(self, name: str, provider: Provider, now: float) -> dict[str, float]:
        """When each kind was looked at last, by whomever; what never was counts from now on."""
        memory = SweepMemory.of_provider(self._context.store, name)
        self._suspicious[name] = bool(memory.sightings)
        kinds = (Kind.SERVER, *intervals(provider))
        # A look in the future was noted by a clock that was ahead: nobody knows when it was.
        memory.looked = {kind: moment for kind, moment in memory.looked.items() if moment <= now}
        if not all(kind in memory.looked for kind in kinds):
            memory.looked = {**dict.fromkeys(kinds, now), **memory.looked}
            memory.save(self._context.store)
        return dict(memory.looked)

    def _begin(self, name: str, actor: ProviderActor, due: list[str], now: float) -> None:
        store = self._context.store
        held = SweepMemory.of_provider(store, name).lock(store)
        if held is None:
            return
        look = self._looks[name] = _Look(actor, held, SweepMemory.of_provider(store, name), now, [*due])
        if actor.listed_from > 0 and now - actor.listed_from < EVERY:
            look.found[Kind.SERVER] = (actor.listed_from, actor.servers)
        else:
            # The last: whatever was asked for before it belongs to servers that it shows.
            look.left.append(Kind.SERVER)
        self._next(name, look)

    # -- looking -------------------------------------------------------------------------------------------------

    def _next(self, name: str, look: _Look) -> None:
        """Ask for one kind more, or come to the end."""
        if look.over or not look.left:
            try:
                if not look.over and look.held.valid:
                    self._decide(name, look)
            finally:
                self._end(name, look)
            return
        kind = look.left.pop(0)
        what, read = READS[kind]
        client, clock = look.actor.client, self._context.now

        def answered(result: Any, error: CloudError | None) -> None:
            look.asking = False
            if error is None:
                look.found[kind] = result
                if kind == Kind.SERVER:
                    look.actor.take_list(result[1], result[0])
                    look.over = bool(look.actor.missing)
                return
            self._context.account.say(Trouble(f"sweeping {name}: {error}"))
            look.over = isinstance(error, CloudUnavailable) or kind == Kind.SERVER
            if name in self._looked:
                self._looked[name][kind] = clock()

        look.asking = True
        # Not by the actor's own way: that neutron or cinder are ill must not keep nova from being used.
        look.actor.workers.submit(what, lambda: (clock(), read(client)), answered)

    def _end(self, name: str, look: _Look) -> None:
        self._looks.pop(name, None)
        if name in self._looked:
            self._looked[name][Kind.SERVER] = self._context.now()
        look.held.release()

    # -- deciding and doing --------------------------------------------------------------------------------------

    def _decide(self, name: str, look: _Look) -> None:
        store, memory = self._context.store, look.memory
        seen_at: float = look.found[Kind.SERVER][0]
        values: dict[str, Any] = {kind: result for kind, (_unused, result) in look.found.items()}
        kinds = [*values, Kind.LAUNCH]
        known = known_to(store, self._context.site, name)
        candidates = [candidate for candidate in find(seen_of(values), known) if candidate.id not in self._removals]
        judgement = judge(candidates, kinds, memory.sightings, self._rules, seen_at)
        self._context.account.sweeps.look(name, kinds, judgement.rows)
        self._suspicious[name] = judgement.pending
        self._stuck[name] = _stuck(name, judgement)
        self._looked[name].update({kind: seen_at if kind == Kind.SERVER else look.began for kind in values})
        if judgement.due:
            confirm_tree(store, self._context.site)
        for row in judgement.due:
            if may_go(store, row.candidate):
                self._delete(name, look.actor, row, judgement)
        if judgement.sightings != memory.sightings or set(values) - {Kind.SERVER}:
            SweepMemory(memory.path, judgement.sightings, {**memory.looked, **self._looked[name]}).save(store)

    def _delete(self, name: str, actor: ProviderActor, row: Row, judgement: Judgement) -> None:
        candidate, account, now = row.candidate, self._context.account, self._context.now()
        if candidate.kind == Kind.LAUNCH:
            self._context.add_tombstone(candidate.id, name)
            self._context.forget(candidate.id)
            account.sweeps.deleted(name, candidate.kind)
            del judgement.sightings[candidate.key]
            return
        account.say(f"{name}: {candidate.kind} {candidate.id} leaked: {candidate.text}")
        if candidate.kind == Kind.SERVER:
            self._removals.start(
                candidate.id,
                actor,
                candidate.id,
                None,
                lambda: account.sweeps.deleted(name, Kind.SERVER),
                candidate.node_id,
            )
            return
        # Noted before the call: if it stays all the same, the next tries come at growing distances.
        judgement.sightings[candidate.key] = judgement.sightings[candidate.key].attempt(
            now, "accepted, but still there"
        )
        what, call = CALLS[candidate.kind]

        def answered(existed: bool | None, error: CloudError | None) -> None:
            if error is None:
                account.sweeps.deleted(name, candidate.kind)
            else:
                account.sweeps.failed(name, candidate.kind)
                account.say(Trouble(f"{name}: {candidate.kind} {candidate.id} could not be deleted: {error}"))
                self._notes.append((name, candidate.key, str(error)))

        actor.workers.submit(what, lambda: call(actor.client, candidate.id), answered, changes=True)

    def _note(self, name: str, key: str, answer: str) -> None:
        store = self._context.store
        memory = SweepMemory.of_provider(store, name)
        sighting = memory.sightings.get(key)
        if sighting is not None:
            memory.sightings[key] = replace(sighting, answer=answer)
            memory.save(store)

    # -- the tree ------------------------------------------------------------------------------------------------

    def _consider_tree(self, now: float) -> None:
        store = self._context.store
        if self._tree_looked is None:
            self._tree_looked = SweepMemory.of_tree(store).looked.get("tree")
            if self._tree_looked is None or self._tree_looked > now:
                self._tree_looked = now
                SweepMemory(SweepMemory.of_tree(store).path, {}, {"tree": now}).save(store)
        if now - self._tree_looked < EVERY:
            return
        self._tree_looked = now
        memory = SweepMemory.of_tree(store)
        self._tree_held = memory.lock(store)
        if self._tree_held is None:
            return
        judgement = look_at_tree(store, Kind.TREE, TREE_RULES, now)
        if judgement.due:
            confirm_tree(store, self._context.site)
        self._context.account.sweeps.look("", Kind.TREE, judgement.rows)
        self._clearing.extend(judgement.due)
        if judgement.sightings != memory.sightings:
            # What is cleared is not found by the next look and forgotten then.
            SweepMemory(memory.path, judgement.sightings, {"tree": now}).save(store)
        self._clear(now)

    def _clear(self, now: float) -> None:
        """A few at a time: each costs round trips in the cycle's own thread."""
        for _unused in range(min(CLEARED_PER_PASS, len(self._clearing))):
            candidate = self._clearing.popleft().candidate
            if (
                self._tree_held is not None
                and self._tree_held.valid
                and clear_znode(self._context.store, candidate, now)
            ):
                self._context.account.sweeps.deleted("", candidate.kind)
                self._context.account.say(f"{candidate.kind} {candidate.id} removed: {candidate.text}")
        if self._clearing:
            self._context.inbox.nudge()
        elif self._tree_held is not None:
            self._tree_held.release()
            self._tree_held = None


def _stuck(provider: str, judgement: Judgement) -> list[dict[str, Any]]:
    return [
        {
            "provider": provider,
            "kind": key.partition("/")[0],
            "id": key.partition("/")[2],
            "since": sighting.first,
            "tries": sighting.tries,
            "answer": sighting.answer,
        }
        for key, sighting in judgement.sightings.items()
        if sighting.tries >= STUCK_AFTER
    ]
