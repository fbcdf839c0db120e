# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a lease: it opens the store, checks the lease, acts, and waits or launches as the options say."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, fields, replace

from ...clients.zookeeper.session_file import default_folder
from ...clients.zookeeper.store import Store
from ...launching.lease_plan import Release
from ...model.config.types import NodepoolConfig
from ...model.errors import StoreError
from ...model.lease import LeaseSpec
from ..frame.options import ConfigOptions
from ..frame.stop import Stop
from .lease_cycle import LeaseStatus, Leasing
from .wait import wait_for
from .wish_check import capped, refuse_unknown

RELEASE_TIME = 30.0
"""Seconds that a release may take while another program has a lock on a node or on the lease."""


@dataclass(frozen=True, kw_only=True)
class LeaseTurn(ConfigOptions):
    """The options of one run of a lease. Times in seconds.

    :param wait: wait until the lease is complete.
    :param launch: run a launcher meanwhile.
    :param cancel_on_timeout: release the lease when *timeout* is over.
    """

    spec: LeaseSpec
    present: bool = True
    wait: bool = True
    timeout: float = 600.0
    launch: bool = False
    cancel_on_timeout: bool = False


@dataclass
class LeaseOutcome:
    """The lease before and after a run. *stopped*: why the launcher ended early; None if it did not."""

    before: LeaseStatus
    after: LeaseStatus
    timed_out: bool = False
    cancelled: bool = False
    stopped: str | None = None
    warnings: tuple[str, ...] = ()


def run_lease(
    turn: LeaseTurn,
    *,
    preview: bool = False,
    progress: Callable[[LeaseStatus], None] = lambda status: None,
    line: Callable[[str], None] = lambda text: None,
    stop: Stop | None = None,
) -> LeaseOutcome:
    """Complete or release the lease as *turn* says.

    :param preview: change nothing; return what would be done.
    :param progress: called often with the status of the lease.
    :param line: takes the launcher's lines for the operator.
    :param stop: may ask the launcher to end early.
    :raises NodepoolError: with a sentence about the problem.
    """
    turn.spec.check()
    config = turn.load()
    warnings = config.warnings
    if turn.present:
        spec, told = capped(turn.spec, config)
        turn, warnings = replace(turn, spec=spec), (*warnings, *told)
    if preview or (turn.launch and turn.wait):
        # The launcher also serves other requestors: check the lease before it begins.
        with closing(Store(config.zookeeper)) as store:
            store.open(watch=False)
            _look_at_wish(turn, config, store)
            status = Leasing(store, turn.spec, present=turn.present).preview()
        outcome = LeaseOutcome(status, status) if preview else _launching(turn, progress, line, stop)
    else:
        with Store(config.zookeeper) as store:
            _look_at_wish(turn, config, store)
            outcome = _alone(turn, store, progress)
    if outcome.timed_out and turn.present and turn.cancel_on_timeout:
        with Store(config.zookeeper) as store:
            wait_for(Leasing(store, turn.spec, present=False), store, timeout=RELEASE_TIME)
        outcome.cancelled = True
    outcome.warnings = warnings
    return outcome


def _look_at_wish(turn: LeaseTurn, config: NodepoolConfig, store: Store) -> None:
    if turn.present:
        refuse_unknown(turn.spec, config, store)


def _alone(turn: LeaseTurn, store: Store, progress: Callable[[LeaseStatus], None]) -> LeaseOutcome:
    """Run without a launcher in this process: others serve the requests."""
    leasing = Leasing(store, turn.spec, present=turn.present)
    before = leasing.preview()
    if turn.present and not turn.wait:
        after = leasing.advance()
        progress(after)
        return LeaseOutcome(before, after)
    timeout = turn.timeout if turn.present else max(turn.timeout, RELEASE_TIME)
    after = wait_for(leasing, store, timeout=timeout, progress=progress)
    return LeaseOutcome(before, after, timed_out=not after.done)


class _Customer:
    """The lease as a launcher cycle uses it: the cycle asks in each pass whether the lease is done."""

    def __init__(self, turn: LeaseTurn, progress: Callable[[LeaseStatus], None]) -> None:
        self._turn = turn
        self._progress = progress
        self._leasing: Leasing | None = None
        self._released: set[str] = set()
        """The released nodes. The cycle ends only after their records are gone, that is, their servers deleted."""
        self.before = LeaseStatus()
        self.after = LeaseStatus()
        self.error: Exception | None = None

    def done(self, store: Store) -> bool:
        """Advance the lease; return True to end the cycle. After an error the cycle ends, then the error is raised."""
        try:
            if self._leasing is None:
                leasing = Leasing(store, self._turn.spec, present=self._turn.present)
                self.before = leasing.preview()
                if not self._turn.present:
                    self._released = {action.node for action in self.before.planned if isinstance(action, Release)}
                self._leasing = leasing
            self.after = self._leasing.advance()
            self._progress(self.after)
        except StoreError:
            raise  # the cycle decides whether it waits for ZooKeeper or ends
        except Exception as error:
            self.error = error
            return True
        return self.after.done and not any(store.nodes.get(node) for node in self._released)


def _launching(
    turn: LeaseTurn,
    progress: Callable[[LeaseStatus], None],
    line: Callable[[str], None],
    stop: Stop | None,
) -> LeaseOutcome:
    from ..launcher.cycle import (
        LauncherOptions,
        run_launcher,
    )

    customer = _Customer(turn, progress)
    options = LauncherOptions(
        **{item.name: getattr(turn, item.name) for item in fields(ConfigOptions)},
        duration=turn.timeout,
        until="deadline",
        state_dir=default_folder(),
    )
    ended = run_launcher(options, progress=line, done=customer.done, stop=stop)["ended"]
    if customer.error is not None:
        raise customer.error
    if stop is not None and ended == stop.reason:
        return LeaseOutcome(customer.before, customer.after, stopped=None if customer.after.done else ended)
    return LeaseOutcome(customer.before, customer.after, timed_out=not customer.after.done)
