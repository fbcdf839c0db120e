# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node requests: ``/nodepool/requests/<3 digit priority>-<10 digits>``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .documents import Reader, StatefulDocument

DEFAULT_PRIORITY = 100
_ID = re.compile(r"(\d{3})-(-?\d{9,10})")
_LAST = ("999", "9999999999")


class RequestState:
    """The states of a node request."""

    REQUESTED = "requested"
    PENDING = "pending"
    FULFILLED = "fulfilled"
    FAILED = "failed"

    ALL = frozenset((REQUESTED, PENDING, FULFILLED, FAILED))
    FINISHED = frozenset((FULFILLED, FAILED))


def request_prefix(priority: int) -> str:
    """Return the name of a request's znode before ZooKeeper adds the sequence number.

    :raises ValueError: *priority* is not between 0 and 999: Zuul expects ids with three digits for it.
    """
    if not 0 <= priority <= 999:
        raise ValueError(f"a request's priority is a number from 0 to 999, not {priority}")
    return f"{priority:03d}-"


def id_parts(request_id: str) -> tuple[str, str]:
    """Return the priority and the sequence number in an id; an id of another form comes last."""
    match = _ID.fullmatch(request_id)
    return (match[1], match[2]) if match else _LAST


@dataclass
class NodeRequest(StatefulDocument):
    """A request for a set of nodes. Times are UNIX seconds."""

    STATES: ClassVar[frozenset[str]] = RequestState.ALL
    NEEDED: ClassVar[tuple[str, ...]] = ("state", "node_types")
    READ: ClassVar[Mapping[str, Reader]] = {"reuse": lambda value: value if isinstance(value, bool) else True}

    state: str = RequestState.REQUESTED
    node_types: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    declined_by: list[str] = field(default_factory=list)
    reuse: bool = True
    requestor: str | None = None
    requestor_data: Any = None
    provider: str | None = None
    relative_priority: int = 0
    event_id: str | None = None
    created_time: float | None = None
    tenant_name: str | None = None

    def complete(self, document: Mapping[str, Any]) -> None:
        """Accept an empty list of labels: Nodepool's launcher fulfils such a request at once, without nodes."""
        if document.get("node_types") == [] and self.state:
            self.broken = False

    @property
    def id_parts(self) -> tuple[str, str]:
        """See :func:`id_parts`."""
        return id_parts(self.id)

    @property
    def priority(self) -> int:
        """The priority, from 0 (first) to 999."""
        return int(self.id_parts[0])

    @property
    def sequence(self) -> int:
        """The sequence number from ZooKeeper."""
        return int(self.id_parts[1])

    @property
    def order(self) -> tuple[str, int, str]:
        """Sort key of requests: the smallest one is served first."""
        priority, sequence = self.id_parts
        return (priority, self.relative_priority, sequence)
