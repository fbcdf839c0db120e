# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin: what it takes beyond the answers of the cloud, and how often it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    META_GROUPS,
    META_IMAGE,
    META_LABEL,
    META_NODE_ID,
    META_POOL,
    META_PROVIDER,
    ServerSpec,
)
from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError, environment
from tests.bench.world import Scene, World, until

TIMES = 5
LIST = "GET /servers/detail"

PARSE = """
import json, sys, time
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader([])
for _unused in range(2):
    begun, cpu = time.time(), time.process_time()
    hosts = len(InventoryManager(DataLoader(), sources=[sys.argv[1]]).get_hosts())
    print(json.dumps({"begun": begun, "ended": time.time(), "cpu": time.process_time() - cpu, "hosts": hosts}))
"""
"""The first time Ansible's plugins and the libraries are loaded, too."""


@dataclass(frozen=True)
class Inventory:
    """Nodes of one project become hosts with all native groups and those of nova's metadata."""

    nodes: int
    seconds: float

    @property
    def name(self) -> str:
        """For ``--only``."""
        return f"inventory-{self.nodes}"

    @property
    def title(self) -> str:
        """For the table."""
        return f"the inventory of {self.nodes:,} nodes"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: a tenth of the nodes, with the same target."""
        nodes, findings = self.nodes // 10 if quick else self.nodes, Findings()
        scene = Scene(quota=nodes + 1, latency={}, boot=0.1, guests=False, rate=0.0, small=0.0)
        with World(scene) as world:
            _populate(world, nodes)
            file = world.folder / "bench.nodepool.yml"
            options = {"nodepool_config": str(world.config), "clouds_config": str(world.cloud.clouds_yaml)}
            file.write_text(json.dumps({"plugin": "stackci.nodepool.nodepool", "metadata_groups": True, **options}))
            first, beyond, whole, cpu, calls = [], [], [], [], []
            for _unused in range(TIMES):
                world.cloud.clear_calls("sim")
                cold, warm = _parse(world, file)
                if warm["hosts"] != nodes:
                    raise BenchError(f"{warm['hosts']:g} hosts of {nodes} nodes")
                heard = [call for call in world.cloud.calls("sim") if call["start"] >= warm["begun"]]
                first.append(cold["ended"] - cold["begun"])
                whole.append(warm["ended"] - warm["begun"])
                beyond.append(whole[-1] - sum(call["end"] - call["start"] for call in heard))
                cpu.append(warm["cpu"])
                calls.append(sum(1 for call in heard if call["kind"] == LIST))
        findings.add("a parse beyond the answers of the cloud, P50", Spread.of(beyond).p50, at_most=self.seconds)
        findings.add("  with the answers, P50", Spread.of(whole).p50)
        findings.add("  its CPU, P50", Spread.of(cpu).p50)
        findings.add("  the first in a process, which loads the libraries, P50", Spread.of(first).p50)
        # nova gives a link to a further page whenever a page is full, also when that is the last one.
        findings.add("listing calls", max(calls), "", at_most=1 + nodes // 1000)
        findings.details = {"first": first, "beyond": beyond, "whole": whole, "cpu": cpu, "calls": calls}
        return findings


def _parse(world: World, file: Path) -> list[dict[str, float]]:
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(file)],
        cwd=world.folder,
        env=environment(world),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"the inventory could not be read: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()[-2:]]


def _populate(world: World, nodes: int) -> None:
    """Servers as the launcher makes them, until all are ACTIVE."""
    provider = load_config(str(world.config)).providers["sim"]
    client = CloudClient(provider, clouds_config=str(world.cloud.clouds_yaml))
    flavor = next(item.id for item in client.list_flavors() if item.name == "small")
    network = next(item.id for item in client.list_networks() if item.name == "public")
    image = next(iter(client.images_named("debian-12")), None)
    if image is None:
        raise BenchError("the simulated cloud has no image")

    def make(number: int) -> None:
        node = f"{number:010d}"
        metadata = {
            META_GROUPS: "sim,debian-12,small",
            META_PROVIDER: "sim",
            META_POOL: "main",
            META_IMAGE: "debian-12",
            META_LABEL: "small",
            META_NODE_ID: node,
        }
        client.create_server(ServerSpec(f"np{node}", image.id, flavor, metadata, network_ids=(network,)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(nodes)))
    client.close()
    if not until(lambda: all(server["status"] == "ACTIVE" for server in world.cloud.servers("sim")), 120):
        raise BenchError("the servers of the simulated cloud did not become ACTIVE")
