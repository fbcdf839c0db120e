# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zuul's own ZooKeeper client, run by Zuul's Python: a JSON command on each line of standard input, an answer on each.

Zuul's classes do the work; this file only keeps what they return between two commands. It imports nothing of the
project: ``python zuul_program.py HOSTS CERT KEY CA SYSTEM_ID``.
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from configparser import ConfigParser
from types import SimpleNamespace
from typing import Any

from zuul import model  # type: ignore[import-not-found]
from zuul.launcher.server import Launcher  # type: ignore[import-not-found]
from zuul.lib.tracing import Tracing  # type: ignore[import-not-found]
from zuul.nodepool import Nodepool  # type: ignore[import-not-found]
from zuul.zk import ZooKeeperClient  # type: ignore[import-not-found]
from zuul.zk.image_registry import ImageUploadRegistry  # type: ignore[import-not-found]

TENANT, PIPELINE, PROJECT = "tenant-one", "check", "example.org/project"


class Program:
    """The commands."""

    def __init__(self, hosts: str, cert: str, key: str, ca: str, system_id: str) -> None:
        Tracing(ConfigParser())
        self.client = ZooKeeperClient(hosts, timeout=10.0, tls_cert=cert, tls_key=key, tls_ca=ca)
        self.client.connect()
        self.nodepool = Nodepool(self.client, system_id, None, scheduler=True)
        self.nodesets: dict[str, Any] = {}
        self.holds: dict[str, Any] = {}

    def ask(self, labels: list[str], priority: int = 200, relative_priority: int = 0) -> str:
        """Submit a request; its id."""
        nodeset = model.NodeSet()
        for number, label in enumerate(labels):
            nodeset.addNode(model.Node([f"node{number}"], label))
        job = SimpleNamespace(uuid=uuid.uuid4().hex, name="tox", nodeset=nodeset)
        event = SimpleNamespace(zuul_event_id=uuid.uuid4().hex)
        request = self.nodepool.requestNodes(
            uuid.uuid4().hex, job, TENANT, PIPELINE, None, priority, relative_priority, event
        )
        self.nodesets[request.id] = nodeset
        return str(request.id)

    def launches_from(self, image: str, provider: str) -> str:
        """The id of the image in the cloud that zuul-launcher would launch a node from."""
        registry = ImageUploadRegistry(self.client)
        registry.waitForSync()
        settings = SimpleNamespace(type="zuul", canonical_name=image, config_hash="a", zuul_config_hash="b")
        label = SimpleNamespace(image="image")
        where = SimpleNamespace(
            canonical_name=provider,
            labels={"label": label},
            images={"image": settings},
            getEndpoint=lambda: SimpleNamespace(canonical_name="elsewhere"),
        )
        node = SimpleNamespace(label="label", image_upload_uuid=None)
        return str(Launcher.getImageExternalId(SimpleNamespace(image_upload_registry=registry), node, where))

    def state(self, request: str) -> str | None:
        """The state that Zuul's cache has; None when it does not know the request."""
        known = self.nodepool.zk_nodepool._node_request_cache.get(request)
        return None if known is None else str(known.state)

    def told(self, request: str) -> bool:
        """Whether the scheduler was told of the end: the event is in the queue of the pipeline."""
        queue = self.nodepool.pipeline_result_events[TENANT][PIPELINE]
        return any(event.request_id == request for event in queue)

    def info(self, request: str) -> dict[str, Any]:
        """What the scheduler reads of a fulfilled request."""
        known = self.nodepool.zk_nodepool.getNodeRequest(request, cached=True)
        found = self.nodepool.getNodesetInfo(known, self.nodesets[request])
        return {"provider": found.provider, "zone": found.zone, "nodes": found.nodes}

    def accept(self, request: str) -> list[str]:
        """What the executor does first: lock the nodes, delete the request, put the nodes to use."""
        known = self.nodepool.zk_nodepool.getNodeRequest(request)
        nodeset = self.nodesets[request]
        self.nodepool.acceptNodes(known, nodeset)
        self.nodepool.useNodeSet(nodeset, TENANT, PROJECT)
        return [str(node.id) for node in nodeset.getNodes()]

    def seen(self, request: str) -> list[dict[str, Any]]:
        """What a job sees of its nodes."""
        keys = ("id", "label", "state", "provider", "az", "interface_ip", "username", "connection_type", "attributes")
        return [{key: getattr(node, key) for key in keys} for node in self.nodesets[request].getNodes()]

    def give_back(self, request: str) -> None:
        """The job is over."""
        build = SimpleNamespace(uuid=uuid.uuid4().hex)
        self.nodepool.returnNodeSet(self.nodesets[request], build, TENANT, PROJECT, 1.0)

    def hold(self, request: str, expiration: int = 0) -> str:
        """The job has failed and there is an autohold; its id."""
        wanted = model.HoldRequest()
        wanted.tenant, wanted.project, wanted.job = TENANT, PROJECT, "tox"
        wanted.ref_filter, wanted.reason, wanted.node_expiration = ".*", "to look at", expiration
        self.nodepool.zk_nodepool.storeHoldRequest(wanted)
        build = SimpleNamespace(uuid=uuid.uuid4().hex)
        self.nodepool.holdNodeSet(self.nodesets[request], wanted, build, 1.0)
        self.nodepool.unlockNodeSet(self.nodesets[request])
        self.holds[wanted.id] = wanted
        return str(wanted.id)

    def end_hold(self, ident: str) -> None:
        """``zuul autohold-delete``."""
        self.nodepool.zk_nodepool.deleteHoldRequest(self.holds[ident], None)

    def revise(self, request: str, relative_priority: int) -> int | None:
        """Change the relative priority; what the record has afterwards."""
        known = self.nodepool.zk_nodepool.getNodeRequest(request, cached=True)
        self.nodepool.reviseRequest(known, relative_priority)
        document, _stat = self.client.client.get(f"/nodepool/requests/{request}")
        return int(json.loads(document)["relative_priority"])

    def cancel(self, request: str) -> None:
        """The change has a new patch set."""
        self.nodepool.cancelRequest(self.nodepool.zk_nodepool.getNodeRequest(request))

    def mine(self) -> list[str]:
        """The nodes that Zuul's cache shows as in use or held by this system."""
        return sorted(str(node.id) for node in self.nodepool.getNodes())

    def labels(self) -> list[str]:
        """What the registered pools offer, as the page of labels shows it."""
        pools = self.nodepool.zk_nodepool.getRegisteredLaunchers()
        return sorted({label for pool in pools for label in pool.supported_labels})


def serve(program: Any) -> None:
    """Carry out commands, which are the methods of *program*, until the end of standard input."""
    for line in sys.stdin:
        command = json.loads(line)
        began = time.time()
        try:
            answer = {"value": getattr(program, command["do"])(**command["with"])}
        except Exception as problem:
            answer = {"problem": f"{type(problem).__name__}: {problem}"}
        print(json.dumps({**answer, "seconds": time.time() - began}), flush=True)


if __name__ == "__main__":
    serve(Program(*sys.argv[1:]))
