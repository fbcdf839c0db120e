# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tombstones: records of deleted nodes. They prove that objects of such a node that appear later are the launcher's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .documents import copied
from .launch import Launch, Phase
from .node import Node
from .stored import Stored, is_number

KEPT_SECONDS = 6 * 3600.0
MOST = 1000
"""Maximum number of tombstones of a provider; the oldest are deleted first."""
_MOST_IDS = 20


def _times(value: Any) -> dict[str, float]:
    """Return the valid times: a tombstone must stay usable as a proof even when its times are not."""
    return {str(name): at for name, at in value.items() if is_number(at)} if isinstance(value, Mapping) else {}


@dataclass
class Tombstone(Stored):
    """The ids of all objects that a node ever had in the cloud, and, for operators, the times of its life.

    *buried*: when ids were last added to it, in UNIX seconds. *times*: event → UNIX seconds. *request_id*: the request
    that the node belonged to last. *why*: why the node was deleted. The tombstone of a failed attempt of a launch has
    only *buried* of these.
    """

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"times": _times}

    node_id: str
    buried: float = 0.0
    servers: list[str] = field(default_factory=list)
    floating_ips: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    times: dict[str, float] = field(default_factory=dict)
    request_id: str | None = None
    why: str = ""

    def add(self, launch: Launch | None, server_id: str | None = None) -> bool:
        """Add the objects of a launch, and a server that only the node's record names; return True when one is new."""
        is_news = _note(self.servers, [launch.server_id if launch else None, server_id])
        if launch is not None:
            is_news |= _note(self.floating_ips, [launch.floating_ip_id])
            is_news |= _note(self.volumes, launch.volume_ids)
            is_news |= _note(self.marks, [*launch.superseded, launch.mark])
        return is_news

    def document(self) -> dict[str, Any]:
        """Return the tombstone as it is stored. It is not made with asdict, because each deleted node needs one."""
        return copied(vars(self))  # type: ignore[no-any-return]

    def is_past(self, now: float) -> bool:
        """Return True when no object of the node can appear any more.

        A time far in the future also counts as past: a clock that was ahead has stored it.
        """
        return abs(now - self.buried) > KEPT_SECONDS


@dataclass(frozen=True)
class Life:
    """The part of a :class:`Tombstone` about the life of its node."""

    times: Mapping[str, float] = field(default_factory=dict)
    request_id: str | None = None
    why: str = ""


def life_of(node: Node, launch: Launch | None, in_use_since: float | None, why: str) -> Life:
    """Return the life of a node whose deletion is about to begin.

    :param in_use_since: UNIX time at which the requestor began to use the node; None when it is not known.
    """
    times = {"recorded": node.created_time}
    if launch is not None:
        times |= {"launched": launch.started, "created": launch.created_at, "active": launch.active_at}
        times["ready"] = launch.since if launch.phase == Phase.READY else None
    times |= {"in-use": in_use_since, node.state: node.state_time}
    known = {name: at for name, at in times.items() if name and at}
    return Life(dict(sorted(known.items(), key=lambda pair: pair[1])), node.allocated_to, why)


class Tombstones:
    """The tombstones of a provider as maps: id of a server, floating IP or volume, or mark → node id."""

    def __init__(self, tombstones: Iterable[Tombstone] = ()) -> None:
        self.servers: dict[str, str] = {}
        self.floating_ips: dict[str, str] = {}
        self.volumes: dict[str, str] = {}
        self.marks: dict[str, str] = {}
        for tombstone in tombstones:
            for name in ("servers", "floating_ips", "volumes", "marks"):
                getattr(self, name).update(dict.fromkeys(getattr(tombstone, name), tombstone.node_id))


def _note(known: list[str], news: Iterable[str | None]) -> bool:
    """Add new ids to *known*, which keeps the last _MOST_IDS; return True when it changed."""
    before = list(known)
    for item in news:
        if item and item not in known:
            known.append(item)
    del known[:-_MOST_IDS]
    return known != before
