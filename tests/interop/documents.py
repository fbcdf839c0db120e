# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that a life leaves in ZooKeeper's log, and what differs between those of two programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.chaos.history import DELETE
from tests.chaos.transaction_log import TransactionLog

ENTITIES = {
    "request": re.compile(r"/nodepool/requests/[^/]+"),
    "node": re.compile(r"/nodepool/nodes/[^/]+"),
    "pool": re.compile(r"/nodepool/components/pool/[^/]+"),
    "launcher": re.compile(r"/nodepool/components/launcher/[^/]+"),
    "builder": re.compile(r"/nodepool/components/builder/[^/]+"),
    "build": re.compile(r"/nodepool/images/[^/]+/builds/(?!lock)[^/]+"),
    "upload": re.compile(r"/nodepool/images/[^/]+/builds/[^/]+/providers/[^/]+/images/(?!lock)[^/]+"),
}
"""What is compared → the paths of its znodes."""

OWN_VALUE = {
    "allocated_to", "az", "builder", "builder_id", "created_time", "declined_by", "event_id", "external_id",
    "external_name", "host_id", "hostname", "id", "image_id", "interface_ip", "launcher", "nodes", "private_ipv4",
    "public_ipv4", "public_ipv6", "requestor_data", "state_time", "version",
}  # fmt: skip
"""Keys whose values are another one each time; whether they are null, and their type, is compared."""


@dataclass(frozen=True)
class Life:
    """What was written to one znode: its documents in their order, and whether it is gone."""

    documents: list[dict[str, Any]]
    gone: bool

    def states(self) -> list[str]:
        """Its states in their order, each once."""
        found: list[str] = []
        for document in self.documents:
            if not found or found[-1] != document.get("state"):
                found.append(str(document.get("state")))
        return found

    def last(self, state: str) -> dict[str, Any]:
        """The last document with that state."""
        return [document for document in self.documents if document.get("state") == state][-1]


def lives(data_dir: Path, chroot: str) -> dict[str, list[Life]]:
    """Entity → the lives of its znodes, by path, so by their numbers and their providers."""
    documents: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in ENTITIES}
    gone = set()
    for change in TransactionLog(data_dir, chroot).changes():
        for name, form in ENTITIES.items():
            if form.fullmatch(change.path) and change.data:
                documents[name].setdefault(change.path, []).append(json.loads(change.data))
            elif form.fullmatch(change.path) and change.kind == DELETE:
                gone.add(change.path)
    return {name: [Life(found[path], path in gone) for path in sorted(found)] for name, found in documents.items()}


def differences(entity: str, theirs: Life, ours: Life, allowed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(what it is about, what differs); what *allowed* names is left out.

    :param allowed: ``entity.key``, or ``entity.states`` → the reason.
    """
    if theirs.states() != ours.states() and f"{entity}.states" not in allowed:
        yield f"{entity}.states", f"{' '.join(theirs.states())}; ours {' '.join(ours.states())}"
    if theirs.gone != ours.gone:
        yield f"{entity}.gone", f"{theirs.gone}; ours {ours.gone}"
    for state in dict.fromkeys(theirs.states()):
        if state in ours.states():
            for key, text in _keys(theirs.last(state), ours.last(state)):
                if f"{entity}.{key}" not in allowed and f"{entity}.{key}@{state}" not in allowed:
                    yield f"{entity}.{key}@{state}", text


def _keys(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key in sorted(theirs.keys() | ours.keys()):
        if key not in ours:
            yield key, f"{theirs[key]!r}; ours lacks it"
        elif key not in theirs:
            yield key, f"lacks it; ours {ours[key]!r}"
        elif key in OWN_VALUE:
            if _kind(theirs[key]) != _kind(ours[key]):
                yield key, f"{theirs[key]!r}; ours {ours[key]!r}"
        elif theirs[key] != ours[key]:
            yield key, f"{theirs[key]!r}; ours {ours[key]!r}"


def _kind(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return f"{type(value).__name__} {'with' if value else 'without'} content"
    return type(value).__name__ if value != "" else "empty text"
