# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write thousands of records into ZooKeeper, by transactions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kazoo.client import KazooClient

EACH = 200
"""Znodes that are made by one transaction."""


def fill(client: KazooClient, documents: Iterable[tuple[str, dict[str, Any] | None]]) -> int:
    """Make the znodes, None for one without content; returns the number of the documents' bytes."""
    size, parents = 0, set[str]()
    transaction = client.transaction()
    for path, document in documents:
        data = b"" if document is None else json.dumps(document).encode()
        for parent in _above(path):
            if parent not in parents:
                parents.add(parent)
                transaction.create(parent)
        if path not in parents:
            parents.add(path)
            transaction.create(path, data)
        size += len(data)
        if len(transaction.operations) >= EACH:
            _commit(transaction)
            transaction = client.transaction()
    _commit(transaction)
    return size


def _commit(transaction: Any) -> None:
    failed = [result for result in transaction.commit() if isinstance(result, Exception)]
    if failed:
        raise RuntimeError(f"the tree could not be made: {failed[0]!r}")


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    for end in range(2, len(parts)):
        yield "/".join(parts[:end])
