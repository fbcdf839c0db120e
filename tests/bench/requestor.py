# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A requestor of its own over bare kazoo, which notes to the millisecond when it sees what."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.serialization import Create, Create2, Delete, SetData, Transaction

NODES = "/nodepool/nodes"
REQUESTS = "/nodepool/requests"
POOLS = "/nodepool/components/pool"
_WRITES = (Create, Create2, Delete, SetData, Transaction)


class _Counting(KazooClient):
    """Counts what it sends."""

    writes = requests = 0

    def _call(self, request: Any, async_object: Any) -> Any:
        self.requests += 1
        if isinstance(request, _WRITES):
            self.writes += 1
        return super()._call(request, async_object)


class Requestor:
    """Asks for nodes, takes them, gives them back. Times are UNIX seconds.

    :ivar submitted: request → when it was about to be created.
    :ivar fulfilled: request → when the event that says so arrived; *failed* likewise.
    :ivar nodes_of: request → its nodes.
    :ivar used: node → when it was given back.
    :ivar gone: node → when its record had vanished.
    """

    def __init__(self, hosts: str) -> None:
        self._client = _Counting(hosts=hosts, timeout=20.0)
        self._client.start(timeout=15)
        self._news = threading.Condition()
        self._locks: dict[str, Any] = {}
        self.submitted: dict[str, float] = {}
        self.fulfilled: dict[str, float] = {}
        self.failed: dict[str, float] = {}
        self.nodes_of: dict[str, list[str]] = {}
        self.used: dict[str, float] = {}
        self.gone: dict[str, float] = {}

    def close(self) -> None:
        """End the session; what it had locked is free then."""
        self._client.stop()
        self._client.close()

    @property
    def writes(self) -> int:
        """Writes that this requestor has sent so far."""
        return self._client.writes

    @property
    def requests(self) -> int:
        """Requests of any kind that this requestor has sent so far."""
        return self._client.requests

    # -- asking --------------------------------------------------------------------------------------------------

    def ask(self, number: int, labels: Sequence[str] = ("small",)) -> list[str]:
        """Submit requests as fast as they can be sent, and watch them."""
        self._client.ensure_path(REQUESTS)
        sent = []
        for _unused in range(number):
            now = time.time()
            sent.append((now, self._client.create_async(f"{REQUESTS}/200-", _document(labels, now), sequence=True)))
        requests = []
        for now, answer in sent:
            request = str(answer.get(timeout=30)).rsplit("/", 1)[1]
            self.submitted[request] = now
            requests.append(request)
            self._look(request, now)
        return requests

    def _look(self, request: str, at: float) -> None:
        watch = partial(self._changed, request)
        self._client.get_async(f"{REQUESTS}/{request}", watch=watch).rawlink(partial(self._read, request, at))

    def _changed(self, request: str, event: Any) -> None:
        if event.type == "CHANGED":
            self._look(request, time.time())

    def _read(self, request: str, at: float, result: Any) -> None:
        if result.exception is not None:
            return
        document = json.loads(result.value[0])
        with self._news:
            if document["state"] == "fulfilled" and request not in self.fulfilled:
                self.fulfilled[request] = at
                self.nodes_of[request] = list(document["nodes"])
            elif document["state"] == "failed":
                self.failed[request] = at
            self._news.notify_all()

    # -- waiting -------------------------------------------------------------------------------------------------

    def await_all(self, done: Callable[[], bool], seconds: float) -> bool:
        """True as soon as *done* is; False when that takes longer than *seconds*."""
        with self._news:
            return self._news.wait_for(done, seconds)

    def await_fulfilled(self, requests: Iterable[str], seconds: float) -> bool:
        """True when all of them are fulfilled or failed."""
        wanted = list(requests)
        return self.await_all(lambda: all(key in self.fulfilled or key in self.failed for key in wanted), seconds)

    def await_gone(self, nodes: Iterable[str], seconds: float) -> bool:
        """True when the records of all of them have vanished."""
        wanted = list(nodes)
        return self.await_all(lambda: all(node in self.gone for node in wanted), seconds)

    # -- using ---------------------------------------------------------------------------------------------------

    def accept(self, request: str) -> list[str]:
        """Lock the nodes of a fulfilled request, delete it, put the nodes to use."""
        nodes = self.nodes_of[request]
        for node in nodes:
            lock = self._client.Lock(f"{NODES}/{node}/lock")
            # Nodepool has made the record: the lock need not look for what is above it.
            lock.assured_path = self._client.exists(f"{NODES}/{node}/lock") is not None
            lock.acquire(timeout=30)
            self._locks[node] = lock
        self._client.delete(f"{REQUESTS}/{request}")
        for node in nodes:
            self._set_state(node, "in-use")
        return nodes

    def give_back(self, node: str) -> None:
        """Mark a node as used, unlock it and watch for its end."""
        self._set_state(node, "used")
        self._client.exists(f"{NODES}/{node}", watch=partial(self._ended, node))
        self._locks.pop(node).release()
        self.used[node] = time.time()

    def occupy(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Nodes that are in use already: their records, and locks of ours."""
        self._client.ensure_path(NODES)
        made = self._all(self._client.create_async(f"{NODES}/", _bytes(item), sequence=True) for item in records)
        ids = [str(path).rsplit("/", 1)[1] for path in made]
        self._all(self._client.create_async(f"{NODES}/{node}/lock") for node in ids)
        contenders = (f"{NODES}/{node}/lock/{uuid.uuid4().hex}__lock__" for node in ids)
        self._all(self._client.create_async(path, sequence=True, ephemeral=True) for path in contenders)
        return ids

    def rewrite(self, records: Mapping[str, Mapping[str, Any]]) -> None:
        """Replace records of nodes."""
        self._all(self._client.set_async(f"{NODES}/{node}", _bytes(item)) for node, item in records.items())

    def mark(self, nodes: Iterable[str]) -> None:
        """Change a little in the records of nodes."""
        path = f"{NODES}/"
        known = {node: json.loads(self._client.get(path + node)[0]) for node in nodes}
        self.rewrite({node: {**document, "comment": uuid.uuid4().hex} for node, document in known.items()})

    @staticmethod
    def _all(answers: Iterable[Any]) -> list[Any]:
        """The values of answers, all of which are asked for before the first is awaited."""
        return [answer.get(timeout=60) for answer in list(answers)]

    def withdraw(self, requests: Iterable[str]) -> None:
        """Delete requests that are not wanted any more."""
        for answer in [self._client.delete_async(f"{REQUESTS}/{request}") for request in requests]:
            answer.wait(30)

    def _ended(self, node: str, event: Any) -> None:
        now = time.time()
        if event.type == "DELETED":
            self._is_gone(node, now)
        elif event.type == "CHANGED":
            watch = partial(self._ended, node)
            self._client.exists_async(f"{NODES}/{node}", watch=watch).rawlink(partial(self._is_there, node))

    def _is_there(self, node: str, answer: Any) -> None:
        """A node may have vanished between an event and the next watch."""
        if answer.successful() and answer.value is None:
            self._is_gone(node, time.time())

    def _is_gone(self, node: str, at: float) -> None:
        with self._news:
            self.gone.setdefault(node, at)
            self._news.notify_all()

    def _set_state(self, node: str, state: str) -> None:
        path = f"{NODES}/{node}"
        document = json.loads(self._client.get(path)[0])
        document.update(state=state, state_time=time.time())
        self._client.set(path, json.dumps(document).encode())

    # -- looking around ------------------------------------------------------------------------------------------

    def registrations(self) -> set[str]:
        """The registrations of pools; whoever takes over makes new ones."""
        return set(self._client.get_children(POOLS)) if self._client.exists(POOLS) else set()

    def labels(self) -> set[str]:
        """What the registered pools offer."""
        found: set[str] = set()
        for name in self.registrations():
            with contextlib.suppress(NoNodeError):
                found.update(json.loads(self._client.get(f"{POOLS}/{name}")[0]).get("supported_labels", []))
        return found

    def touch(self) -> None:
        """One write that changes nothing for anybody."""
        self._client.set("/", b"")

    def nodes(self) -> dict[str, dict[str, Any]]:
        """All node records."""
        if self._client.exists(NODES) is None:
            return {}
        names = sorted(self._client.get_children(NODES))
        answers = [(name, self._client.get_async(f"{NODES}/{name}")) for name in names]
        found = {}
        for name, answer in answers:
            answer.wait(30)
            if answer.successful() and answer.value[0]:
                found[name] = json.loads(answer.value[0])
        return found


def _bytes(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


def _document(labels: Sequence[str], now: float) -> bytes:
    document = {
        "requestor": "bench",
        "requestor_data": {"job_name": "bench"},
        "node_types": list(labels),
        "created_time": now,
        "provider": None,
        "state": "requested",
        "state_time": now,
        "relative_priority": 0,
        "event_id": uuid.uuid4().hex,
        "tenant_name": "bench",
        "reuse": True,
        "declined_by": [],
        "nodes": [],
    }
    return json.dumps(document).encode()
