# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases: nodes that a playbook keeps under a name, after the module that requested them has ended.

A lease is ``count`` sets of nodes. Each set is one request, so all its nodes come from one pool and availability zone.
The lease's document is written before the requests, and each request has the lease's name, nonce and set number: when
the module is killed, the next run finds the requests that were made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .bounded_text import is_printable
from .documents import seconds
from .errors import NodepoolError
from .node import Node, NodeState
from .own_tree import LEASE_LOCKS
from .request import NodeRequest, RequestState
from .stored import BadDocument, Stored, made

REQUESTOR = "stackci.nodepool"
"""``requestor`` of every request that belongs to a lease."""


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:+=-]{0,127}")


LARGEST_LEASE = 10_000
"""Nodes of a lease. Its document has the id of each, and ZooKeeper takes no larger one than about twice that."""
LONGEST_WORDS = 200
"""Characters of the owner and of the reason of a lease."""


class LeaseError(NodepoolError):
    """A lease cannot be made as it was specified."""


class LeaseOptionError(LeaseError):
    """An option of the lease has a value that no lease can have."""


@dataclass(frozen=True)
class LeaseSpec:
    """The lease that a playbook asks for.

    :param name: identifies the lease.
    :param labels: labels of one set, in order; empty when the lease is only to be released.
    :param count: number of sets.
    :param priority: 0 to 999; smaller numbers are served first.
    :param provider: preferred provider, None for any.
    :param tenant: tenant whose limits apply, None for none.
    :param expires: seconds that the nodes stay held after they were handed over.
    :param ends_at_time: True: these seconds count from the start of the run, however long the nodes are waited for.
    :param patience: maximum seconds that the requests stay while no playbook continues with the lease.
    :param owner: who asks, for people; "" for nobody.
    :param reason: what for, for people.
    """

    name: str
    labels: tuple[str, ...] = ()
    count: int = 1
    priority: int = 100
    provider: str | None = None
    tenant: str | None = None
    expires: int = 7200
    patience: int = 7200
    owner: str = ""
    reason: str = ""
    ends_at_time: bool = False

    @property
    def comment(self) -> str:
        """The comment of a held node: who has it, what for, and how it came to be held."""
        whose = " ".join(part for part in (self.owner, f"({self.reason})" if self.reason else "") if part)
        told = f"leased by stackci.nodepool.nodepool_request for {self.expires} s"
        return f"{whose}: {told}" if whose else told

    def check(self) -> None:
        """Check the values; raise LeaseOptionError with all problems."""
        problems = []
        if not _NAME.fullmatch(self.name):
            problems.append(
                f"name {self.name!r} cannot be used: the name of a lease has 1 to 128 characters, starts with a letter"
                " or a digit, and contains only letters, digits and . _ @ : + = -"
            )
        if self.count < 1:
            problems.append(f"count is {self.count}: request at least 1 set")
        nodes = self.count * len(self.labels)
        if nodes > LARGEST_LEASE:
            problems.append(f"count and labels make {nodes} nodes: a lease has at most {LARGEST_LEASE}")
        if not 0 <= self.priority <= 999:
            problems.append(f"priority is {self.priority}: it must be between 0 and 999")
        if self.expires < 1:
            problems.append(f"expires is {self.expires}: a lease lasts at least 1 second")
        if any(not label.strip() for label in self.labels):
            problems.append("labels has an empty entry: use the name of a label in nodepool.yaml")
        for key, text in (("owner", self.owner), ("reason", self.reason)):
            if len(text) > LONGEST_WORDS or not is_printable(text):
                problems.append(f"{key} must be one line of at most {LONGEST_WORDS} characters")
        if problems:
            raise LeaseOptionError("; ".join(problems))


def _read_sets(value: Any) -> list[LeaseSet]:
    if not isinstance(value, list):
        raise BadDocument("'sets' is not a list")
    return [made(LeaseSet, part) for part in value]


@dataclass
class LeaseSet:
    """One set: its request while there is one, and its nodes after they are held."""

    request: str | None = None
    nodes: list[str] = field(default_factory=list)


@dataclass
class Lease(Stored):
    """The document of a lease. Times are UNIX seconds. After *expires_at* no request or node of it can exist.

    *leaving*: the nodes that must be deleted before a lease that is being released ends.
    """

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"sets": _read_sets}

    name: str
    labels: list[str]
    nonce: str
    created_time: float
    expires: int
    expires_at: float
    sets: list[LeaseSet]
    leaving: list[str] = field(default_factory=list)
    owner: str = ""
    reason: str = ""

    @classmethod
    def new(cls, spec: LeaseSpec, nonce: str, now: float) -> Lease:
        """Return a lease without requests."""
        return cls(
            name=spec.name,
            labels=list(spec.labels),
            nonce=nonce,
            created_time=now,
            expires=spec.expires,
            expires_at=now + spec.patience + spec.expires,
            sets=[LeaseSet() for _unused in range(spec.count)],
            owner=spec.owner,
            reason=spec.reason,
        )

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Lease:
        """Read a document that :meth:`document` wrote; raises LeaseError for any other document."""
        try:
            return super().from_document(document)
        except BadDocument as problem:
            raise LeaseError(
                f"the document of lease {document.get('name')!r} in ZooKeeper cannot be used: {problem}:"
                " release its nodes by hand and delete the document"
            ) from problem

    @property
    def request_ids(self) -> list[str]:
        """The ids of the requests in the document."""
        return [part.request for part in self.sets if part.request is not None]

    @property
    def node_ids(self) -> list[str]:
        """The ids of the nodes in the document, in order of sets and labels."""
        return [node for part in self.sets for node in part.nodes]


def lock_path(name: str) -> str:
    """Return the path of the lock that only one requestor of a lease holds at a time.

    It is one of 256 permanent locks: a lock in the lease's own folder would vanish while another client waits for it,
    when the lease is deleted.
    """
    return f"{LEASE_LOCKS}/{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:2]}"


_HOLD_JOB = "lease "


def hold_job(name: str) -> str:
    """Return the ``hold_job`` of the nodes of a lease."""
    return _HOLD_JOB + name


def lease_of(node: Node) -> str | None:
    """Return the name of the lease for which a node is held; None when it is held for another reason or not held."""
    return mark_of(node) if node.state == NodeState.HOLD else None


def mark_of(node: Node) -> str | None:
    """Return the name of the lease for which a node is or was held; None when it never was."""
    job = node.hold_job or ""
    return job.removeprefix(_HOLD_JOB) if job.startswith(_HOLD_JOB) else None


def new_request(spec: LeaseSpec, lease: Lease, number: int, event_id: str, now: float) -> NodeRequest:
    """Return the request for one set, with the keys that Zuul writes."""
    request = NodeRequest(
        node_types=list(lease.labels),
        requestor=REQUESTOR,
        requestor_data={
            "lease": lease.name,
            "nonce": lease.nonce,
            "set": number,
            "expires_at": now + spec.patience,
        },
        provider=spec.provider,
        tenant_name=spec.tenant,
        relative_priority=0,
        event_id=event_id,
        created_time=now,
    )
    request.set_state(RequestState.REQUESTED, now)
    return request


def belongs(request: NodeRequest, name: str) -> bool:
    """Return True when *request* was made for the lease of that name."""
    data = request.requestor_data
    return request.requestor == REQUESTOR and isinstance(data, Mapping) and data.get("lease") == name


def is_for(request: NodeRequest, lease: Lease, number: int) -> bool:
    """Return True when *request* was made for this set of this lease, not of another one with the same name."""
    data = request.requestor_data
    return belongs(request, lease.name) and data.get("nonce") == lease.nonce and data.get("set") == number


def is_of_lease(request: NodeRequest) -> bool:
    """Return True for a request that was made for a lease."""
    return request.requestor == REQUESTOR


def request_expiry(request: NodeRequest, now: float, created_at: float | None = None) -> float | None:
    """Return when a request of a lease expires (UNIX seconds); None when the request has no expiry of a lease.

    :param created_at: when ZooKeeper created the request. If the created_time that the requestor wrote is in the
        future, its clock was ahead: then the requestor's patience is counted from *created_at*.
    """
    data = request.requestor_data
    if not is_of_lease(request) or not isinstance(data, Mapping):
        return None
    expires_at, begun = seconds(data.get("expires_at")), request.created_time
    if expires_at is None or created_at is None or begun is None or begun <= now:
        return expires_at
    return min(expires_at, min(created_at, now) + max(0.0, expires_at - begun))


def release_first(lease: str) -> str:
    """Return the end of a sentence that tells to release a lease before its objects are changed by hand."""
    return f"release the lease (nodepool_request with name: {lease} and state: absent)"


def is_marked(node: Node, name: str) -> bool:
    """Return True when *node* is held for the lease of that name, expired or not."""
    return node.state == NodeState.HOLD and is_of(node, name)


def is_of(node: Node, name: str) -> bool:
    """Return True when *node* is or was held for the lease of that name: a node keeps this mark until it is deleted."""
    return node.hold_job == hold_job(name)


def node_expiry(node: Node) -> float | None:
    """Return when a held node is deleted (UNIX seconds), None when the node has no limit of its own."""
    if not node.hold_expiration or node.hold_expiration < 0 or node.state_time is None:
        return None
    return node.state_time + node.hold_expiration


def is_over(node: Node, now: float) -> bool:
    """Return True for a node of any lease that was given back, or whose hold has expired: it has to be deleted."""
    if mark_of(node) is None:
        return False
    expiry = node_expiry(node)
    return node.state != NodeState.HOLD or (expiry is not None and now >= expiry)


def is_held(node: Node | None, name: str, now: float) -> bool:
    """Return True when *node* exists, is held for the lease of that name, and is not expired."""
    if node is None or not is_marked(node, name):
        return False
    expiry = node_expiry(node)
    return expiry is None or now < expiry


def is_handed_over(node: Node | None, request_id: str) -> bool:
    """Return True when *node* is ready and allocated to the request, whose requestor has not taken it yet."""
    return node is not None and node.state == NodeState.READY and node.allocated_to == request_id
