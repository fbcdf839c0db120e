# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guards the lock and the record of a running build, also across lost ZooKeeper sessions."""

from __future__ import annotations

import time
from collections.abc import Callable

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.errors import StoreError, StoreGone
from ....model.image import Build, BuildState
from ..context.record_lock import RecordLock, RecordLost

LOOK_EVERY = 1.0
"""Seconds between two checks of the record, and between two tries to take the lock again."""
GRACE = 30.0
"""Seconds beyond two session time-outs for which another session may have the lock while ZooKeeper is connected."""
LOST = "lost"


class BuildGuard:
    """Checks that lock and record are ours, and takes the lock again after a lost session.

    :param held: the image's lock.
    :param timeout: the session time-out in seconds.
    :param clock: monotonic seconds.
    """

    def __init__(
        self, store: Store, build: Build, held: Held, *, timeout: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.build = build
        self.problem = ""
        self._store = store
        self._clock = clock
        self._looked = float("-inf")
        self._lock = RecordLock(
            held,
            f"image {build.image}",
            take=lambda: store.images.lock_image(build.image),
            check=self._check_record,
            patience=2 * timeout + GRACE,
            clock=clock,
        )

    def check(self) -> str | None:
        """Return ``lost`` if the build is not ours any more, and set *problem* to the reason. Call it repeatedly."""
        now = self._clock()
        if self.problem:
            return LOST
        if self._store.state != "connected" or now - self._looked < LOOK_EVERY:
            return None
        self._looked = now
        try:
            if not self._lock.held.valid:
                self._lock.regain()
            elif not self._is_as_we_left_it(self._store.images.build(self.build.image, self.build.id)):
                self._check_record()
        except RecordLost as lost:
            self.problem = str(lost)
        except StoreError:
            return None  # the connection broke again: the state is unknown
        return LOST if self.problem else None

    def _check_record(self) -> None:
        """Check the record in ZooKeeper, as the cache may be stale.

        :raises RecordLost: the record was deleted or changed.
        """
        found = self._store.images.read_build(self.build.image, self.build.id)
        if found is None:
            raise RecordLost("its record in ZooKeeper was deleted")
        if not self._is_as_we_left_it(found):
            raise RecordLost(f"another client set its record in ZooKeeper to {found.state}")

    def _is_as_we_left_it(self, found: Build | None) -> bool:
        return found is not None and found.state == BuildState.BUILDING and found.builder_id == self.build.builder_id

    def write(self) -> bool:
        """Store the current build if it is ours; return False if that is unknown or impossible at the moment.

        :raises StoreGone: the build is not ours any more.
        """
        if self.check() == LOST:
            raise StoreGone(f"build {self.build.id} of {self.build.image}: {self.problem}")
        if self._store.state != "connected" or not self._lock.held.valid:
            return False
        try:
            self._store.images.write_build(self.build, held=self._lock.held)
        except StoreGone:
            raise
        except StoreError:
            return False
        return True

    def release(self) -> None:
        """Release the lock. Never raises."""
        self._lock.held.release()
