# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of a node that is gone, so that what turns up of it later can be proven ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from .launch import Launch
from .stored import made

TOMBSTONES = "tombstones"
"""Folder in our own subtree: ``tombstones/<provider>/<node id>``."""

KEPT_SECONDS = 6 * 3600.0
MOST = 1000
"""Tombstones of a provider; the oldest go first."""
_MOST_IDS = 20


@dataclass
class Tombstone:
    """Everything that a node ever had in the cloud. *buried*: UNIX time."""

    node_id: str
    buried: float = 0.0
    servers: list[str] = field(default_factory=list)
    floating_ips: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)

    def add(self, launch: Launch | None, server_id: str | None = None) -> bool:
        """Note what the launch has (and a server that only the node's record names); True when that is news."""
        before = self.document()
        _note(self.servers, [launch.server_id if launch else None, server_id])
        if launch is not None:
            _note(self.floating_ips, [launch.floating_ip_id])
            _note(self.volumes, launch.volume_ids)
            _note(self.marks, [*launch.superseded, launch.mark])
        return self.document() != before

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """From what is stored; keys of a newer version are ignored.

        :raises BadDocument: it is something else.
        """
        return made(cls, document)

    def is_past(self, now: float) -> bool:
        """True when nothing can turn up any more; far in the future is what a clock that was ahead has stored."""
        return abs(now - self.buried) > KEPT_SECONDS


class Tombstones:
    """The tombstones of a provider by what they name."""

    def __init__(self, tombstones: Iterable[Tombstone] = ()) -> None:
        self.servers: dict[str, str] = {}
        self.floating_ips: dict[str, str] = {}
        self.volumes: dict[str, str] = {}
        self.marks: dict[str, str] = {}
        for tombstone in tombstones:
            for name in ("servers", "floating_ips", "volumes", "marks"):
                getattr(self, name).update(dict.fromkeys(getattr(tombstone, name), tombstone.node_id))


def _note(known: list[str], news: Iterable[str | None]) -> None:
    for item in news:
        if item and item not in known:
            known.append(item)
    del known[:-_MOST_IDS]
