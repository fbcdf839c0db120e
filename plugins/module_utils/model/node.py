# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node records: ``/nodepool/nodes/<10 digits>``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .bounded_text import bounded
from .documents import Reader, StatefulDocument, whole, whole_or_zero
from .stored import kind_of

DEFAULT_USERNAME = "zuul"
DEFAULT_PORT = 22


class NodeState:
    """The states of a node record."""

    INIT = "init"
    BUILDING = "building"
    TESTING = "testing"
    READY = "ready"
    IN_USE = "in-use"
    USED = "used"
    HOLD = "hold"
    DELETING = "deleting"
    FAILED = "failed"
    ABORTED = "aborted"
    DELETED = "deleted"

    ALL = frozenset((INIT, BUILDING, TESTING, READY, IN_USE, USED, HOLD, DELETING, FAILED, ABORTED, DELETED))
    FINISHED = frozenset((READY, IN_USE, USED, HOLD))
    """States in which the launch is over: the launcher does not write its record any more."""


_LONGEST_SHOWN = 20
"""Bytes of a wrong limit that a message shows."""
LONGEST_HOLD = 4e9
"""Seconds for which a node is held at most; more is a mistake."""


def hold_problem(value: Any) -> str | None:
    """Return why *value* is no limit of a hold; None when it is one, or null.

    Zuul writes whole seconds. Nodepool reads a text that is no number, and what is negative, as no limit of its own.
    """
    limit = whole(value)
    if value is None or (limit is not None and 0 <= limit <= LONGEST_HOLD):
        return None
    if isinstance(value, str):
        what = repr(bounded(value, _LONGEST_SHOWN))
    else:
        what = kind_of(value) if limit is None else f"{limit:.4g}"
    return f"'hold_expiration' is {what}, not a number of seconds: only max-hold-age ends the hold"


@dataclass
class Node(StatefulDocument):
    """A node, from the decision to launch it until its server is gone. Times are UNIX seconds, ram is MiB."""

    STATES: ClassVar[frozenset[str]] = NodeState.ALL
    NEEDED: ClassVar[tuple[str, ...]] = ("state", "type", "provider")
    FORGOTTEN: ClassVar[frozenset[str]] = frozenset({"id", "ssh_port"})
    READ: ClassVar[Mapping[str, Reader]] = {
        "hold_expiration": lambda value: None if value is None else whole_or_zero(value)
    }
    ABSENT: ClassVar[Mapping[str, Any]] = {"username": DEFAULT_USERNAME}

    state: str = NodeState.INIT
    created_time: float | None = None
    type: list[str] = field(default_factory=list)
    provider: str | None = None
    pool: str | None = None
    launcher: str | None = None
    allocated_to: str | None = None
    tenant_name: str | None = None
    requestor: str | None = None
    attributes: dict[str, Any] | None = None
    image_id: str | None = None
    username: str | None = None
    python_path: str | None = None
    shell_type: str | None = None
    connection_port: int = DEFAULT_PORT
    connection_type: str | None = None
    resources: dict[str, Any] | None = None
    external_id: Any = None
    cloud: str | None = None
    region: str | None = None
    az: str | None = None
    host_id: str | None = None
    public_ipv4: str | None = None
    private_ipv4: str | None = None
    public_ipv6: str | None = None
    interface_ip: str | None = None
    host_keys: list[str] = field(default_factory=list)
    slot: int | None = None
    hostname: str | None = None
    driver_data: Any = None
    node_properties: dict[str, Any] | None = field(default_factory=dict)
    hold_job: str | None = None
    comment: str | None = None
    hold_expiration: int | None = None
    user_data: Any = None

    def complete(self, document: Mapping[str, Any]) -> None:
        """Set the port from ``ssh_port``, the only port key in old documents. Remark upon a wrong limit of a hold.

        Nodepool's drivers for clusters store an object with the access to a namespace or pod where others have the
        port: nothing here uses it, and it is written back as it is.
        """
        if document.get("hold_expiration") is not None and self.state == NodeState.HOLD:
            self.remark = hold_problem(document["hold_expiration"]) or ""
        if not self.connection_port:
            self.connection_port = whole(document.get("ssh_port")) or DEFAULT_PORT
        access = document.get("connection_port")
        if isinstance(access, Mapping):
            self.written = {**(self.written or {}), "connection_port": (self.connection_port, access)}

    def to_document(self) -> dict[str, Any]:
        """Return the document with a copy of the port under its old name, as Nodepool writes it."""
        document = super().to_document()
        document["ssh_port"] = document["connection_port"]
        return document
