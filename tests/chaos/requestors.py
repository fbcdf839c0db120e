# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requestors over bare kazoo, which write what Zuul writes; each request has a habit.

Each request that is taken has a session of its own: what goes wrong in it ends that session and its locks only.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from tests.chaos.history import NODES, REQUESTS

WHO = "chaos"
LOOK = 0.4
AGAIN = 1.0
PROBLEMS = (KazooException, KazooTimeoutError, OSError)


class Taken:
    """The nodes that one request got, locked in a session of their own."""

    def __init__(self, client: KazooClient, nodes: list[str]) -> None:
        self.client = client
        self.nodes = nodes
        self.locks: dict[str, Any] = {}

    def lock(self) -> bool:
        """Lock all of them; False when one is locked by another session."""
        for node in self.nodes:
            lock = self.client.Lock(f"{NODES}/{node}/lock")
            if not lock.acquire(blocking=False):
                return False
            self.locks[node] = lock
        return True

    def read(self, node: str) -> dict[str, Any]:
        """The record of a node."""
        data, _stat = self.client.get(f"{NODES}/{node}")
        return dict(json.loads(data)) if data else {}

    def write(self, **changes: Any) -> None:
        """Change all nodes, if their locks are still ours.

        :raises KazooException: one is not; nothing is written.
        """
        together = self.client.transaction()
        for node, lock in self.locks.items():
            document = {**self.read(node), **changes, "state_time": time.time()}
            together.check(f"{lock.path}/{lock.node}", -1)
            together.set_data(f"{NODES}/{node}", json.dumps(document).encode())
        for answer in together.commit():
            if isinstance(answer, Exception):
                raise answer

    def end(self) -> None:
        """End the session: all locks are given back at once."""
        with contextlib.suppress(*PROBLEMS):
            self.client.stop()
            self.client.close()


class Requestors:
    """One thread that plays them all.

    :param hosts: ZooKeeper with the chroot.
    :ivar quiet: True: nothing new is held, cancelled, kept waiting or lost.
    :ivar broken: fulfilled requests whose nodes were gone or another's, which they give up as Zuul does.
    """

    def __init__(self, hosts: str, log: Callable[[str], None]) -> None:
        self.hosts = hosts
        self.log = log
        self.quiet = False
        self.asked = self.served = self.failed = self.broken = 0
        self.open: dict[str, Mapping[str, Any]] = {}
        self.busy = 0
        self._client = self._connected()
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._news = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="requestors", daemon=True)

    def __enter__(self) -> Requestors:
        self._thread.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        with self._news:
            self._over = True
            self._news.notify()
        self._thread.join(60.0)
        self._client.stop()
        self._client.close()

    def ask(self, options: Mapping[str, Any]) -> None:
        """Have a request written."""
        self._later(0.0, lambda: self._ask(options))

    def idle(self) -> bool:
        """True when no request is open and no node is used or held."""
        with self._news:
            return not self.open and not self.busy

    def forget_unknown(self) -> None:
        """Delete requests whose creation was not confirmed: their requestor asks again under another number."""
        for name in self._client.get_children(REQUESTS):
            if name not in self.open and (self._read(name) or {}).get("requestor") in (None, WHO):
                with contextlib.suppress(NoNodeError):
                    self._client.delete(f"{REQUESTS}/{name}")

    # -- the thread ----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._news:
                while not self._over and (not self._heap or self._heap[0][0] > time.monotonic()):
                    self._news.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                if self._over:
                    return
                _when, _number, call = heapq.heappop(self._heap)
            try:
                call()
            except PROBLEMS:
                self._later(AGAIN, call)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        with self._news:
            heapq.heappush(self._heap, (time.monotonic() + seconds, next(self._numbers), call))
            self._news.notify()

    def _connected(self) -> KazooClient:
        client = KazooClient(self.hosts, timeout=10.0)
        client.start(60)
        return client

    # -- what they do --------------------------------------------------------------------------------------------

    def _ask(self, options: Mapping[str, Any]) -> None:
        now = time.time()
        document = {
            "requestor_data": {"tenant_name": options["tenant"], "job_name": options["habit"], "span_info": None},
            "node_types": options["labels"],
            "requestor": WHO,
            "created_time": now,
            "provider": None,
            "state": "requested",
            "state_time": now,
            "relative_priority": options["relative"],
            "event_id": uuid.uuid4().hex,
            "tenant_name": options["tenant"],
        }
        path = self._client.create(
            f"{REQUESTS}/{options['priority']}-", json.dumps(document).encode(), makepath=True, sequence=True
        )
        request = str(path).rpartition("/")[2]
        self.log(f"request {request} for {', '.join(options['labels'])}: {options['habit']}")
        self.asked += 1
        self.open[request] = options
        if options["habit"] == "cancel":
            self._later(options["wait"], lambda: self._delete(request))
        if options["habit"] == "reprioritise":
            self._later(options["wait"], lambda: self._reprioritise(request))
        self._later(LOOK, lambda: self._look(request))

    def _look(self, request: str) -> None:
        if request not in self.open:
            return
        document = self._read(request)
        state = document and document["state"]
        options = self.open[request]
        if document is None:
            self.open.pop(request)
        elif state == "failed":
            self.failed += 1
            self._delete(request)
        elif state == "fulfilled":
            late = options["wait"] * 3 if options["habit"] == "late" and not self.quiet else 0.0
            self._later(late, lambda: self._accept(request))
        else:
            self._later(LOOK, lambda: self._look(request))

    def _read(self, request: str) -> dict[str, Any] | None:
        try:
            data, _stat = self._client.get(f"{REQUESTS}/{request}")
        except NoNodeError:
            return None
        return dict(json.loads(data))

    def _delete(self, request: str) -> None:
        if request in self.open:
            with contextlib.suppress(NoNodeError):
                self._client.delete(f"{REQUESTS}/{request}")
            self.open.pop(request)

    def _reprioritise(self, request: str) -> None:
        document = self._read(request) if request in self.open else None
        if document is not None and document["state"] == "requested":
            data, stat = self._client.get(f"{REQUESTS}/{request}")
            document = {**json.loads(data), "relative_priority": 3}
            if document["state"] == "requested":
                with contextlib.suppress(KazooException):
                    self._client.set(f"{REQUESTS}/{request}", json.dumps(document).encode(), stat.version)

    def _accept(self, request: str) -> None:
        """Lock all nodes, look again, delete the request, write in-use: in this order, as Zuul does."""
        document = self._read(request)
        if request not in self.open or document is None or document["state"] != "fulfilled":
            self.open.pop(request, None)
            return
        options = self.open[request]
        if self._is_broken(request, document["nodes"]):
            self.log(f"request {request}: its nodes {document['nodes']} are not its own")
            self.broken += 1
            self._delete(request)
            return
        taken = Taken(self._connected(), list(document["nodes"]))
        try:
            if not taken.lock() or any(taken.read(node).get("allocated_to") != request for node in taken.nodes):
                self.log(f"request {request}: a node of {taken.nodes} cannot be taken yet")
                taken.end()
                self._later(AGAIN, lambda: self._accept(request))
                return
            if options["habit"] == "lock-only" and not self.quiet:
                taken.end()
                self._delete(request)
                return
            self._client.delete(f"{REQUESTS}/{request}")
            self.open.pop(request)
            taken.write(state="in-use")
        except PROBLEMS:
            taken.end()
            self._later(AGAIN, lambda: self._delete(request))
            return
        self.served += 1
        self.busy += 1
        self._later(0.5 if self.quiet else options["work"], lambda: self._finish(options, taken))

    def _is_broken(self, request: str, nodes: list[str]) -> bool:
        """True when a node is gone, or not allocated to it: it will never be."""
        for node in nodes:
            try:
                data, _stat = self._client.get(f"{NODES}/{node}")
            except NoNodeError:
                return True
            if not data or json.loads(data).get("allocated_to") != request:
                return True
        return False

    def _finish(self, options: Mapping[str, Any], taken: Taken) -> None:
        self.busy -= 1
        habit = "use" if self.quiet else options["habit"]
        with contextlib.suppress(*PROBLEMS):
            if habit == "hold":
                bound = None if options["wait"] > 6 else int(options["wait"] * 3) + 1
                taken.write(state="hold", hold_expiration=bound, hold_job="t p j r", comment="chaos")
                self.busy += 1
                self._later(options["work"], lambda: self._release(taken.nodes))
            elif habit != "vanish":
                taken.write(state="used")
        taken.end()

    def _release(self, nodes: list[str]) -> None:
        """Give held nodes back, those that are still there."""
        left = []
        for node in nodes:
            taken = Taken(self._connected(), [node])
            try:
                if taken.read(node).get("state") != "hold":
                    continue
                if taken.lock() and taken.read(node).get("state") == "hold":
                    taken.write(state="used")
                else:
                    left.append(node)
            except NoNodeError:
                continue  # its time was over
            except PROBLEMS:
                left.append(node)
            finally:
                taken.end()
        if left:
            self._later(AGAIN, lambda: self._release(left))
        else:
            self.busy -= 1
