# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeping as a step of the launcher cycle: when a provider and the tree are swept.

For servers, a sweep uses the list that the launcher reads anyway. All other kinds are read rarely, one call after the
other, by the provider's threads. Only the launcher that acts for a provider sweeps it, under the lock of its sightings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ....clients.zookeeper.locks import Held
from ....model.config.types import Provider
from ....model.lines import Line
from ....sweeping.candidate import Kind, LeakCandidate
from ....sweeping.judge import STUCK_AFTER, Judgement, Rules
from ..context.context import Context
from ..context.sweep_memory import SweepMemory, expire_tombstones
from ..provider.actor import ProviderActor
from ..provider.server_list import Listing
from ..removals.removals import Removals
from .provider_sweep import ProviderSweep
from .tree_sweep import TreeSweep

EVERY = 60.0
"""Minimum seconds between two sweeps."""
SUSPICIOUS = 120.0
"""Seconds after which a provider is swept again although no new list of servers was read, if a suspected leak waits for
its second sighting."""
IDLE = 300.0
"""The same in seconds, if there is no suspected leak."""
FLOATING_IPS_EVERY = 300.0
VOLUMES_EVERY = 1800.0
IMAGES_EVERY = 3600.0
CLEARED_PER_PASS = 5
PATIENCE = 5.0
"""Seconds for which the end of a settled cycle waits for a sweep under way."""
TREE_RULES = Rules(most=200)


def intervals(provider: Provider) -> dict[str, float]:
    """Return kind → seconds between two reads, for kinds that need their own call; a disabled kind is absent."""
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
class _Running:
    """The sweep of a provider, from its first call to its last answer."""

    actor: ProviderActor
    sweep: ProviderSweep
    held: Held
    began: float
    judged: bool = False


class LeakSweep:
    """All sweeps of a cycle."""

    def __init__(self, context: Context, removals: Removals) -> None:
        self._context = context
        self._removals = removals
        self._running: dict[str, _Running] = {}
        self._looked: dict[str, dict[str, float]] = {}
        self._suspicious: dict[str, bool] = {}
        self._stuck: dict[str, list[dict[str, Any]]] = {}
        self._tree: TreeSweep | None = None
        self._tree_looked: float | None = None

    def step(self, now: float, *, tree: bool) -> None:
        """Continue the sweeps under way, and begin those that are due.

        :param tree: True if this cycle also sweeps the tree.
        """
        for name, running in list(self._running.items()):
            self._proceed(name, running, now)
        for name, actor in self._context.actors.items():
            # A list that lacks servers proves nothing.
            if name not in self._running and actor.blocked is None and not actor.view.missing:
                self._consider(name, actor, now)
        if self._tree is not None:
            self._clear(self._tree, now)
        elif tree:
            self._consider_tree(now)

    def under_way(self, now: float) -> bool:
        """Return True while the tree is being swept, or a provider by a sweep that began less than PATIENCE ago."""
        return self._tree is not None or any(now - running.began < PATIENCE for running in self._running.values())

    def stuck(self) -> list[dict[str, Any]]:
        """Return the leaked things, other than servers, whose deletion is stuck."""
        return [entry for entries in self._stuck.values() for entry in entries]

    def drop_provider(self, name: str) -> None:
        """Forget the sweep of a provider that moves to another host."""
        running = self._running.pop(name, None)
        if running is not None:
            running.held.release()
        self._looked.pop(name, None)
        self._stuck.pop(name, None)

    def drop(self) -> None:
        """Forget all sweeps and release their locks, as the session is lost or the cycle ends."""
        for running in self._running.values():
            running.held.release()
        if self._tree is not None:
            self._tree.close()
        self._running.clear()
        self._looked.clear()
        self._tree = None
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
        fresh = actor.view.listed_from - looked.get(Kind.SERVER, 0.0) >= EVERY
        if fresh or due or since >= (SUSPICIOUS if self._suspicious.get(name) else IDLE):
            self._begin(name, actor, due, now)

    def _first_look(self, name: str, provider: Provider, now: float) -> dict[str, float]:
        """Return when each kind was last read, by any sweep; for a kind that never was, the interval begins now."""
        memory = SweepMemory.of_provider(self._context.store, name)
        self._suspicious[name] = bool(memory.sightings)
        kinds = (Kind.SERVER, *intervals(provider))
        # A time in the future was written by a clock that was ahead: the real time is unknown.
        memory.looked = {kind: moment for kind, moment in memory.looked.items() if moment <= now}
        if not all(kind in memory.looked for kind in kinds):
            memory.looked = {**dict.fromkeys(kinds, now), **memory.looked}
            memory.save(self._context.store)
        return dict(memory.looked)

    # -- one provider --------------------------------------------------------------------------------------------

    def _begin(self, name: str, actor: ProviderActor, due: list[str], now: float) -> None:
        store = self._context.store
        held = SweepMemory.of_provider(store, name).lock(store)
        if held is None:
            return
        sweep = ProviderSweep(
            context=self._context,
            name=name,
            client=actor.client,
            workers=actor.workers,
            rules=Rules(),
            spared=self._removals.__contains__,
            remove_server=partial(self._remove_server, actor),
        )
        running = self._running[name] = _Running(actor, sweep, held, now)
        if actor.view.listed_from > 0 and now - actor.view.listed_from < EVERY:
            sweep.shown[Kind.SERVER] = (actor.view.listed_from, actor.view.servers)
        else:
            due = [*due, Kind.SERVER]
        sweep.read(due)
        self._proceed(name, running, now)

    def _proceed(self, name: str, running: _Running, now: float) -> None:
        """Judge the findings when all kinds are read; end the sweep when all deletions are answered."""
        sweep, held = running.sweep, running.held
        if sweep.busy:
            return
        over = True
        try:
            if not running.judged and held.valid and self._take_list(running):
                running.judged = True
                self._decide(name, sweep)
                over = not sweep.busy
            elif running.judged and held.valid:
                sweep.save()
        finally:
            if over:
                del self._running[name]
                # Do not ask at once again for kinds that could not be read.
                self._looked[name].update({**dict.fromkeys(sweep.errors, now), Kind.SERVER: now})
                held.release()

    @staticmethod
    def _take_list(running: _Running) -> bool:
        """Give a server list that the sweep has read to the actor; return False if there is no complete list."""
        asked_at, servers = running.sweep.shown.get(Kind.SERVER, (0.0, None))
        if asked_at >= running.began:
            running.actor.view.take_list(Listing(servers), asked_at)
            return not running.actor.view.missing
        return servers is not None

    def _decide(self, name: str, sweep: ProviderSweep) -> None:
        sweep.judge()
        self._suspicious[name] = sweep.judgement.pending
        self._stuck[name] = _stuck(name, sweep.judgement)
        self._looked[name].update({kind: asked_at for kind, (asked_at, _unused) in sweep.shown.items()})
        sweep.delete()
        # Do this with each sweep: a cycle may be shorter than any interval.
        expire_tombstones(self._context.store, name, self._context.now())

    def _remove_server(self, actor: ProviderActor, candidate: LeakCandidate) -> None:
        deleted = partial(self._context.account.sweeps.deleted, actor.provider.name, Kind.SERVER)
        name = actor.provider.name
        line = f"{name}: server {candidate.id} leaked: {candidate.text}"
        self._context.account.say(Line(line, provider=name, node=candidate.node_id, server=candidate.id))
        self._removals.start(candidate.id, actor, candidate.id, None, deleted, candidate.node_id)

    # -- the tree ------------------------------------------------------------------------------------------------

    def _consider_tree(self, now: float) -> None:
        store = self._context.store
        if self._tree_looked is None:
            memory = SweepMemory.of_tree(store)
            self._tree_looked = memory.looked.get("tree")
            if self._tree_looked is None or self._tree_looked > now:
                self._tree_looked = now
                replace(memory, looked={"tree": now}).save(store)
        if now - self._tree_looked < EVERY:
            return
        self._tree_looked = now
        self._tree = TreeSweep.begin(self._context, Kind.TREE, TREE_RULES, now)
        if self._tree is not None:
            self._clear(self._tree, now)

    def _clear(self, tree: TreeSweep, now: float) -> None:
        """Remove a few records at a time: each needs round trips in the cycle's own thread."""
        if tree.clear(now, CLEARED_PER_PASS):
            self._context.inbox.nudge()
        else:
            tree.close()
            self._tree = None


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
