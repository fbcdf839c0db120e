# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one node costs: the times of its server's life, and for whom it was. The source of the usage of each day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .bounded_text import marked
from .launch import Launch, Phase
from .node import Node, NodeState
from .stored import Stored, is_number

LONGEST_NAME = 100
"""Largest size in bytes of the name of a tenant, project, job, label, provider or pool: it bounds the documents."""
LONGEST_LIFE = 400 * 86400.0
"""Seconds of a life that are counted at most: an older time is a mistake of a clock."""
_USERS = frozenset({NodeState.IN_USE, NodeState.USED, NodeState.HOLD})
"""States of a node that its requestor has had."""

NEEDED = (
    "state",
    "state_time",
    "created_time",
    "type",
    "provider",
    "pool",
    "allocated_to",
    "tenant_name",
    "hold_job",
    "user_data",
)
"""Keys of a node's record from which its use is known."""


@dataclass
class NodeUse(Stored):
    """The life of a node's servers. Times are UNIX seconds.

    :ivar made: when the cloud accepted the create of its last server; None when it has none.
    :ivar ready: when its launch was complete; None when it never was.
    :ivar taken: since when it was its requestor's; None when nobody had it.
    :ivar held: since when it was held.
    :ivar left: when its use ended: its deletion is about to begin, or (``used``) its requestor is done.
    :ivar gone: when its last server was gone; None while it exists.
    :ivar thrown: seconds of its earlier servers, which were given up.
    :ivar servers: how many servers it had.
    :ivar wanted: when its request was made.
    :ivar warm: it was ready before its requestor asked for it.
    :ivar counted: until when the days have it already.
    """

    node_id: str
    label: str = ""
    provider: str = ""
    pool: str = ""
    tenant: str = ""
    project: str = ""
    job: str = ""
    made: float | None = None
    ready: float | None = None
    taken: float | None = None
    held: float | None = None
    left: float | None = None
    gone: float | None = None
    thrown: float = 0.0
    servers: int = 0
    wanted: float | None = None
    warm: bool = False
    counted: float = 0.0

    def add_server(self, made: float) -> None:
        """Add a server that was found after the deletion of its node had begun."""
        if self.made is None:
            self.made, self.servers = made, self.servers + 1


def use_of(
    node: Node,
    launch: Launch | None,
    *,
    in_use_since: float | None = None,
    held_since: float | None = None,
    ends: float | None = None,
) -> NodeUse:
    """Return the use of a node.

    Only the node's state is needed for a node with a launch record: when it was given to its requestor is stored there.

    :param node: its record before the state becomes ``deleting``.
    :param launch: its launch record; None for a node of Nodepool's launcher.
    :param in_use_since: when it came into use; for a node without launch record.
    :param held_since: since when it was held, if it was released since.
    :param ends: when its deletion begins; None for a node that goes on.
    """
    use = NodeUse(
        node_id=node.id,
        label=name_of(launch.label if launch else next(iter(node.type), "")),
        provider=name_of(node.provider),
        pool=name_of(node.pool),
        tenant=name_of(node.tenant_name),
        project=project_of(node),
        job=name_of(node.hold_job) or (launch.job if launch else ""),
    )
    if launch is None:
        use.made, use.servers = node.created_time, 1
        use.ready = in_use_since or (node.state_time if node.state == NodeState.READY else None)
    else:
        has_server = launch.server_id is not None
        use.made, use.thrown = launch.created_at if has_server else None, launch.thrown_seconds
        use.servers = launch.thrown + (has_server and launch.phase not in (Phase.CLEARING, Phase.FAILED))
        use.ready = launch.since if launch.phase == Phase.READY else None
        use.warm, use.wanted = launch.taken_at is not None, launch.wanted_at
    if node.state in _USERS or (node.state == NodeState.DELETING and node.allocated_to):
        use.taken = (launch.taken_at if launch else in_use_since) or use.ready
    if node.state == NodeState.HOLD:
        use.held = node.state_time
    elif node.state in (NodeState.USED, NodeState.DELETING):
        use.held = held_since
    over = node.state_time if node.state in (NodeState.USED, NodeState.DELETING) else None
    use.left = min((at for at in (over, ends) if at is not None), default=None)
    return use


def lost(launch: Launch, now: float) -> NodeUse:
    """Return the use of a node whose record another program has deleted; only its launch record is left."""
    node = Node(provider=launch.provider, pool=launch.pool, type=[launch.label])
    node.id, node.state = launch.node_id, NodeState.READY if launch.phase == Phase.READY else NodeState.FAILED
    use = use_of(node, launch, ends=now)
    use.taken = use.ready if use.ready is not None and launch.request_id else None
    use.taken = launch.taken_at or use.taken
    use.gone = now
    return use


def name_of(value: Any) -> str:
    """Return a name that another program has stored, printable and bounded; "" for anything else than a text."""
    return marked(value, LONGEST_NAME) if isinstance(value, str) else ""


_PROJECT = re.compile(r'"project_name":\s*"([^"\\]{1,500})"')


def project_of(node: Node) -> str:
    """Return the project that Zuul has written into ``user_data`` of a node in use; "" when there is none."""
    data = node.user_data
    if isinstance(data, Mapping):
        return name_of(data.get("project_name"))
    found = _PROJECT.search(data[:5000]) if isinstance(data, str) else None
    return name_of(found[1]) if found else ""


def job_of(requestor_data: Any) -> str:
    """Return the job that Zuul has written into ``requestor_data`` of a request; "" when there is none."""
    return name_of(requestor_data.get("job_name")) if isinstance(requestor_data, Mapping) else ""


def wanted_at(created_time: Any, now: float) -> float | None:
    """Return when a request was made, by the clock of its requestor: never in the future; None when it is not known."""
    return min(created_time, now) if is_number(created_time) and created_time > 0 else None
