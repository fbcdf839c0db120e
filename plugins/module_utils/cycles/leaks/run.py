# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep by hand: look at all providers side by side and at the tree, delete what may go, tell about the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...clients.statsd import Sink, Statsd
from ...clients.zookeeper.store import Store
from ...sweeping.candidate import Kind, Ownership
from ...sweeping.judge import Row, Verdict
from ..frame.api_metrics import calls_to
from ..frame.clock import SteadyClock
from ..frame.inbox import Inbox
from ..frame.tree_identity import site_of
from ..launcher.context.account import Account
from ..launcher.context.context import Context, clients_of
from ..launcher.context.metrics import send_sweep
from ..launcher.leaks.tree_sweep import look_at_tree, sweep_tree
from .options import SweepOptions
from .provider_sweep import ProviderSweep

DELETED, FAILED, SPARED = "deleted", "failed", "spared"
MOST_FOREIGN = 200
"""Foreign things of a provider that are listed one by one; all are counted."""
_LONGEST_NAP = 1.0
_COUNTS = (DELETED, FAILED, SPARED, *(value for name, value in vars(Verdict).items() if name.isupper()))


def run_sweep(
    options: SweepOptions,
    *,
    check: bool = False,
    progress: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] | None = None,
) -> dict[str, Any]:
    """Sweep once, or twice with *wait*, and return the module's result.

    :param check: only look, and write nothing.
    :raises NodepoolError: for a configuration that cannot be used and a ZooKeeper that cannot be reached.
    """
    config = options.load()
    store = Store(config.zookeeper)
    context = Context(store, config, Inbox(clock or SteadyClock()), Account(say=progress))
    with Statsd.of_environment({} if check else os.environ) as sink:
        try:
            store.open(watch=not check)
            context.site = site_of(store, create=False)
            result = _SweepRun(replace(options, told=calls_to(sink)), context, check).run()
        finally:
            store.close()
        _measure(sink, result["counts"])
        result["warnings"] += [sink.problem] if sink.problem else []
    return result


def _measure(sink: Sink, counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Tell statsd what was found and done."""
    for where, kinds in counts.items():
        for kind, known in kinds.items():
            left = known["found"] - known[DELETED]
            send_sweep(sink, where, kind, {**known, "leaked": left, "foreign": known[Ownership.FOREIGN]})


class _SweepRun:
    def __init__(self, options: SweepOptions, context: Context, check: bool) -> None:
        self._options = options
        self._context = context
        self._check = check
        self._clients = clients_of(context, options.chosen(context.config), options.client)
        self._left_out = dict(context.account.unusable)
        self._rows: dict[str, dict[str, dict[str, Any]]] = {}
        self._began = context.now()

    def run(self) -> dict[str, Any]:
        sweeps = [
            ProviderSweep(self._context, self._options, self._context.config.providers[name], client)
            for name, client in self._clients.items()
        ]
        try:
            if not self._check:
                self._lock(sweeps)
            self._round(sweeps)
            if self._options.wait > 0 and not self._check and self._waiting():
                self._nap()
                self._round(sweeps)
        finally:
            for sweep in sweeps:
                sweep.close()
        return self._result()

    def _lock(self, sweeps: list[ProviderSweep]) -> None:
        """A launcher that acts for a provider sweeps it for a moment now and then."""
        for sweep in [*sweeps]:
            if not sweep.lock():
                sweeps.remove(sweep)
                sweep.close()
                self._left_out[sweep.name] = f"provider {sweep.name} is being swept by somebody else: try again later"

    def _round(self, sweeps: list[ProviderSweep]) -> None:
        self._gather(sweeps, [sweep.look for sweep in sweeps])
        for sweep in sweeps:
            self._left_out.pop(sweep.name, None)
            if sweep.errors:
                self._left_out[sweep.name] = "; ".join(sweep.errors.values())
            if not sweep.blind:
                self._note(sweep.name, sweep.judge())
        if not self._check:
            self._gather(sweeps, [sweep.delete for sweep in sweeps if not sweep.blind])
            for sweep in sweeps:
                self._outcomes(sweep.name, sweep.outcomes)
                sweep.save()
        self._tree()

    def _gather(self, sweeps: Iterable[ProviderSweep], begin: Iterable[Callable[[], None]]) -> None:
        """Have the providers work side by side until all have ended; each call is bounded."""
        for start in begin:
            start()
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
        swept = sweep_tree(context.store, options.kinds, options.rules, context.now())
        if swept is None:
            self._left_out[""] = "the tree is being swept by somebody else: try again later"
            return
        self._note("", swept.judgement.rows)
        self._outcomes("", swept.outcomes)

    def _note(self, where: str, rows: Iterable[Row]) -> None:
        """What a second look shows takes the place of what the first showed; what was deleted stays in the list."""
        known = self._rows.setdefault(where, {})
        for key in [key for key, row in known.items() if row["verdict"] != DELETED]:
            del known[key]
        for row in rows:
            known[row.candidate.key] = {"provider": where or None, **row.document()}

    def _outcomes(self, where: str, outcomes: Mapping[str, str | None]) -> None:
        for key, answer in outcomes.items():
            row = self._rows[where][key]
            row["verdict"] = SPARED if answer is None else FAILED if answer else DELETED
            if answer:
                row["answer"] = answer
            self._context.account.say(
                f"{where or 'tree'}: {row['kind']} {row['id']}: {row['verdict']} {answer or ''}".rstrip()
            )

    def _waiting(self) -> bool:
        return any(row["verdict"] == Verdict.WAITING for rows in self._rows.values() for row in rows.values())

    def _nap(self) -> None:
        end = self._context.now() + self._options.wait
        while (left := end - self._context.now()) > 0:
            self._context.inbox.take(min(left, _LONGEST_NAP))

    def _result(self) -> dict[str, Any]:
        rows = {where: list(found.values()) for where, found in self._rows.items()}
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
            "api_calls": {name: client.counters.document() for name, client in self._clients.items()},
            "warnings": list(self._context.config.warnings),
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
