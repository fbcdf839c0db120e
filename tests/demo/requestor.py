# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A requestor over bare kazoo that does what Zuul does: ask, accept, lock, use, give back."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

NODES = "/nodepool/nodes"
REQUESTS = "/nodepool/requests"
IMAGES = "/nodepool/images"
LOCK_SECONDS = 30.0


class Requestor:
    """Owns a session; the nodes that it uses are locked as long as that lives."""

    def __init__(self, hosts: str) -> None:
        self._client = KazooClient(hosts=hosts, timeout=10.0)
        self._client.start(timeout=15)
        self._locks: dict[str, Any] = {}
        self.asked: list[str] = []

    def close(self) -> None:
        """End the session."""
        self._client.stop()
        self._client.close()

    def ask(self, *labels: str) -> str:
        """Submit a request; returns its id."""
        now = time.time()
        document = {
            "requestor": "demo",
            "requestor_data": {"job_name": "demo"},
            "node_types": list(labels),
            "created_time": now,
            "provider": None,
            "state": "requested",
            "state_time": now,
            "relative_priority": 0,
            "event_id": uuid.uuid4().hex,
            "tenant_name": "demo",
        }
        path = self._client.create(f"{REQUESTS}/200-", json.dumps(document).encode(), makepath=True, sequence=True)
        request = str(path.rsplit("/", 1)[1])
        self.asked.append(request)
        return request

    def requests(self) -> dict[str, dict[str, Any]]:
        """All requests in the tree."""
        return self._documents(REQUESTS)

    def nodes(self) -> dict[str, dict[str, Any]]:
        """All node records in the tree."""
        return self._documents(NODES)

    def is_fulfilled(self, request: str) -> bool:
        """True when it can be accepted."""
        document = self._get(f"{REQUESTS}/{request}")
        return document is not None and document["state"] == "fulfilled"

    def accept(self, request: str) -> list[str]:
        """Lock the nodes of a fulfilled request, delete it, put the nodes to use."""
        document = self._get(f"{REQUESTS}/{request}")
        if document is None or document["state"] != "fulfilled":
            raise RuntimeError(f"request {request} is {document and document['state']}, not fulfilled")
        for node in document["nodes"]:
            lock = self._client.Lock(f"{NODES}/{node}/lock")
            lock.acquire(timeout=LOCK_SECONDS)
            self._locks[node] = lock
            record = self._get(f"{NODES}/{node}")
            if record is None or record["allocated_to"] != request:
                raise RuntimeError(f"node {node} is not allocated to request {request}")
        self._client.delete(f"{REQUESTS}/{request}")
        for node in document["nodes"]:
            self._set_state(node, "in-use")
        return list(document["nodes"])

    def give_back(self) -> list[str]:
        """Mark everything that is in use as used and unlock it."""
        nodes = list(self._locks)
        for node in nodes:
            self._set_state(node, "used")
            self._locks.pop(node).release()
        return nodes

    def builds(self, image: str) -> dict[str, dict[str, Any]]:
        """The builds of a disk image, oldest first."""
        found = self._documents(f"{IMAGES}/{image}/builds")
        return dict(sorted(found.items(), key=lambda item: float(item[1]["state_time"])))

    def uploads(self, image: str, build: str, provider: str) -> dict[str, dict[str, Any]]:
        """The uploads of a build to a provider."""
        return self._documents(f"{IMAGES}/{image}/builds/{build}/providers/{provider}/images")

    def verdict(self, image: str, build: str) -> dict[str, Any]:
        """What is decided about a build; nothing for most."""
        return dict((self._get(f"/nodepool/stackci/image-verdicts/{image}") or {}).get(build) or {})

    def _set_state(self, node: str, state: str) -> None:
        document = self._get(f"{NODES}/{node}")
        if document is None:
            raise RuntimeError(f"node {node} is gone although it is locked")
        document.update(state=state, state_time=time.time())
        self._client.set(f"{NODES}/{node}", json.dumps(document).encode())

    def _get(self, path: str) -> dict[str, Any] | None:
        # Others delete at any moment: between two calls, too.
        try:
            data, _stat = self._client.get(path)
        except NoNodeError:
            return None
        document: dict[str, Any] | None = json.loads(data) if data else None
        return document

    def _documents(self, folder: str) -> dict[str, dict[str, Any]]:
        try:
            names: Sequence[str] = sorted(self._client.get_children(folder))
        except NoNodeError:
            return {}
        found = {name: self._get(f"{folder}/{name}") for name in names if name != "lock"}
        return {name: document for name, document in found.items() if document is not None}
