# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many live nodes and a queue: how soon a cycle does something, and what its passes cost while little changes."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_LAUNCH,
    META_NODE_ID,
    META_PROVIDER,
    ServerSpec,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import make_mark
from tests.bench.figures import Findings, Spread
from tests.bench.in_process import run_cycle
from tests.bench.launcher import BenchError
from tests.bench.world import LATENCY, Scene, World

PROVIDERS = tuple(f"sim{number}" for number in range(10))
CHANGED = 10
"""Nodes that change between two passes."""
STIR_EVERY = 0.5
SETTLED = 6.0
"""Seconds after the start in which a cycle reads what it needs and serves what fits."""


@dataclass(frozen=True)
class Scale:
    """The nodes are in use, as their records and their servers say; ten requests fit, the others must wait.

    :param nodes: live nodes, spread over ten providers.
    :param waiting: requests.
    :param start_at_most: seconds until the first create is asked for.
    :param pass_at_most: seconds that a pass may take.
    """

    name: str
    title: str
    nodes: int
    waiting: int
    start_at_most: float
    pass_at_most: float
    duration: float = 26.0

    def run(self, quick: bool) -> Findings:
        """Measure; quick: a tenth of it all."""
        nodes, waiting = (self.nodes // 10, self.waiting // 10) if quick else (self.nodes, self.waiting)
        findings = Findings()
        each = nodes // len(PROVIDERS)
        scene = Scene(providers=PROVIDERS, quota=each + 1, latency={}, boot=1.0, guests=False, rate=0.001, small=0.0)
        with World(scene) as world:
            ids = self._populate(world, each)
            for name in PROVIDERS:
                world.cloud.settings(name, latency={**LATENCY, "default": 0.02})
            world.requestor.ask(waiting)
            self._measure(findings, world, ids)
        return findings

    def _populate(self, world: World, each: int) -> list[str]:
        """Records first, as in life, then the servers that they name."""
        config = load_config(str(world.config))
        places = [name for name in PROVIDERS for _unused in range(each)]
        ids = world.requestor.occupy([_record(name) for name in places])
        servers: dict[str, str] = {}

        def make(name: str) -> None:
            client = CloudClient(config.providers[name], clouds_config=str(world.cloud.clouds_yaml))
            flavor, image, network = _facts(client)
            for node, place in zip(ids, places, strict=True):
                if place == name:
                    servers[node] = client.create_server(_spec(name, node, flavor, image, network))
            client.close()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(make, PROVIDERS))
        records = zip(ids, places, strict=True)
        world.requestor.rewrite({node: {**_record(name), "external_id": servers[node]} for node, name in records})
        return ids

    def _measure(self, findings: Findings, world: World, ids: list[str]) -> None:
        chance = random.Random(1)

        def stir(over: threading.Event) -> None:
            over.wait(SETTLED)
            while not over.wait(STIR_EVERY):
                world.requestor.mark(chance.sample(ids, min(CHANGED, len(ids))))

        began = time.time()
        passes = run_cycle(world, self.duration, stir, self.name)
        creates = [
            call["start"] for name in PROVIDERS for call in world.cloud.calls(name) if call["kind"] == "POST /servers"
        ]
        first = min((at for at in creates if at >= began), default=float("nan")) - began
        late = [place for place, at in enumerate(passes.began) if at >= SETTLED]
        seconds = Spread.of(passes.seconds[place] for place in late)
        busy = Spread.of(passes.busy[place] for place in late)
        bound = 1000 * self.pass_at_most
        findings.add("start of a cycle → first create asked for", first, at_most=self.start_at_most)
        findings.add(f"a pass, {CHANGED} nodes have changed, P50", 1000 * seconds.p50, "ms", at_most=bound)
        findings.add("  its CPU, P50", 1000 * busy.p50, "ms", at_most=bound)
        findings.add("  its CPU, P99", 1000 * busy.p99, "ms")
        findings.add("  the longest", 1000 * seconds.most, "ms")
        findings.add("passes", seconds.count, "")
        findings.details["passes"] = {"seconds": [round(value, 4) for value in passes.seconds]}


def _facts(client: CloudClient) -> tuple[str, str, str]:
    """Ids of flavor, image and network."""
    flavor = next(item.id for item in client.list_flavors() if item.name == "small")
    network = next(item.id for item in client.list_networks() if item.name == "public")
    image = next(iter(client.images_named("debian-12")), None)
    if image is None:
        raise BenchError("the simulated cloud has no image")
    return flavor, image.id, network


def _spec(name: str, node: str, flavor: str, image: str, network: str) -> ServerSpec:
    """A server as the launcher makes it."""
    metadata = {META_PROVIDER: name, META_NODE_ID: node, META_LAUNCH: make_mark(node, 1, "bench")}
    return ServerSpec(name=f"np{node}", flavor_id=flavor, image_id=image, network_ids=(network,), metadata=metadata)


def _record(name: str) -> dict[str, Any]:
    """A node in use, as its launcher and its requestor leave it."""
    now = time.time()
    return {
        "provider": name,
        "pool": "main",
        "type": ["small"],
        "state": "in-use",
        "state_time": now,
        "created_time": now,
        "az": "nova",
        "interface_ip": "192.0.2.1",
        "public_ipv4": "192.0.2.1",
        "connection_port": 22,
        "connection_type": "ssh",
        "host_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5vZGVwb29sLWJlbmNo"],
        "resources": {"instances": 1, "cores": 1, "ram": 1024},
        "allocated_to": "200-9999999999",
        "tenant_name": "bench",
    }
