# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upload's record and the lock under which it is written.

An upload takes long, and the ZooKeeper session may be lost meanwhile. The next write takes the lock again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.errors import StoreConflict, StoreError, StoreGone
from ....model.image import Upload
from ..context.record_lock import RecordLock, RecordLost

PACE = 0.5
"""Seconds between two tries."""
TAKEN = 5.0
"""Seconds for which another session may have the lock before the record counts as lost."""


class UploadClaim:
    """The record of an upload that only this cycle writes.

    :param held: the lock of the build at the provider.
    :param patience: seconds for which a write waits for ZooKeeper.
    """

    def __init__(
        self,
        store: Store,
        upload: Upload,
        held: Held,
        *,
        patience: float,
        clock: Callable[[], float] = time.monotonic,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self.upload = upload
        self._images = store.images
        self._lock = RecordLock(
            held,
            f"build {upload.build_id} of {upload.image} at provider {upload.provider}",
            take=lambda: store.images.lock_provider(upload.image, upload.build_id, upload.provider),
            check=self._check_record,
            patience=TAKEN,
            clock=clock,
        )
        self._patience = patience
        self._clock = clock
        self._sleeper = sleeper
        self._stored = b""

    def create(self) -> None:
        """Store the record for the first time.

        :raises StoreError: the record was not created, or will not exist for long.
        """
        self._images.create_upload(self.upload, held=self._lock.held)
        self._stored = self.upload.to_bytes()

    def take_over(self) -> None:
        """Take the record as it is stored: another cycle has begun the upload."""
        self._stored = self.upload.to_bytes()

    def keep(self) -> None:
        """Take the lock again if the session that held it is lost, and look whether the record is as it was.

        The lock alone does not protect it: a client that has found it without its lock may delete it afterwards.

        :raises RecordLost: the record is not ours any more.
        :raises StoreError: ZooKeeper could not be reached for too long.
        """
        self._insist(lambda held: self._check_record())

    def write(self) -> None:
        """Store the current record.

        :raises RecordLost: the record is not ours any more.
        :raises StoreError: ZooKeeper could not be reached for too long.
        """
        wanted = self.upload.to_bytes()
        self._insist(lambda held: self._write(held, wanted))

    def delete(self) -> None:
        """Remove the record.

        :raises RecordLost: the record is not ours any more.
        :raises StoreError: ZooKeeper could not be reached for too long.
        """
        self._insist(lambda held: self._images.delete_upload(self.upload))

    def release(self) -> None:
        """Release the lock. Never raises."""
        self._lock.held.release()

    def _write(self, held: Held, wanted: bytes) -> None:
        try:
            self._images.write_upload(self.upload, held=held, if_unchanged=True)
        except StoreConflict:
            # The other write may be our own, whose answer was lost.
            there = self._images.read_upload(self.upload)
            if there is None or there.to_bytes() != wanted:
                raise RecordLost(f"the record {self.upload.path} was changed by another client") from None
            self.upload.version = there.version
        self._stored = wanted

    def _insist(self, work: Callable[[Held], None]) -> None:
        end = self._clock() + self._patience
        while True:
            try:
                if self._lock.regain():
                    work(self._lock.held)
                    return
            except StoreGone:
                raise RecordLost(f"the record {self.upload.path} is gone") from None
            except StoreError:
                if self._clock() >= end:
                    raise
            self._sleeper(PACE)

    def _check_record(self) -> None:
        """Check that the record is as it was stored last, or, if an answer was lost, as it must be stored.

        :raises RecordLost: the record is gone or was changed.
        """
        upload = self.upload
        there = self._images.read_upload(upload)
        if there is None:
            raise RecordLost(f"the record {upload.path} is gone")
        found = there.to_bytes()
        if found != self._stored and found != upload.to_bytes():
            raise RecordLost(f"the record {upload.path} was changed by another client")
        upload.version = there.version
