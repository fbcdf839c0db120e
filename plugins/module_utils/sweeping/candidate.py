# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A thing in a cloud or in the ZooKeeper tree that a sweep has found, and whether it leaked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Kind:
    """The kinds of things that a sweep looks for."""

    SERVER = "server"
    PORT = "port"
    FLOATING_IP = "floating-ip"
    VOLUME = "volume"
    IMAGE = "image"
    NODE = "node"
    LAUNCH = "launch-record"
    EMPTY_NODE = "empty-node"
    REQUEST_LOCK = "request-lock"
    LOST_REQUEST = "lost-request"
    DOCUMENT = "document"

    CLOUD = (SERVER, PORT, FLOATING_IP, VOLUME, IMAGE)
    TREE = (EMPTY_NODE, REQUEST_LOCK, LOST_REQUEST, DOCUMENT)
    ALL = (NODE, *CLOUD, LAUNCH, *TREE)


class Ownership:
    """Whether a thing leaked or is foreign. A thing in use is not examined further and has neither value."""

    LEAKED = "leaked"
    FOREIGN = "foreign"


_TEXTS = {
    # leaked
    "node-unknown": "made for node {node} of this provider, which no longer exists",
    "superseded": "made for node {node}, which has another server",
    "not-attached": "made for node {node}, which does not use it",
    "server-gone": "belonged to server {server} of node {node}, which no longer exists",
    "upload-unknown": "upload {upload} of build {build}, which is not in ZooKeeper",
    "replaced": "upload {upload} of build {build}, which has a different image ({image})",
    "nothing-left": "node {node} and all that it had are gone",
    "empty": "it is empty and no client holds its lock",
    "request-gone": "request {request} no longer exists",
    "unserved": "request {request} is pending and no client holds its lock",
    "owner-gone": "{owner} no longer exists",
    "tree-adopted": "belongs to tree {site}, which the operator declared as gone",
    "unmarked-adopted": "names this provider but no tree, this tree has no record of it, and adopt_unmarked is set",
    "lease-over": "the lease has ended and nothing of it is left",
    # foreign
    "other-provider": "belongs to provider {provider}",
    "unmarked": "has no marker of this collection",
    "other-tree": "belongs to another tree ({site})",
    "no-tree": "names this provider, but no tree, and this tree has no record of it: Nodepool or an earlier"
    " version of this collection created it",
    "no-node": "names this provider, but no node",
    "snapshot": "a snapshot of a server that booted from an image of this tree",
    "unproven": "looks abandoned, but nothing proves that it belongs to this tree",
    "provider-unknown": "its provider {provider} is not in the configuration",
}


@dataclass(frozen=True)
class LeakCandidate:
    """A thing that is not in use.

    *created*: UNIX time, None when it is unknown. *min_age*: seconds of age below which it is not deleted, instead of
    the site's rule. *node_id*: the node whose record decides; the sweep reads the record again before it deletes.
    """

    kind: str
    id: str
    ownership: str
    code: str
    name: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict)
    created: float | None = None
    min_age: float | None = None
    node_id: str | None = None

    @property
    def key(self) -> str:
        """A key that is unique among all things of a provider, or of the tree."""
        return f"{self.kind}/{self.id}"

    @property
    def text(self) -> str:
        """The reason for *ownership*, as text for people."""
        return _TEXTS[self.code].format_map({"node": self.node_id, **self.figures})
