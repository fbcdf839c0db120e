# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all launchers of the tree share: spare nodes for min-ready, and the limits of tenants.

A launcher adds to them only while it has the tree's lock, and only after it has seen what the others added before. A
launcher that is alone in the tree keeps the lock, so that nothing of this costs it a round trip.
"""

from __future__ import annotations

from dataclasses import replace

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....launching.actions import Plan
from ....launching.snapshot import Snapshot
from ....model.own_tree import MIN_READY

RETRY = 0.1
"""Seconds until the next try after another launcher had the lock."""


class SharedTurn:
    """The tree's lock. Used by the cycle's own thread only."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: Held | None = None

    @property
    def has(self) -> bool:
        """True while this cycle may add to what is shared."""
        return self._held is not None and self._held.valid

    def take(self) -> bool:
        """Take the lock without waiting; return True once this cycle also knows what others added before."""
        if self.has:
            return True
        self._held = None
        if self._store.own.is_locked(MIN_READY):
            return False
        self._held = self._store.own.lock(MIN_READY)
        if self._held is None:
            return False
        self._store.settle()
        return True

    def end(self, *, alone: bool) -> None:
        """End the turn, after all changes were made.

        :param alone: True while there is no other launcher: the lock is kept.
        """
        if self._held is not None and not alone:
            self._store.catch_up()
            self._held.release()
            self._held = None

    def lose(self) -> None:
        """Release the lock, as the session is lost or the cycle ends."""
        if self._held is not None:
            self._held.release()
            self._held = None


def shares(plan: Plan, snapshot: Snapshot) -> bool:
    """Return True if the plan adds to what all launchers share."""
    return bool(plan.spare) or bool(_limited(plan, snapshot))


def without_shared(plan: Plan, snapshot: Snapshot) -> Plan:
    """Return the plan without what needs the lock; the next pass plans it again."""
    limited = _limited(plan, snapshot)
    return replace(plan, spare=(), admit=tuple(one for one in plan.admit if one.request_id not in limited))


def unmet_here(plan: Plan, snapshot: Snapshot) -> tuple[dict[str, int], dict[str, str]]:
    """Return how many spare nodes had no place, and why, for the labels that no other launcher can make now."""
    elsewhere = {label for pool in snapshot.others if pool.present and not pool.paused for label in pool.labels}
    unmet = {label: count for label, count in plan.unmet_spares.items() if label not in elsewhere}
    return unmet, {label: why for label, why in plan.unmet_reasons.items() if label not in elsewhere}


def _limited(plan: Plan, snapshot: Snapshot) -> set[str]:
    """Return the requests that would be accepted and whose tenant has a limit."""
    if not snapshot.tenant_limits:
        return set()
    limited = {one.id for one in snapshot.requests if one.tenant in snapshot.tenant_limits}
    return {one.request_id for one in plan.admit if one.request_id in limited}
