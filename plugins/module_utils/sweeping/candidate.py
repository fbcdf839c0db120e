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
    "node-unknown": "made for node {node} of this provider, which does not exist any more",
    "superseded": "made for node {node}, which has another server",
    "not-attached": "made for node {node}, which does not use it",
    "server-gone": "belonged to server {server} of node {node}, which does not exist any more",
    "upload-unknown": "upload {upload} of build {build}, of which ZooKeeper knows nothing",
    "replaced": "upload {upload} of build {build}, whose image is another one ({image})",
    "nothing-left": "node {node} and all that it had are gone",
    "empty": "it holds no data and no client holds its lock",
    "request-gone": "request {request} does not exist any more",
    "unserved": "request {request} is pending and no client holds its lock",
    "owner-gone": "{owner} does not exist any more",
    "tree-adopted": "belongs to tree {site}, which the operator has declared to be gone",
    "unmarked-adopted": "names this provider and no tree, is unknown to this one, and the operator adopts such things",
    "lease-over": "the lease is over and nothing of it is left",
    # foreign
    "other-provider": "belongs to provider {provider}",
    "unmarked": "carries no mark of ours",
    "other-tree": "belongs to another tree ({site})",
    "no-tree": "names this provider, but no tree, and no record of this tree names it: a Nodepool or an"
    " earlier version of this collection made it",
    "no-node": "names this provider, but no node",
    "snapshot": "a snapshot of a server that was made from an image of ours",
    "unproven": "looks as if it was left behind, but nothing proves that it is ours",
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
