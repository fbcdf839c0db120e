# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of a gate: asked for as any requestor asks, taken under their locks, given back or held for a person."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.bounded_text import bounded
from ....model.config.gate_labels import canary_label, control_label
from ....model.errors import StoreGone
from ....model.gate import CANARY, GATE_REQUESTOR, LONGEST_REASON, TOKEN, GateRecord
from ....model.image import Upload
from ....model.node import Node, NodeState
from ....model.own_tree import WAITS
from ....model.reasons import LAUNCH_FAILED
from ....model.request import NodeRequest, RequestState

LAST_PRIORITY, FIRST_PRIORITY = 900, 0
"""Priorities of the requests: behind everybody, and before everybody."""


@dataclass
class TakenNode:
    """A node in state in-use whose lock this session holds."""

    node: Node
    held: Held


@dataclass(frozen=True)
class Refused:
    """The request has failed: no node could be launched. *reason*: why, in words.

    :ivar tried: servers were launched for it; else no pool could begin, which says nothing about the image.
    """

    reason: str
    tried: bool = True


@dataclass(frozen=True)
class Waiting:
    """The request waits, or its node is being launched. *reason*: why, in words."""

    reason: str
    launching: bool = False


class GateNodes:
    """Gets the nodes of one gate.

    :param save: stores the gate's record.
    """

    def __init__(
        self, store: Store, upload: Upload, save: Callable[[GateRecord], None], clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._upload = upload
        self._save = save
        self._clock = clock

    def asked(self, record: GateRecord, kind: str, *, first: bool) -> GateRecord:
        """Return the record with a request for a node of *kind*; make the request if there is none.

        :param first: the request must go before those of others; a request that does not is replaced.
        """
        if record.kind != kind or (first and not record.first and self._is_open(record.request)):
            self.drop(record)
            record = replace(record, request="", token="", kind="")
        if not record.token:
            record = record.asking(kind, uuid.uuid4().hex, first=first)
            self._save(record)
        if not record.request:
            record = replace(record, request=self._find(record.token) or self._ask(record))
            self._save(record)
        return record

    def taken(self, record: GateRecord) -> TakenNode | Waiting | Refused | None:
        """Return the node of the request, locked and in use; None if it is lost and must be requested again."""
        request = self._store.requests.read(record.request)
        if request is None:
            return None
        if request.state == RequestState.FAILED:
            return self._refused(request.id)
        if request.state != RequestState.FULFILLED:
            return Waiting(self._reason(request.id), request.state == RequestState.PENDING)
        for node_id in request.nodes[:1]:
            return self._take(node_id, request.id)
        return None

    def give_back(self, taken: TakenNode, *, hold: float = 0.0, why: str = "") -> None:
        """Give a node back, so that the launcher deletes it; hold it for *hold* seconds first if that is not 0."""
        node, held = taken.node, taken.held
        try:
            if not held.valid:
                return  # without its lock an in-use node is deleted
            if hold > 0:
                node.hold_job = f"gate of {self._upload.image}"
                node.hold_expiration, node.comment = int(hold), bounded(why, LONGEST_REASON)
            node.set_state(NodeState.HOLD if hold > 0 else NodeState.USED, self._clock())
            self._store.nodes.write(node, held=held)
        except StoreGone:
            return
        finally:
            held.release()

    def drop(self, record: GateRecord) -> None:
        """Delete the request of the record, and give its node back; nothing happens if there is none."""
        request_id = record.request or (self._find(record.token) if record.token else "")
        if not request_id:
            return
        found = self.taken(replace(record, request=request_id))
        self._store.requests.delete(request_id)
        if isinstance(found, TakenNode):
            self.give_back(found)

    def _is_open(self, request_id: str) -> bool:
        request = self._store.requests.get(request_id) if request_id else None
        return request is not None and request.state == RequestState.REQUESTED

    def _find(self, token: str) -> str:
        """Return the id of the request with the token: a cycle may have been killed after it had made the request."""
        for request in self._store.requests.list():
            data = request.requestor_data
            if isinstance(data, dict) and data.get(TOKEN) == token:
                return request.id
        return ""

    def _ask(self, record: GateRecord) -> str:
        now = self._clock()
        name = canary_label if record.kind == CANARY else control_label
        request = NodeRequest(
            node_types=[name(self._upload.image)],
            provider=self._upload.provider,
            requestor=GATE_REQUESTOR,
            requestor_data={TOKEN: record.token},
            reuse=False,
            created_time=now,
        )
        request.set_state(RequestState.REQUESTED, now)
        self._store.requests.create(request, priority=FIRST_PRIORITY if record.first else LAST_PRIORITY)
        return request.id

    def _take(self, node_id: str, request_id: str) -> TakenNode | Waiting | None:
        held = self._store.nodes.lock(node_id)
        if held is None:
            there = self._store.nodes.read(node_id)
            if there is None or there.state not in (NodeState.READY, NodeState.IN_USE):
                return None  # its launcher deletes it, which may take minutes
            return Waiting("another program has its lock", launching=True)
        node = self._store.nodes.read(node_id)
        if node is None or node.state != NodeState.READY or node.allocated_to != request_id:
            held.release()
            return None
        try:
            node.set_state(NodeState.IN_USE, self._clock())
            self._store.nodes.write(node, held=held)
        except StoreGone:
            held.release()
            return None
        return TakenNode(node, held)

    def _refused(self, request_id: str) -> Refused:
        """Return why the request has failed; its launcher stores that before the state."""
        document = self._store.own.read(f"{WAITS}/{request_id}") or {}
        told = document.get("reasons")
        causes = told if isinstance(told, list) else []
        tried = any(isinstance(cause, dict) and cause.get("code") == LAUNCH_FAILED for cause in causes)
        return Refused(_text(document) or "no pool could launch it", tried)

    def _reason(self, request_id: str) -> str:
        return _text(self._store.own.get(f"{WAITS}/{request_id}") or {})


def _text(document: Mapping[str, Any]) -> str:
    text = document.get("text")
    return bounded(text, LONGEST_REASON) if isinstance(text, str) else ""
