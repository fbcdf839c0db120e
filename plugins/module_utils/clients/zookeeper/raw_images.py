# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw records of disk images, for what is done by hand: export, import, and the end of a provider."""

from __future__ import annotations

from ...model.errors import StoreConflict, StoreError
from . import paths
from .batch import Batch
from .session import Session

_AT_ONCE = 400
"""Steps of a counter in one transaction."""
_ROUNDS = 10
_STEP = "counting"
"""Name of a child that exists within a transaction only."""


class RawImages:
    """``/nodepool/images`` as bytes. Every call is bounded in time and raises :class:`StoreError`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self) -> dict[str, bytes]:
        """Data by path of every znode that is no lock, from the cache."""
        documents, _locks = self._session.tree.content()
        return {path: data for path, data in documents.items() if paths.below(path, paths.IMAGES)}

    def builders(self) -> list[str]:
        """Names of the builders that are registered, from the cache."""
        return self._session.tree.names(f"{paths.COMPONENTS}/builder")

    def locks(self) -> list[str]:
        """Paths of the locks that are held below an image, from the cache."""
        _documents, locks = self._session.tree.content()
        held = {paths.split(path)[0] for path in locks if paths.CONTENDER in path}
        return sorted(path for path in held if paths.below(path, paths.IMAGES))

    def directories_of(self, provider: str) -> list[str]:
        """Paths of what each build has of a provider, from the cache."""
        tree = self._session.tree
        return [
            f"{paths.build(image, build_id)}/providers/{provider}"
            for image in tree.names(paths.IMAGES)
            for build_id in tree.names(paths.builds(image))
            if provider in tree.names(f"{paths.build(image, build_id)}/providers")
        ]

    def delete(self, path: str) -> None:
        """Delete a znode and all below it; one that is absent is fine."""
        self._session.delete(path)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a znode; creates what is missing above it."""
        try:
            self._session.create(path, data, parents=True)
        except StoreConflict:
            self._session.write(path, data)

    def count_beyond(self, directory: str, highest: int) -> None:
        """Make sure that the next znode that is numbered in *directory* gets a number above *highest*.

        ZooKeeper counts what is created below a znode and takes that as the next number, also when a znode of that
        number exists: then no upload can be recorded. Nothing that is made here is left.
        """
        for _round in range(_ROUNDS + highest // _AT_ONCE):
            try:
                made, _stat = self._session.create(f"{directory}/", sequence=True, parents=True)
            except StoreConflict:  # a znode of that number exists
                self._step(directory, 1 + len(self._session.children(directory)))
                continue
            self._session.remove([made])
            missing = highest - int(paths.split(made)[1])
            if missing < 1:
                return
            self._step(directory, min(missing, _AT_ONCE))
        raise StoreError(f"the counter of {directory} could not be set: others write there at the same time")

    def _step(self, directory: str, times: int) -> None:
        batch = Batch(self._session)
        for _time in range(times):
            batch.create(f"{directory}/{_STEP}")
            batch.remove(f"{directory}/{_STEP}")
        batch.commit()
