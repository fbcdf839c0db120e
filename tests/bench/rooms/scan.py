# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What it costs to collect host keys: our side of the handshake, against real sshd."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.config_file import load_config
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.ssh import ScanJob, Scanner, ScanResult
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec
from tests.bench.figures import Findings, Spread, ratio
from tests.bench.launcher import BenchError
from tests.bench.world import Scene, World, until

HOSTS = 20
ROUNDS = 3


@dataclass(frozen=True)
class Scan:
    """Servers of somebody else answer on ssh; the scanner is used by itself."""

    name: str = "scan"
    title: str = f"host keys of {HOSTS} hosts, one type, {ROUNDS} rounds"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with World(Scene(boot=0.2, small=0.0, latency={})) as world:
            addresses = _guests(world)
            port = world.cloud.ssh_port("sim")
            seconds: list[float] = []
            cpu = 0.0
            whole = []
            _scan(addresses[:1], port)  # the library is loaded once
            for _unused in range(ROUNDS):
                began, before = time.monotonic(), time.process_time()
                results = _scan(addresses, port)
                cpu += time.process_time() - before
                whole.append(time.monotonic() - began)
                seconds += [result.seconds for result in results]
                bad = [result.error for result in results if result.error or len(result.host_keys) != 1]
                if bad:
                    raise BenchError(f"{len(bad)} of {HOSTS} hosts gave no key: {bad[0]}")
        spread = Spread.of(seconds)
        findings.add("CPU per host, our side", 1000 * ratio(cpu, HOSTS * ROUNDS), "ms")
        findings.add("seconds per host, P50", spread.p50)
        findings.add("seconds for all, P50", Spread.of(whole).p50)
        findings.details = {"seconds": spread.document(), "whole": whole}
        return findings


def _guests(world: World) -> list[str]:
    """Have servers made through the API, as a launcher would; returns their addresses."""
    provider = load_config(str(world.config)).providers["sim"]
    client = CloudClient(provider, clouds_config=str(world.cloud.clouds_yaml))
    image, network = client.images_named("debian-12")[0], client.list_networks()[0]
    flavor = client.list_flavors()[0]
    assert image is not None
    for number in range(HOSTS):
        client.create_server(ServerSpec(f"host-{number}", image.id, flavor.id, metadata={}, network_ids=(network.id,)))
    client.close()

    def up() -> list[str]:
        servers = [server for server in world.cloud.servers("sim") if server["host_keys"]]
        return [next(iter(server["addresses"].values()))[0]["addr"] for server in servers]

    if not until(lambda: len(up()) == HOSTS, 20.0):
        raise BenchError(f"{len(up())} of {HOSTS} servers came up")
    return up()


def _scan(addresses: list[str], port: int) -> list[ScanResult]:
    results: list[ScanResult] = []
    over = threading.Event()

    def take(result: ScanResult) -> None:
        results.append(result)
        if len(results) == len(addresses):
            over.set()

    scanner = Scanner(take)
    try:
        for address in addresses:
            scanner.submit(ScanJob(key=address, address=address, port=port, deadline=20.0, want_keys=True))
        over.wait(30.0)
    finally:
        scanner.close()
    return results
