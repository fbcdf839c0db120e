# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the same calls cost through the layers of openstacksdk and through ours: ``python -m tests.bench.sdk_cost``.

The figures of docs/designs/012. Each way runs in a process of its own against the simulated cloud. CPU seconds are
those of the process that calls: they vary by some per cent on a busy machine, where wall-clock time means nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.support.process_memory import Memory
from tests.support.simcloud_process import SimCloud, default_cloud

SERVERS = 999
"""One less than a page: a full one is asked for the next."""
LISTINGS = 3
SILENCE = 2.0
"""Seconds that a way is told to wait for an answer that drips, and a multiple of it until it is ended."""
ENDED_AFTER = 20.0


def ours(clouds: str) -> Callable[[], Any]:
    """CloudClient.list_servers."""
    from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.cloud_client import CloudClient
    from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider

    client = CloudClient(
        Provider("p", "one", rate=0.0), clouds_config=clouds, read_timeout=SILENCE, total_timeout=SILENCE
    )
    return client.list_servers


def proxy(clouds: str) -> Callable[[], Any]:
    """The SDK's proxy: conn.compute.servers()."""
    compute = _connection(clouds).compute
    compute.session.timeout = SILENCE
    return lambda: list(compute.servers(details=True))


def cloud_layer(clouds: str) -> Callable[[], Any]:
    """The SDK's cloud layer, which Nodepool calls: conn.list_servers()."""
    connection = _connection(clouds)
    connection.compute.session.timeout = SILENCE
    listing: Callable[[], Any] = connection.list_servers
    return listing


def adapter(clouds: str) -> Callable[[], Any]:
    """The SDK's session without its objects: conn.compute.get()."""
    compute = _connection(clouds).compute
    compute.session.timeout = SILENCE
    return lambda: compute.get("/servers/detail", params={"limit": 1000}, microversion="2.47").json()["servers"]


WAYS = {"ours": ours, "adapter": adapter, "proxy": proxy, "cloud layer": cloud_layer}


def _connection(clouds: str) -> Any:
    import openstack

    os.environ["OS_CLIENT_CONFIG_FILE"] = clouds
    return openstack.connect(cloud="one")


def measure(way: str, clouds: str) -> dict[str, float]:
    """In the process of its own: importing, the first listing, and further ones."""
    memory = Memory(os.getpid())
    began = time.process_time()
    read = WAYS[way](clouds)
    imported = time.process_time() - began
    began = time.process_time()
    assert len(read()) == SERVERS
    first = time.process_time() - began
    seconds = []
    for _listing in range(LISTINGS):
        began = time.process_time()
        kept = read()
        seconds.append(time.process_time() - began)
    assert len(kept) == SERVERS
    return {
        "import": imported,
        "first": first,
        "listing": statistics.median(seconds),
        "memory": memory.growth() / 2**20,
    }


def drip(way: str, clouds: str) -> None:
    """In the process of its own: asks a cloud whose answer drips; prints after how many seconds it gave up."""
    read = WAYS[way](clouds)
    began = time.monotonic()
    try:
        read()
    except Exception as error:
        print(f"{time.monotonic() - began:.1f} s ({type(error).__name__})")


def _child(*words: str, timeout: float | None = None) -> str:
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, *words], capture_output=True, text=True, timeout=timeout, check=True
    )
    return done.stdout.strip()


def main() -> None:
    """Measures every way and prints a table."""
    quota = {"instances": 2000, "cores": 4000, "ram": 10**8, "ports": 5000}
    with SimCloud(default_cloud("one", quota=quota)) as sim:
        sim.outsiders("one", SERVERS, flavor="small", ports=True)
        print("| way | calls per listing | CPU s: import | first | each further | MiB | gives up a dripping answer |")
        print("|---|---|---|---|---|---|---|")
        for way in WAYS:
            sim.clear_calls("one")
            found = json.loads(_child("measure", way, str(sim.clouds_yaml)))
            calls = [call for call in sim.calls("one") if "tokens" not in str(call)]
            number = sim.fault("one", "GET /servers/detail", "drip", seconds=600.0, interval=0.5)
            try:
                ended = _child("drip", way, str(sim.clouds_yaml), timeout=ENDED_AFTER)
            except subprocess.TimeoutExpired:
                ended = f"not within {ENDED_AFTER:g} s"
            sim.remove_fault("one", number)
            print(
                f"| {way} | {len(calls) / (LISTINGS + 1):.1f} | {found['import']:.2f} | {found['first']:.2f}"
                f" | {found['listing']:.3f} | {found['memory']:.0f} | {ended} |"
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["measure", name, path]:
            print(json.dumps(measure(name, path)))
        case ["drip", name, path]:
            drip(name, path)
        case _:
            main()
