# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease as a launcher cycle uses it: the cycle asks in each pass whether the lease is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...model.config.types import NodepoolConfig
from ...model.errors import StoreError
from ...model.lease import LeaseError, LeaseSpec
from .expiry import over, release_expired
from .lease_cycle import LeaseStatus, Leasing

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

LINGER = 30.0
"""Most seconds that the cycle goes on after the lease is done, to delete the servers of other leases that are over."""


class Customer:
    """A lease that a launcher cycle completes or releases.

    :ivar before: the status at the beginning.
    :ivar after: the latest status.
    :ivar error: the error that ended the cycle; None if there was none.
    :param spec: the lease; must have passed its check.
    :param progress: called often with the status.
    :param present: True to complete the lease, False to release it.
    :param clock: UNIX time in seconds.
    """

    def __init__(
        self,
        spec: LeaseSpec,
        config: NodepoolConfig,
        progress: Callable[[LeaseStatus], None],
        *,
        present: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._spec = spec
        self._config = config
        self._progress = progress
        self._present = present
        self._clock = clock
        self._leasing: Leasing | None = None
        self._refused: Mapping[str, str] = {}
        self._done_at: float | None = None
        self.before = LeaseStatus()
        self.after = LeaseStatus()
        self.error: Exception | None = None

    def refused(self, providers: Mapping[str, str]) -> None:
        """Take the providers that cannot be used with the account, each with a sentence; called before :meth:`done`."""
        self._refused = providers

    def done(self, store: Store) -> bool:
        """Advance the lease; return True to end the cycle. After an error the cycle ends, then the error is raised."""
        try:
            self.after = self._advance(store)
            self._progress(self.after)
            if not self.after.done:
                self._fail_if_refused(store)
        except StoreError:
            raise  # the cycle decides whether it waits for ZooKeeper or ends
        except Exception as error:
            self.error = error
            return True
        return self.after.done and not self._lingers(store)

    def _advance(self, store: Store) -> LeaseStatus:
        if self._leasing is None:
            leasing = Leasing(store, self._spec, present=self._present, clears=True, clock=self._clock)
            self.before = leasing.preview()
            release_expired(store, self._clock(), but=self._spec.name)
            self._leasing = leasing
        return self._leasing.advance()

    def _lingers(self, store: Store) -> bool:
        """Return True while servers of other leases are to be deleted at providers for which a launcher acts."""
        now = self._clock()
        self._done_at = now if self._done_at is None else self._done_at
        if now - self._done_at >= LINGER:
            return False
        attended = {pool.provider_name for pool in store.components.pools()} - set(self._refused)
        return any(node.provider in attended for node in over(store, now))

    def _fail_if_refused(self, store: Store) -> None:
        """Check that a provider can still do what the lease waits for.

        :raises LeaseError: all providers concerned refuse the account: waiting cannot help, only the remedy can.
        """
        concerned = self._offering() if self._present else self._leaving_at(store)
        if concerned and concerned <= set(self._refused):
            told = "; ".join(self._refused[name] for name in sorted(concerned))
            rest = "its requests stay until they expire" if self._present else "its servers are not deleted"
            raise LeaseError(f"lease {self._spec.name}: {told}; {rest}: correct this, then repeat")

    def _offering(self) -> set[str]:
        wanted = set(self._spec.labels)
        return {
            provider.name
            for provider in self._config.providers.values()
            if any(wanted <= set(pool.labels) for pool in provider.pools.values())
        }

    def _leaving_at(self, store: Store) -> set[str]:
        nodes = [store.nodes.get(node_id) for node_id in self.after.leaving]
        return {node.provider or "" for node in nodes if node is not None}
