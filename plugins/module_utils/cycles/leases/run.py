# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a lease: it opens the store, checks the lease, acts, and waits or launches as the options say."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace

from ...clients.state_folder import default_folder
from ...clients.zookeeper.store import Store
from ...model.config.types import NodepoolConfig
from ...model.errors import StoreError
from ...model.lease import LeaseOptionError, LeaseSpec, is_of
from ...model.node import Node
from ..frame.config_source import config_by_hand
from ..frame.config_warnings import config_warnings
from ..frame.cycle_options import ConfigOptions
from ..frame.stop import Stop
from ..frame.tree_clock import TreeClock
from .customer import Customer
from .expiry import over, release_expired, unattended, unattended_text
from .extend import extend
from .lease_cycle import LeaseStatus, Leasing
from .wait import wait_for
from .wish_check import capped, refuse_unknown

RELEASE_TIME = 30.0
"""Seconds that a release may take while another program has a lock on a node or on the lease."""
DELETE_TIME = 300.0
"""Seconds that the deletion of the servers may take after the time-out of a lease that is given up."""


@dataclass(frozen=True, kw_only=True)
class LeaseTurn(ConfigOptions):
    """The options of one run of a lease. Times in seconds.

    :param wait: wait until the lease is complete.
    :param launch: run a launcher meanwhile.
    :param cancel_on_timeout: release the lease when *timeout* is over.
    :param extends: only change when the nodes of the lease expire.
    """

    spec: LeaseSpec
    present: bool = True
    wait: bool = True
    timeout: float = 600.0
    launch: bool = False
    cancel_on_timeout: bool = False
    extends: bool = False


@dataclass
class LeaseOutcome:
    """The lease before and after a run. *stopped*: why the launcher ended early; None if it did not.

    *unattended*: the nodes that the lease gave back and whose servers nobody deletes at the moment. *notices*:
    sentences about what nobody deletes.
    """

    before: LeaseStatus
    after: LeaseStatus
    timed_out: bool = False
    cancelled: bool = False
    stopped: str | None = None
    warnings: tuple[str, ...] = ()
    notices: list[str] = field(default_factory=list)
    unattended: list[Node] = field(default_factory=list)
    config: NodepoolConfig | None = None


def run_lease(
    turn: LeaseTurn,
    *,
    preview: bool = False,
    progress: Callable[[LeaseStatus], None] = lambda status: None,
    line: Callable[[str], None] = lambda text: None,
    stop: Stop | None = None,
    clock: Callable[[], float] = time.time,
) -> LeaseOutcome:
    """Complete or release the lease as *turn* says.

    :param preview: change nothing; return what would be done.
    :param progress: called often with the status of the lease.
    :param line: takes the launcher's lines for the operator.
    :param stop: may ask the launcher to end early.
    :param clock: UNIX time in seconds, by this host.
    :raises NodepoolError: with a sentence about the problem.
    """
    turn.spec.check()
    if turn.present and not turn.extends and not turn.spec.labels:
        raise LeaseOptionError("labels is empty: name the label of each node")
    config = config_by_hand(turn, check=preview)
    if turn.extends:
        with closing(Store(config.zookeeper)) as store:
            store.open(watch=False, mutable=not preview)
            before, after = extend(store, turn.spec, preview=preview, max_hold_age=config.max_hold_age)
            return LeaseOutcome(before, after, warnings=tuple(config_warnings(config, store)), config=config)
    capping: tuple[str, ...] = ()
    if turn.present:
        spec, capping = capped(turn.spec, config)
        turn = replace(turn, spec=spec)
    launches = turn.launch and (turn.wait or not turn.present)
    clock = time_of_tree = TreeClock(clock)
    if preview or launches:
        # The launcher also serves other requestors: check the lease before it begins.
        with closing(Store(config.zookeeper)) as store:
            store.open(watch=False, mutable=not preview)
            _look_at_wish(turn, config, store)
            warnings = (*config_warnings(config, store), *capping)
            status = Leasing(store, turn.spec, present=turn.present, clears=turn.launch, clock=clock).preview()
            if preview:
                return LeaseOutcome(status, status, warnings=warnings)
            told_time = time_of_tree.ask(store)
        outcome = _launching(turn, config, progress, line, stop, clock)
    else:
        with Store(config.zookeeper) as store:
            _look_at_wish(turn, config, store)
            warnings = (*config_warnings(config, store), *capping)
            told_time = time_of_tree.ask(store)
            outcome = _alone(turn, store, progress, clock)
            _look_for_unattended(turn, outcome, store, clock)
    if outcome.timed_out and turn.present and turn.cancel_on_timeout:
        outcome.cancelled = _give_up(turn, config, line, stop, clock)
    if launches and turn.present and outcome.after.abandoned:
        _clear_abandoned(turn, config, outcome.after, line, stop, clock)
    if launches or outcome.cancelled:
        with suppress(StoreError), closing(Store(config.zookeeper)) as store:
            store.open(watch=False)
            _look_for_unattended(turn, outcome, store, clock)
    outcome.warnings, outcome.config = (*warnings, *filter(None, [told_time]), *outcome.warnings), config
    return outcome


def _look_at_wish(turn: LeaseTurn, config: NodepoolConfig, store: Store) -> None:
    if turn.present:
        refuse_unknown(turn.spec, config, store)


def _give_up(
    turn: LeaseTurn,
    config: NodepoolConfig,
    line: Callable[[str], None],
    stop: Stop | None,
    clock: Callable[[], float],
) -> bool:
    """Release a lease whose time is over; return True if all of it was given back."""
    if turn.launch:
        absent = replace(turn, present=False, timeout=DELETE_TIME)
        return _launching(absent, config, lambda status: None, line, stop, clock).after.done
    with Store(config.zookeeper) as store:
        return wait_for(Leasing(store, turn.spec, present=False, clock=clock), store, timeout=RELEASE_TIME).done


def _clear_abandoned(
    turn: LeaseTurn,
    config: NodepoolConfig,
    status: LeaseStatus,
    line: Callable[[str], None],
    stop: Stop | None,
    clock: Callable[[], float],
) -> None:
    """Delete the nodes that this run launched for a lease which was released meanwhile: no launcher may act after it.

    While the lease exists they are noted only, for its release.
    """
    with suppress(StoreError):
        with Store(config.zookeeper) as store:
            was_released = Leasing(store, turn.spec, clock=clock).note_leaving(status.abandoned)
        if was_released:
            _give_up(turn, config, line, stop, clock)


def _look_for_unattended(turn: LeaseTurn, outcome: LeaseOutcome, store: Store, clock: Callable[[], float]) -> None:
    """Note which servers nobody deletes: those of this lease, now or when it expires, and those of expired leases."""
    outcome.notices.clear()
    name = turn.spec.name
    left = unattended(store, over(store, clock()))
    own = [node for node in left if is_of(node, name)]
    others = [node for node in left if not is_of(node, name)]
    held = unattended(store, outcome.after.nodes) if turn.present and turn.launch else []
    if own:
        outcome.notices.append(unattended_text(own, "was released"))
    if others:
        outcome.notices.append(unattended_text(others, "of an expired or released lease must be deleted"))
    outcome.warnings = tuple(outcome.notices)
    if held:
        outcome.notices.append(unattended_text(held, f"expires {turn.spec.expires} s after it was handed over"))
    outcome.unattended = [] if turn.present else own


def _alone(
    turn: LeaseTurn, store: Store, progress: Callable[[LeaseStatus], None], clock: Callable[[], float]
) -> LeaseOutcome:
    """Run without a launcher in this process: others serve the requests."""
    with suppress(StoreError):  # a requestor need not be allowed to change what others have
        release_expired(store, clock(), but=turn.spec.name)
    leasing = Leasing(store, turn.spec, present=turn.present, clock=clock)
    before = leasing.preview()
    if turn.present and not turn.wait:
        after = leasing.advance()
        progress(after)
        return LeaseOutcome(before, after)
    timeout = turn.timeout if turn.present else max(turn.timeout, RELEASE_TIME)
    after = wait_for(leasing, store, timeout=timeout, progress=progress)
    return LeaseOutcome(before, after, timed_out=not after.done)


def _launching(
    turn: LeaseTurn,
    config: NodepoolConfig,
    progress: Callable[[LeaseStatus], None],
    line: Callable[[str], None],
    stop: Stop | None,
    clock: Callable[[], float],
) -> LeaseOutcome:
    from ..launcher.context.launcher_options import LauncherOptions
    from ..launcher.passes.launcher_cycle import run_launcher

    customer = Customer(turn.spec, config, progress, present=turn.present, clock=clock)
    options = LauncherOptions(
        **{item.name: getattr(turn, item.name) for item in fields(ConfigOptions)},
        duration=turn.timeout,
        until="deadline",
        brief=True,
        state_dir=default_folder(),
    )
    ended = run_launcher(options, progress=line, done=customer.done, refused=customer.refused, stop=stop, clock=clock)[
        "ended"
    ]
    if customer.error is not None:
        raise customer.error
    if stop is not None and ended == stop.reason:
        return LeaseOutcome(customer.before, customer.after, stopped=None if customer.after.done else ended)
    return LeaseOutcome(customer.before, customer.after, timed_out=not customer.after.done)
