# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent requestor over bare kazoo that writes what Zuul writes, and plays everybody else in the tree."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from tests.support.fixtures_zookeeper import bare_client, end, eventually
from tests.support.zookeeper_server import ZooKeeperServer

NODES = "/nodepool/nodes"
REQUESTS = "/nodepool/requests"
FINAL = ("fulfilled", "failed")
UNTOLD_SECONDS = 0.5
"""After this time a request is read again although ZooKeeper has told of no change."""


class Requestor:
    """Knows the tree only by its documents; shares no code with the collection."""

    def __init__(self, zookeeper: ZooKeeperServer, chroot: str) -> None:
        self.client: KazooClient = bare_client(zookeeper, chroot)
        self.locks: dict[str, Any] = {}

    def close(self) -> None:
        end(self.client)

    # -- documents -----------------------------------------------------------------------------------------------

    def read(self, path: str, watch: Callable[[Any], None] | None = None) -> Any:
        """The parsed document; None when there is no znode or it is empty.

        :param watch: called once with the next event of an existing znode.
        """
        try:
            data, _stat = self.client.get(path, watch)
        except NoNodeError:
            return None
        return json.loads(data) if data else None

    def put(self, path: str, document: dict[str, Any] | bytes) -> None:
        """Write a whole document, without asking for its version, as Nodepool and Zuul do."""
        data = document if isinstance(document, bytes) else json.dumps(document).encode()
        try:
            self.client.create(path, data, makepath=True)
        except NodeExistsError:
            self.client.set(path, data)

    def children(self, path: str) -> list[str]:
        try:
            return sorted(self.client.get_children(path))
        except NoNodeError:
            return []

    def tree(self, path: str = "/") -> dict[str, tuple[bytes, int, int, int]]:
        """Data, version, cversion and mzxid of every znode from *path* on."""
        found: dict[str, tuple[bytes, int, int, int]] = {}
        waiting = [path]
        while waiting:
            here = waiting.pop()
            data, stat = self.client.get(here)
            found[here] = (data, stat.version, stat.cversion, stat.mzxid)
            waiting += [f"{here.rstrip('/')}/{name}" for name in self.client.get_children(here)]
        return found

    # -- requests ------------------------------------------------------------------------------------------------

    def ask(
        self,
        *labels: str,
        priority: int = 200,
        relative_priority: int = 0,
        provider: str | None = None,
        tenant: str | None = "tenant-one",
        **more: Any,
    ) -> str:
        """Submit a request exactly as Zuul writes it (no ``nodes``, no ``declined_by``); its id."""
        now = time.time()
        document = {
            "requestor_data": {
                "build_set_uuid": uuid.uuid4().hex,
                "tenant_name": tenant,
                "pipeline_name": "check",
                "job_uuid": uuid.uuid4().hex,
                "job_name": "tox",
                "span_info": None,
            },
            "node_types": list(labels),
            "requestor": "0b1a2e6c-6a43-4ed1-a6d8-2f8e0a4a6d4c",
            "created_time": now,
            "provider": provider,
            "state": "requested",
            "state_time": now,
            "relative_priority": relative_priority,
            "event_id": uuid.uuid4().hex,
            "tenant_name": tenant,
            **more,
        }
        path = self.client.create(
            f"{REQUESTS}/{priority:03}-", json.dumps(document).encode(), makepath=True, sequence=True
        )
        return str(path.rsplit("/", 1)[1])

    def request(self, request_id: str) -> Any:
        return self.read(f"{REQUESTS}/{request_id}")

    def state(self, request_id: str) -> str | None:
        document = self.request(request_id)
        return None if document is None else str(document["state"])

    def nodes_of(self, request_id: str) -> list[str]:
        """The nodes of a fulfilled request."""
        document = self.request(request_id)
        assert document is not None and document["state"] == "fulfilled", document
        return list(document["nodes"])

    def wait_for(self, request_id: str, state: str = "fulfilled", seconds: float = 20.0) -> dict[str, Any]:
        """The request as soon as it is in that state; in another final state it never will be.

        ZooKeeper tells of each change; most requests for which this waits need seconds.
        """
        changed = threading.Event()
        watched = False

        def tell(_event: Any) -> None:
            changed.set()

        def there() -> Any:
            nonlocal watched
            changed.clear()
            document = self.read(f"{REQUESTS}/{request_id}", tell)
            watched = document is not None
            if document is not None and document["state"] in FINAL and document["state"] != state:
                raise AssertionError(f"request {request_id} is {document['state']}, not {state}: {document}")
            return document if document is not None and document["state"] == state else None

        def pause(short: float) -> None:
            changed.wait(UNTOLD_SECONDS if watched else short)

        return dict(eventually(there, seconds, pause))

    def wait_until_waiting(self, request_id: str, code: str, seconds: float = 15.0) -> dict[str, Any]:
        """The stored reason of waiting as soon as it has that code."""

        def there() -> Any:
            document = self.read(f"/nodepool/stackci/waits/{request_id}")
            return document if document is not None and document.get("code") == code else None

        return dict(eventually(there, seconds))

    def cancel(self, request_id: str) -> None:
        """Delete a request, at any time."""
        self.client.delete(f"{REQUESTS}/{request_id}")

    # -- nodes ---------------------------------------------------------------------------------------------------

    def node(self, node_id: str) -> Any:
        return self.read(f"{NODES}/{node_id}")

    def nodes(self) -> dict[str, dict[str, Any]]:
        """All nodes that have a document."""
        found = {name: self.node(name) for name in self.children(NODES)}
        return {name: document for name, document in found.items() if document is not None}

    def write_node(self, node_id: str, **changes: Any) -> None:
        """Change a node as Zuul does: every key is written back, and a new state gets its time."""
        document = self.node(node_id)
        document.update(changes)
        if "state" in changes and "state_time" not in changes:
            document["state_time"] = time.time()
        self.client.set(f"{NODES}/{node_id}", json.dumps(document).encode())

    def make_node(self, state: str, **more: Any) -> str:
        """A node that somebody else left in the tree; its id."""
        now = time.time()
        document = {
            "state": state,
            "state_time": now,
            "created_time": now,
            "type": ["small"],
            "provider": "one",
            "pool": "main",
            "launcher": "other-PoolWorker.one-main-1",
            "allocated_to": None,
            "external_id": None,
            "resources": {"cores": 1, "instances": 1, "ram": 1024},
            "interface_ip": "192.0.2.9",
            "connection_port": 22,
            "connection_type": "ssh",
            "username": "zuul",
            "host_keys": [],
            **more,
        }
        path = self.client.create(f"{NODES}/", json.dumps(document).encode(), makepath=True, sequence=True)
        return str(path.rsplit("/", 1)[1])

    def lock(self, node_id: str) -> None:
        """Lock a node with kazoo's own recipe, or fail."""
        held = self.client.Lock(f"{NODES}/{node_id}/lock")
        assert held.acquire(timeout=30), f"node {node_id} is locked"
        self.locks[node_id] = held

    def unlock(self, node_id: str) -> None:
        self.locks.pop(node_id).release()

    def is_locked(self, node_id: str) -> bool:
        return bool(self.children(f"{NODES}/{node_id}/lock"))

    def accept(self, request_id: str) -> list[str]:
        """What Zuul's executor does with a fulfilled request; the nodes, locked and in use."""
        node_ids = self.nodes_of(request_id)
        for node_id in node_ids:
            assert self.node(node_id)["allocated_to"] == request_id
            self.lock(node_id)
            assert self.node(node_id)["allocated_to"] == request_id
        self.cancel(request_id)
        for node_id in node_ids:
            self.write_node(node_id, state="in-use", user_data={"zuul_system": "z", "project_name": "p"}, id=node_id)
        return node_ids

    def give_back(self, *node_ids: str) -> None:
        """The job is over."""
        for node_id in node_ids:
            self.write_node(node_id, state="used")
            self.unlock(node_id)

    def hold_at_once(self, *node_ids: str) -> None:
        """What Zuul does for an autohold, with no gap: hold is written, and at once the lock is given back."""
        waiting = []
        for node_id in node_ids:
            document = {**self.node(node_id), "state": "hold", "state_time": time.time(), "hold_job": "t p j r"}
            held = self.locks.pop(node_id)
            waiting.append(self.client.set_async(f"{NODES}/{node_id}", json.dumps(document).encode()))
            waiting.append(self.client.delete_async(f"{held.path}/{held.node}"))
        for answer in waiting:
            answer.get(timeout=30)

    def wait_gone(self, node_ids: Iterable[str], seconds: float = 20.0) -> None:
        """Wait until the znodes are gone."""
        for node_id in node_ids:
            eventually(partial(self._is_gone, f"{NODES}/{node_id}"), seconds)

    def _is_gone(self, path: str) -> bool:
        return self.client.exists(path) is None

    def launch(self, node_id: str) -> Any:
        """The launcher's own record of a launch."""
        return self.read(f"/nodepool/stackci/launches/{node_id}")

    def wait_phase(self, phase: str, seconds: float = 20.0) -> str:
        """The id of the first node whose launch is in that phase."""

        def there() -> str | None:
            for node_id in self.children("/nodepool/stackci/launches"):
                record = self.launch(node_id)
                if record is not None and record["phase"] == phase:
                    return node_id
            return None

        return str(eventually(there, seconds))

    # -- other launchers -----------------------------------------------------------------------------------------

    def register_pool(self, ident: str, *labels: str, provider: str = "foreign", **more: Any) -> str:
        """Register a pool as a stock launcher does; the path of the registration."""
        document = {
            "hostname": "other",
            "id": ident,
            "kind": "pool",
            "model_api": 0,
            "name": "main",
            "paused": False,
            "priority": 100,
            "provider_name": provider,
            "state": "running",
            "supported_labels": list(labels),
            "version": "11.0.0",
            **more,
        }
        path = self.client.create(
            "/nodepool/components/pool/other",
            json.dumps(document, sort_keys=True).encode(),
            makepath=True,
            ephemeral=True,
            sequence=True,
        )
        return str(path)
