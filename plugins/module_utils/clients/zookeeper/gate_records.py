# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of gates in ZooKeeper: one for each image at each provider."""

from __future__ import annotations

from ...model.gate import GateRecord
from ...model.own_tree import GATES
from .link.paths import segment
from .own import OwnDocuments


class Gates:
    """Reads and writes the records."""

    def __init__(self, own: OwnDocuments) -> None:
        self._own = own

    def get(self, provider: str, image: str) -> GateRecord | None:
        """Return the record, from the cache; None if there is none. Nobody may change the result."""
        return self._own.unchanging(_path(provider, image), GateRecord.from_document)

    def read(self, provider: str, image: str) -> GateRecord | None:
        """Return the record, fresh from ZooKeeper; None if there is none that can be used.

        :raises StoreError: ZooKeeper did not answer.
        """
        return self._own.understood(_path(provider, image), GateRecord.from_document, fresh=True)

    def save(self, provider: str, image: str, record: GateRecord) -> None:
        """Store the record.

        :raises StoreError: ZooKeeper did not answer.
        """
        self._own.put(_path(provider, image), record.document())


def _path(provider: str, image: str) -> str:
    return f"{GATES}/{segment(provider)}/{segment(image)}"
