# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw records of disk images, for manual operations: export, import, and the removal of a provider."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...model.errors import StoreConflict, StoreError, StoreGone
from .link import paths
from .link.batch import Batch
from .link.session import Session

_AT_ONCE = 400
"""Steps of a counter in one transaction, and changes after which a transaction is sent."""
_MOST_BYTES = 300_000
"""Bytes of records after which a transaction is sent: ZooKeeper accepts about 1 MB."""
_ROUNDS = 10
_STEP = "counting"
"""Name of a child that exists only within a transaction."""


class RawImages:
    """The records in ``/nodepool/images`` as bytes. Every call is bounded in time and raises :class:`StoreError`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self) -> dict[str, bytes]:
        """Return the data by path of every znode that is not a lock, from the cache."""
        documents, _locks = self._session.tree.content()
        return {path: data for path, data in documents.items() if paths.below(path, paths.IMAGES)}

    def builders(self) -> list[str]:
        """Return the names of the builders that are registered, from the cache."""
        return self._session.tree.names(f"{paths.COMPONENTS}/builder")

    def locks(self) -> list[str]:
        """Return the paths of all held locks of images, from the cache."""
        _documents, locks = self._session.tree.content()
        held = {paths.split(path)[0] for path in locks if paths.CONTENDER in path}
        return sorted(path for path in held if paths.below(path, paths.IMAGES))

    def directories_of(self, provider: str) -> list[str]:
        """Return the path of the provider's directory in each build that has one, from the cache."""
        tree = self._session.tree
        return [
            f"{paths.build(image, build_id)}/providers/{provider}"
            for image in tree.names(paths.IMAGES)
            for build_id in tree.names(paths.builds(image))
            if provider in tree.names(f"{paths.build(image, build_id)}/providers")
        ]

    def delete(self, path: str) -> None:
        """Delete a znode and all below it. It is not an error when it does not exist."""
        self._session.delete(path)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a znode; creates missing parents."""
        try:
            self._session.create(path, data, parents=True)
        except StoreConflict:
            self._session.write(path, data)

    def put_all(self, records: Mapping[str, bytes], highest: Mapping[str, int]) -> None:
        """Create or replace many znodes in few round trips; creates missing parents.

        :param records: path → data; a parent comes before its children.
        :param highest: directory → the number that its next sequence znode must be above; see :meth:`count_beyond`.
        """
        own = Counter(paths.split(path)[0] for path in records)
        steps: dict[str, int] = {}
        for folder, number in highest.items():
            # In a new directory, each record that is created counts.
            lacking = max(0, number + 1 - own[folder])
            if self._is_there(folder) or lacking > _AT_ONCE:
                self.count_beyond(folder, number)
            else:
                steps[folder] = lacking
        made: set[str] = set()
        part: dict[str, bytes] = {}
        batch, size = Batch(self._session), 0
        for path, data in records.items():
            self._add(batch, path, data, made, steps)
            part[path] = data
            size += len(data)
            if len(batch.paths) >= _AT_ONCE or size > _MOST_BYTES:
                self._commit(batch, part, highest)
                part, batch, size = {}, Batch(self._session), 0
        self._commit(batch, part, highest)

    def _is_there(self, path: str) -> bool:
        return self._session.tree.exists(path)

    def _add(self, batch: Batch, path: str, data: bytes, made: set[str], steps: Mapping[str, int]) -> None:
        """Add a record, the parents that it lacks, and the steps of the counter of a new directory.

        :param made: the paths that were added so far; those of this record are noted in it.
        """
        lacking = []
        parent = paths.split(path)[0]
        while parent and parent not in made and not self._is_there(parent):
            lacking.append(parent)
            parent = paths.split(parent)[0]
        for parent in reversed(lacking):
            batch.create(parent)
            for _step in range(steps.get(parent, 0)):
                batch.create(f"{parent}/{_STEP}")
                batch.remove(f"{parent}/{_STEP}")
        made.update(lacking)
        if path in made or self._session.tree.entry(path) is not None:
            batch.write(path, data)
        else:
            made.add(path)
            batch.create(path, data)

    def _commit(self, batch: Batch, part: Mapping[str, bytes], highest: Mapping[str, int]) -> None:
        """Send the changes. When another client has changed something there, write the records one by one."""
        try:
            batch.commit()
        except (StoreConflict, StoreGone):
            for folder in {paths.split(path)[0] for path in part} & highest.keys():
                self.count_beyond(folder, highest[folder])
            for path, data in part.items():
                self.put(path, data)

    def count_beyond(self, directory: str, highest: int) -> None:
        """Make sure that the next sequence znode in *directory* gets a number above *highest*.

        ZooKeeper counts the creations of children of a znode and uses the count as the next number, even when a znode
        with that number exists: then no upload can be recorded. All znodes that this method creates are deleted again.
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
        raise StoreError(f"the counter of {directory} could not be set: other clients are writing there")

    def _step(self, directory: str, times: int) -> None:
        batch = Batch(self._session)
        for _time in range(times):
            batch.create(f"{directory}/{_STEP}")
            batch.remove(f"{directory}/{_STEP}")
        batch.commit()
