# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell whether a new server is a machine of its own, by the address and the host keys with which it answers.

Within a provider both belong to one live node alone. A server that answers with those of another node is not handed
over: an old instance that nova does not know any more may still run on a hypervisor, or two servers may have got one
address. Then two users would work on one machine.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..model.node import Node, NodeState

COMING = frozenset({NodeState.INIT, NodeState.BUILDING})
LEAVING = frozenset({NodeState.USED, NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED})
"""States in which the cloud may have given the node's address to another server already."""
SHARED_BY = 3
"""Number of addresses that must have answered with one host key until it counts as a key that the image ships. Two may
be one machine that is reached by two addresses."""
MOST_KEYS = 100
"""Largest number of host keys that are remembered."""


@dataclass(frozen=True, slots=True)
class Face:
    """How a node's server answers: its address, its port, and its host keys as "keytype base64"."""

    node_id: str
    provider: str
    server_id: str
    address: str
    port: int
    keys: frozenset[str]
    state: str = NodeState.BUILDING


@dataclass(frozen=True)
class Clash:
    """Another node with the same address, or (*address* False) only with the same host keys.

    *keys*: the host keys that both have.
    """

    other: Face
    keys: frozenset[str]
    address: bool


def plain_address(text: str) -> str:
    """Return an IP address in its usual form, and any other text as it is."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def face_of(node: Node) -> Face | None:
    """Return how the node's server answers by its record; None while the record does not tell it."""
    if node.broken or not node.provider or not node.interface_ip or not isinstance(node.external_id, str):
        return None
    address = plain_address(node.interface_ip)
    keys = frozenset(node.host_keys)
    return Face(node.id, node.provider, node.external_id, address, node.connection_port, keys, node.state)


def find_clash(
    new: Face,
    others: Iterable[Face],
    *,
    own_address: bool = True,
    shared: Callable[[str], bool] = lambda key: False,
    left: Callable[[Face], bool] = lambda other: False,
    apart: Callable[[Face], bool] = lambda other: False,
) -> Clash | None:
    """Return the first node that *new* cannot be told from; None when *new* is a machine of its own.

    :param others: nodes of the same provider with the same address or a common host key.
    :param own_address: the address is one of the server's own. Otherwise it is that of a proxy, which may stand for
        several servers by different ports.
    :param shared: tells whether a host key is known to be shipped by an image, so that it proves nothing.
    :param left: tells whether the cloud may have given the other node's address away.
    :param apart: tells whether the two are known to be in different networks, where addresses may be equal.
    """
    by_key: list[Clash] = []
    by_address: list[Clash] = []
    for other in sorted(others, key=lambda other: other.node_id):
        if other.node_id == new.node_id or other.server_id == new.server_id:
            continue
        keys = frozenset(key for key in new.keys & other.keys if not shared(key))
        if new.address == other.address and (own_address or new.port == other.port):
            if keys:
                return Clash(other, keys, True)
            if other.state not in LEAVING and not left(other) and not apart(other):
                by_address.append(Clash(other, keys, True))
        elif keys:
            by_key.append(Clash(other, keys, False))
    return next(iter((*by_address, *by_key)), None)


def fingerprint(key: str) -> str:
    """Return the fingerprint of a host key ("keytype base64") as ssh-keygen shows it."""
    try:
        data = base64.b64decode(key.partition(" ")[2], validate=True)
    except (binascii.Error, ValueError):
        return key
    return "SHA256:" + base64.b64encode(hashlib.sha256(data).digest()).decode("ascii").rstrip("=")


def explain(new: Face, clash: Clash) -> str:
    """Return why *new* is not handed over, with both nodes and servers, and what to look for."""
    other = clash.other
    whose = f"node {other.node_id} ({other.state}, server {other.server_id})"
    me = f"server {new.server_id} at {new.address} port {new.port}"
    key = fingerprint(min(clash.keys)) if clash.keys else ""
    if clash.address and key:
        return (
            f"{me} answers with the address and the host key {key} of {whose}: one machine answers for both:"
            f" look for an instance that nova has deleted but that still runs on a hypervisor"
        )
    if clash.address:
        return f"{me} has the address of {whose}: look for ports with the same address in neutron"
    return (
        f"{me} answers with the host key {key} of {whose} at {other.address}: either one machine answers at"
        f" both addresses, or the image contains host keys: remove /etc/ssh/ssh_host_* from the image"
    )


class SharedKeys:
    """The host keys of one provider that an image ships: machines at several addresses answer with them.

    They prove nothing; the nodes are handed over because of their addresses. Keys are kept as fingerprints.
    """

    def __init__(self) -> None:
        self._known: dict[str, None] = {}
        self._seen: dict[str, set[str]] = {}

    def __contains__(self, key: object) -> bool:
        return bool(self._known) and isinstance(key, str) and fingerprint(key) in self._known

    def note(self, key: str, addresses: Iterable[str]) -> bool:
        """Note that machines at these addresses answered with the key; return True if the image ships it."""
        name = fingerprint(key)
        if name in self._known:
            return True
        seen = self._seen.setdefault(name, set())
        seen.update(addresses)
        if len(seen) >= SHARED_BY:
            del self._seen[name]
            self._known[name] = None
        _bound(self._known)
        _bound(self._seen)
        return name in self._known

    def document(self) -> list[str]:
        """Return the fingerprints for the next cycle."""
        return list(self._known)

    def learn(self, document: object) -> None:
        """Take over the fingerprints of an earlier cycle; ignore anything else."""
        found = document if isinstance(document, list) else []
        self._known.update(dict.fromkeys(name for name in found[-MOST_KEYS:] if isinstance(name, str)))


def _bound(items: dict[str, Any]) -> None:
    while len(items) > MOST_KEYS:
        del items[next(iter(items))]
