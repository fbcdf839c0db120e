# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep by hand: checks all providers in parallel and the tree, deletes leaks that are due, reports the others."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from ....clients.statsd import Statsd
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.config.types import NodepoolConfig
from ....sweeping.candidate import Kind, Ownership
from ....sweeping.judge import Row, Verdict
from ...frame.api_metrics import calls_to
from ...frame.clock import SteadyClock
from ...frame.config_source import config_by_hand
from ...frame.config_warnings import config_warnings
from ...frame.counts import CycleCounts, KeptCounters
from ...frame.inbox import Inbox
from ...frame.tree_clock import TreeClock
from ...frame.tree_identity import site_of
from ...frame.workers import WorkerSet
from ..context.account import Account
from ..context.context import Context, clients_of
from ..context.launcher_metrics import count_sweep
from ..context.sweep_memory import SweepMemory, expire_tombstones
from .provider_sweep import ProviderSweep
from .sweep_options import SweepOptions
from .tree_sweep import TreeSweep, look_at_tree

DELETED, FAILED, SPARED = "deleted", "failed", "spared"
MOST_FOREIGN = 200
"""Largest number of foreign things of a provider that are listed; all are counted."""
CALL_SECONDS = 90.0
"""Seconds of wall-clock time that one call may take; greater than the client's own time-out."""
LOCK_TRIES = 40
LOCK_PAUSE = 0.25
_LONGEST_NAP = 1.0
NodesFirst = Callable[[SweepOptions, Store, NodepoolConfig, Callable[[], float]], Mapping[str, dict[str, Any]]]
_COUNTS = (DELETED, FAILED, SPARED, *(value for name, value in vars(Verdict).items() if name.isupper()))


def run_sweep(
    options: SweepOptions,
    *,
    nodes: NodesFirst = lambda options, store, config, clock: {},
    check: bool = False,
    clock: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Sweep once, or twice with *wait*, and return the module's result.

    :param nodes: deletes the nodes that are due, with *check* only looks at them, and returns their rows by key.
    :param check: only check; delete and write nothing. Ages are then those of the clock of this host: to learn
        ZooKeeper's time takes a write.
    :param clock: ZooKeeper's time in UNIX seconds; without it the sweep asks ZooKeeper.
    :raises NodepoolError: the configuration cannot be used, or ZooKeeper cannot be reached.
    """
    config = config_by_hand(options, check=check)
    with Statsd.of_environment({} if check else os.environ) as sink:
        with closing(Store(config.zookeeper)) as store:
            store.open(watch=not check)
            tree_clock = TreeClock()
            told = tree_clock.ask(store) if clock is None and not check else ""
            inbox = Inbox(SteadyClock(clock or tree_clock))
            context = Context(store, config, inbox, Account(), site_of(store, create=False))
            found = nodes(options, store, config, inbox.clock) if Kind.NODE in options.kinds else {}
            result = SweepByHand(replace(options, told=calls_to(sink)), context, check=check, nodes=found).run()
            if not check:
                cycle_counts = CycleCounts(sink)
                _count(cycle_counts, result["counts"])
                KeptCounters(store, "sweep", cycle_counts, lambda line: None).end(
                    inbox.clock(), lambda: result["api_calls"]
                )
        result["warnings"] += filter(None, [told, sink.problem])
    return result


def _count(cycle_counts: CycleCounts, counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Count the leaks that were found and deleted."""
    for where, kinds in counts.items():
        for kind, known in kinds.items():
            left = known["found"] - known[DELETED]
            count_sweep(cycle_counts, where, kind, {**known, "leaked": left, "foreign": known[Ownership.FOREIGN]})


class SweepByHand:
    """One or two checks of all chosen providers and kinds.

    :param nodes: the rows of nodes that were, or would be, deleted before.
    """

    def __init__(
        self,
        options: SweepOptions,
        context: Context,
        *,
        check: bool = False,
        nodes: Mapping[str, dict[str, Any]] | None = None,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._nodes = nodes or {}
        self._context = context
        self._check = check
        self._sleeper = sleeper
        self._clients = clients_of(context, options.chosen(context.config), options.client)
        self._workers = {name: WorkerSet(name, context.inbox, size=1, seconds=CALL_SECONDS) for name in self._clients}
        self._held: dict[str, Held] = {}
        self._left_out = dict(context.account.unusable)
        self._rows: dict[str, dict[str, dict[str, Any]]] = {}
        self._began = context.now()

    def run(self) -> dict[str, Any]:
        """Sweep and return the module's result."""
        try:
            if not self._check:
                self._lock()
            self._round()
            if self._options.wait > 0 and not self._check and self._waiting():
                self._nap()
                self._round()
        finally:
            for held in self._held.values():
                held.release()
            for name, client in self._clients.items():
                self._workers[name].close()
                client.close()
        return self._result()

    def _lock(self) -> None:
        """Take the locks for the sweep; wait for a launcher that briefly sweeps its provider from time to time."""
        store = self._context.store
        for name in self._clients:
            for _unused in range(LOCK_TRIES):
                held = SweepMemory.of_provider(store, name).lock(store)
                if held is not None:
                    self._held[name] = held
                    break
                self._sleeper(LOCK_PAUSE)
            else:
                self._left_out[name] = f"provider {name} is being swept by another process: try again later"

    def _round(self) -> None:
        options, context = self._options, self._context
        sweeps = [
            ProviderSweep(
                context=context,
                name=name,
                client=client,
                workers=self._workers[name],
                rules=options.rules,
                kinds=options.kinds,
                claims=options.claims,
            )
            for name, client in self._clients.items()
            if self._check or name in self._held
        ]
        for sweep in sweeps:
            sweep.read({*options.kinds, Kind.SERVER})
        self._wait_for(sweeps)
        for sweep in sweeps:
            self._left_out.pop(sweep.name, None)
            if sweep.errors:
                self._left_out[sweep.name] = "; ".join(str(error) for error in sweep.errors.values())
        # Without the list of servers no leak can be found.
        sweeps = [sweep for sweep in sweeps if Kind.SERVER in sweep.shown]
        for sweep in sweeps:
            sweep.judge()
            self._note(sweep.name, sweep.judgement.rows)
        if not self._check:
            self._delete(sweeps)
        self._tree()

    def _delete(self, sweeps: list[ProviderSweep]) -> None:
        for sweep in sweeps:
            sweep.delete()
        self._wait_for(sweeps)
        for sweep in sweeps:
            sweep.save()
            expire_tombstones(self._context.store, sweep.name, self._context.now())
            self._outcomes(sweep.name, sweep.outcomes)

    def _wait_for(self, sweeps: Iterable[ProviderSweep]) -> None:
        """Wait until the sweeps have no call under way. They run in parallel; each call is bounded in time."""
        while any(sweep.busy for sweep in sweeps):
            self._context.inbox.take(_LONGEST_NAP)
            for sweep in sweeps:
                sweep.workers.check(self._context.now())

    def _tree(self) -> None:
        context, options = self._context, self._options
        if not set(options.kinds) & set(Kind.TREE):
            return
        if self._check:
            self._note("", look_at_tree(context.store, options.kinds, options.rules, context.now()).rows)
            return
        sweep = TreeSweep.begin(context, options.kinds, options.rules, context.now())
        if sweep is None:
            self._left_out[""] = "the tree is being swept by another process: try again later"
            return
        try:
            sweep.clear(context.now(), options.max_deletions)
        finally:
            sweep.close()
        self._note("", sweep.judgement.rows)
        self._outcomes("", sweep.outcomes)

    def _note(self, where: str, rows: Iterable[Row]) -> None:
        """Replace the findings of the first check with those of the second; rows of deleted things stay."""
        known = self._rows.setdefault(where, {})
        for key in [key for key, row in known.items() if row["verdict"] != DELETED]:
            del known[key]
        for row in rows:
            known[row.candidate.key] = {"provider": where or None, **row.result()}

    def _outcomes(self, where: str, outcomes: Mapping[str, str | None]) -> None:
        for key, answer in outcomes.items():
            row = self._rows[where][key]
            row["verdict"] = SPARED if answer is None else FAILED if answer else DELETED
            if answer:
                row["answer"] = answer

    def _waiting(self) -> bool:
        return any(row["verdict"] == Verdict.WAITING for rows in self._rows.values() for row in rows.values())

    def _nap(self) -> None:
        end = self._context.now() + self._options.wait
        while (left := end - self._context.now()) > 0:
            self._context.inbox.take(min(left, _LONGEST_NAP))

    def _result(self) -> dict[str, Any]:
        rows = {where: list(found.values()) for where, found in self._rows.items()}
        for row in self._nodes.values():
            rows.setdefault(row["provider"], []).insert(0, row)
        everything = [row for found in rows.values() for row in found]
        done = DELETED if not self._check else Verdict.DUE
        lines = [
            f"{row['provider'] or 'tree'}: {row['kind']} {row['id']}: {row['verdict']}, {row['reason']}"
            for row in everything
        ]
        return {
            "changed": any(row["verdict"] == done for row in everything),
            "seconds": round(self._context.now() - self._began, 3),
            "things": [row for found in rows.values() for row in _shown(found)],
            "counts": {where: _counts(found) for where, found in rows.items()},
            "left_out": self._left_out,
            "diff": {"before": "", "after": "".join(f"{line}\n" for line in lines), "after_header": "leaked things"},
            "api_calls": {name: client.counters.result() for name, client in self._clients.items()},
            "warnings": config_warnings(self._context.config, self._context.store),
        }


def _shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    foreign = [row for row in rows if row["verdict"] == Ownership.FOREIGN]
    return [row for row in rows if row["verdict"] != Ownership.FOREIGN] + foreign[:MOST_FOREIGN]


def _counts(rows: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for row in rows:
        count = counts.setdefault(row["kind"], {"found": 0, **dict.fromkeys(_COUNTS, 0)})
        count[row["verdict"]] += 1
        if row["verdict"] != Ownership.FOREIGN:
            count["found"] += 1
    return {kind: {name.replace("-", "_"): number for name, number in count.items()} for kind, count in counts.items()}
