# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What happened in a run: every change of ZooKeeper and the calls that matter, in one order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

CREATE, SET, DELETE = "create", "set", "delete"
NODES, REQUESTS, OWN = "/nodepool/nodes", "/nodepool/requests", "/nodepool/stackci"


@dataclass(frozen=True)
class Change:
    """A znode was created, set or deleted. *owner* is the session of an ephemeral znode, 0 for others."""

    at: float
    session: int
    kind: str
    path: str
    data: bytes = b""
    owner: int = 0


@dataclass(frozen=True)
class ServerDeleted:
    """The API was asked to delete a server."""

    at: float
    cloud: str
    server: str


@dataclass(frozen=True)
class CreateRefused:
    """A create was refused for want of quota; *at* is when the answer was sent, *began* when the call arrived."""

    at: float
    began: float
    cloud: str


@dataclass(frozen=True)
class Configured:
    """nodepool.yaml was written: pool ("provider/pool") → max-servers (infinity: no bound) and labels."""

    at: float
    pools: Mapping[str, tuple[float, frozenset[str]]]


@dataclass(frozen=True)
class Typo:
    """nodepool.yaml cannot be used from *at* until *until*."""

    at: float
    until: float


@dataclass(frozen=True)
class Lapse:
    """Nodepool's launcher was killed, stopped or cut off at *at*, and what came of that was over at *until*."""

    at: float
    until: float


Event = Change | ServerDeleted | CreateRefused | Configured | Typo | Lapse


@dataclass(frozen=True)
class Remains:
    """What is there when all load is over and the site had time to settle.

    :param servers: (provider, server) of each server with the mark of the tree.
    :param addresses: (provider, floating IP) → server, "" for none, of each floating IP with the mark of the tree.
    :param foreign: what was planted and must be there, "provider kind id".
    :param found: the same, as it is found.
    """

    servers: frozenset[tuple[str, str]] = frozenset()
    addresses: Mapping[tuple[str, str], str] = field(default_factory=dict)
    foreign: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()


class Tree:
    """ZooKeeper at one moment of the history."""

    def __init__(self) -> None:
        self.znodes: dict[str, tuple[bytes, int]] = {}
        self._locks: dict[str, dict[str, int]] = {}

    def apply(self, change: Change) -> None:
        """Carry a change out."""
        parent, _slash, name = change.path.rpartition("/")
        if change.kind == DELETE:
            self.znodes.pop(change.path, None)
            self._locks.get(parent, {}).pop(name, None)
            return
        owner = change.owner if change.kind == CREATE else self.znodes.get(change.path, (b"", 0))[1]
        self.znodes[change.path] = (change.data, owner)
        if parent.endswith("/lock") and change.kind == CREATE:
            self._locks.setdefault(parent, {})[name] = owner

    def document(self, path: str) -> dict[str, Any] | None:
        """The JSON object at *path*; None where there is none."""
        data, _owner = self.znodes.get(path, (b"", 0))
        return document(data)

    def node(self, ident: str) -> dict[str, Any] | None:
        """A node record."""
        return self.document(f"{NODES}/{ident}")

    def request(self, ident: str) -> dict[str, Any] | None:
        """A request."""
        return self.document(f"{REQUESTS}/{ident}")

    def holder(self, node: str) -> int | None:
        """The session that has the lock of a node; kazoo's lock belongs to the lowest sequence number."""
        waiting = self._locks.get(f"{NODES}/{node}/lock")
        return waiting[min(waiting, key=lambda name: name[-10:])] if waiting else None

    def below(self, root: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(name, document) of each direct child of *root* that has a document."""
        for path, (data, _owner) in self.znodes.items():
            parent, _slash, name = path.rpartition("/")
            found = document(data) if parent == root else None
            if found is not None:
                yield name, found


def document(data: bytes) -> dict[str, Any] | None:
    """Parse a document; None for anything else."""
    try:
        found = json.loads(data) if data else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def record_of(path: str, root: str) -> str | None:
    """The id of the record at *path* when it is a direct child of *root*."""
    parent, _slash, name = path.rpartition("/")
    return name if parent == root else None


@dataclass(frozen=True)
class History:
    """A whole run.

    :param skew: seconds by which the clock of a host is wrong at most; a hold ends by the clock of the launcher.
    :param planted: paths of the records of strangers, for which no rule holds.
    :param cloudless: providers whose nodes are no servers of a cloud.
    :param providers: name → which launcher's it is, where there is one of Nodepool.
    """

    events: Sequence[Event]
    remains: Remains
    skew: float = 0.0
    planted: frozenset[str] = frozenset()
    cloudless: frozenset[str] = frozenset()
    providers: Mapping[str, str] = field(default_factory=dict)

    def concerns(self, event: Event) -> bool:
        """False for a change of what a stranger has planted."""
        parts = event.path.split("/")[:4] if isinstance(event, Change) else []
        return "/".join(parts) not in self.planted
