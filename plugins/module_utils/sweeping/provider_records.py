# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records in ZooKeeper of a provider that has left the configuration, and what still needs them. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..clients.zookeeper.link.paths import segment
from ..model.image import Upload, UploadState
from ..model.node import Node
from ..model.own_tree import (
    BY_NAME,
    BY_POOL,
    BY_WHERE,
    FREEZES,
    KNOWN_POOLS,
    LAUNCHES,
    OWN_TREE,
    PROVIDERS,
    STUCK,
    WAITS,
)

_SHOWN = 5
_BY_NAME = sorted((part.name for part in OWN_TREE if part.provider == BY_NAME), key=PROVIDERS.__eq__)
"""Folders of our subtree whose documents are named after a provider. The last one holds the provider's lock."""
_BY_FIELD = {part.name: part.provider for part in OWN_TREE if part.provider not in ("", BY_NAME, BY_POOL, BY_WHERE)}
"""Folders of our subtree → the field of their documents that holds the provider's name."""
FOLDERS = tuple(part.name for part in OWN_TREE if part.provider)


@dataclass(frozen=True)
class ProviderRecords:
    """All records of the provider *name* in ZooKeeper.

    *configured*: path of the configuration that still has the provider, "" for none. *launchers*: hosts of launchers
    that have registered pools of the provider, or hold its lock. *pool_ids*: ids of those pools. *builds*: paths of the
    provider's directories below builds. *documents*: our documents below FOLDERS, of all providers, by path.
    """

    name: str
    configured: str = ""
    launchers: Collection[str] = ()
    pool_ids: Collection[str] = ()
    nodes: Collection[Node] = ()
    uploads: Collection[Upload] = ()
    builds: Collection[str] = ()
    documents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def left_of(records: ProviderRecords) -> dict[str, list[str]]:
    """Return what still needs the records, by kind."""
    known = {node.id for node in records.nodes}
    found = {
        "configuration": [records.configured] if records.configured else [],
        "launchers": list(records.launchers),
        "nodes": [f"{node.id} ({node.state or 'unknown'})" for node in records.nodes],
        "launches": [name for name in _documents(records, LAUNCHES) if name not in known],
        "deletions": list(_documents(records, STUCK)),
        "uploads": [
            f"{upload.image} {upload.build_id}/{upload.id} ({upload.state or 'unknown'})"
            for upload in records.uploads
            if upload.external_id or upload.state != UploadState.FAILED
        ],
    }
    return {kind: sorted(names) for kind, names in found.items()}


_WORDS = {
    "configuration": "it is still in",
    "launchers": "it is served by the launcher on",
    "nodes": "nodes",
    "launches": "launches in flight: nodes",
    "deletions": "unfinished deletions:",
    "uploads": "uploads",
}


def reasons_of(left: Mapping[str, Collection[str]]) -> list[str]:
    """Return part of a sentence for each kind in *left*; an empty list when the records may be deleted."""
    return [_reason(_WORDS[kind], names) for kind, names in left.items() if names]


def _reason(what: str, names: Collection[str]) -> str:
    shown = sorted(names)
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"{what} {', '.join(shown[:_SHOWN])}{more}"


def own_documents(records: ProviderRecords) -> list[str]:
    """Return the paths below our subtree to delete with the provider; the znode that holds its lock is the last."""
    pools = {*records.pool_ids, *_documents(records, KNOWN_POOLS)}
    found = [f"{folder}/{name}" for folder in _BY_FIELD for name in _documents(records, folder)]
    found += [path for path in (f"{FREEZES}/{pool_id}" for pool_id in sorted(pools)) if path in records.documents]
    found += [path for path, document in records.documents.items() if _waits_for(path, document, records.name)]
    by_name = [f"{folder}/{name}" for folder in _BY_NAME for name in sorted({records.name, segment(records.name)})]
    return sorted(found) + [path for path in by_name if path in records.documents]


def _documents(records: ProviderRecords, folder: str) -> Iterator[str]:
    """Yield the names of the documents in a folder whose field names the provider."""
    for path, document in records.documents.items():
        where, _slash, name = path.partition("/")
        if where == folder and document.get(_BY_FIELD[folder]) == records.name:
            yield name


def _waits_for(path: str, document: Mapping[str, Any], provider: str) -> bool:
    where = document.get(BY_WHERE)
    return path.startswith(f"{WAITS}/") and isinstance(where, str) and where.partition("/")[0] == provider
