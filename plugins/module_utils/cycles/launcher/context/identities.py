# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes answer at an address or with a host key. A pass indexes only nodes that have changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....launching.server_identity import COMING, Face, face_of
from ....model.node import Node


class Identities:
    """The addresses and host keys of all nodes that were handed over, may be handed over, or are being deleted."""

    def __init__(self) -> None:
        self._faces: dict[str, Face] = {}
        self._by_address: dict[tuple[str, str], set[str]] = {}
        self._by_key: dict[tuple[str, str], set[str]] = {}

    def follow(self, changed: Iterable[str], nodes: Mapping[str, Node]) -> None:
        """Update the index.

        :param changed: ids of nodes that are new, different or gone.
        :param nodes: all nodes by id.
        """
        for node_id in changed:
            node, before = nodes.get(node_id), self._faces.get(node_id)
            if node is not None and node.state in COMING:
                # Its server counts once it was proved, which the record does not tell yet.
                if before is not None and before.server_id != node.external_id:
                    self._remove(node_id)
                continue
            face = None if node is None else face_of(node)
            if face != before:
                self._remove(node_id)
                if face is not None:
                    self._add(face)

    def claim(self, face: Face) -> None:
        """Note a node whose server is proved; its record is about to be written."""
        self._remove(face.node_id)
        self._add(face)

    def near(self, face: Face) -> list[Face]:
        """Return the other nodes of the provider with the same address or a common host key."""
        found = set(self._by_address.get((face.provider, face.address), ()))
        for key in face.keys:
            found |= self._by_key.get((face.provider, key), set())
        return [self._faces[node_id] for node_id in sorted(found) if node_id != face.node_id]

    def addresses(self, provider: str, key: str) -> set[str]:
        """Return the addresses of the provider's nodes with that host key."""
        return {self._faces[node_id].address for node_id in self._by_key.get((provider, key), ())}

    def _places(self, face: Face) -> list[tuple[dict[tuple[str, str], set[str]], tuple[str, str]]]:
        keys = [(self._by_key, (face.provider, key)) for key in face.keys]
        return [(self._by_address, (face.provider, face.address)), *keys]

    def _add(self, face: Face) -> None:
        self._faces[face.node_id] = face
        for index, key in self._places(face):
            index.setdefault(key, set()).add(face.node_id)

    def _remove(self, node_id: str) -> None:
        face = self._faces.pop(node_id, None)
        for index, key in self._places(face) if face is not None else ():
            index[key].discard(node_id)
            if not index[key]:
                del index[key]
