# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three launchers with states of their own, as on three hosts: how they share work, and what the loss of one costs."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from contextlib import ExitStack

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from tests.bench.figures import Findings
from tests.bench.launcher import BenchError, LauncherRun
from tests.bench.world import Scene, World, until

HOSTS = ("a", "b", "c")
PROVIDERS = ("p1", "p2", "p3", "p4", "p5", "p6")
REQUESTS, QUICK_REQUESTS = 300, 60
BOOT = 5.0
SESSION = 10.0
STAY = 400.0


class Hosts:
    """A room."""

    name = "hosts"
    title = f"{len(HOSTS)} launchers with states of their own, {len(PROVIDERS)} providers, {REQUESTS} requests"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        number = QUICK_REQUESTS if quick else REQUESTS
        scene = Scene(providers=PROVIDERS, boot=BOOT, guests=False)
        with World(scene) as world, LauncherRun(world, STAY) as launcher:
            alone = _makespan(world, number, launcher)
        with World(scene) as world, ExitStack() as stack:
            client = KazooClient(hosts=world.zookeeper.hosts)
            client.start()
            stack.callback(client.stop)
            launchers = {host: _start(world, stack, host) for host in HOSTS}
            began = time.monotonic()
            if not until(lambda: _shares(client) == dict.fromkeys(HOSTS, 2), 60.0):
                raise BenchError(f"the providers are not shared: {_shares(client)}")
            findings.add("last start → two providers each", time.monotonic() - began, at_most=60.0)
            before = {host: launcher.tree.cpu() for host, launcher in launchers.items()}
            together = _makespan(world, number, launchers["a"])
            spent = [launcher.tree.cpu() - before[host] for host, launcher in launchers.items()]
            findings.add(f"{number} requests by one host", alone)
            findings.add(f"{number} requests by three hosts", together)
            findings.add("  against one host", together / alone, "", at_most=1.25)
            findings.add("  CPU of the busiest host against the idlest", max(spent) / min(spent), "", at_most=1.5)
            findings.add("failed requests", len(world.requestor.failed), "", at_most=0)
            launchers["a"].kill()
            took = _until_all(client, {"b": 3, "c": 3})
            findings.add("kill -9 → others act for all", took, at_most=SESSION + 3.0)
            module = launchers["b"].tree.module_pid()
            if module is None:
                raise BenchError(f"no module runs on b: {launchers['b'].tail()}")
            os.kill(module, signal.SIGTERM)
            findings.add("SIGTERM → the last host acts for all", _until_all(client, {"c": 6}), at_most=1.0)
        return findings


def _start(world: World, stack: ExitStack, host: str) -> LauncherRun:
    """Start the launcher of a host; the next one may start when its session file is there."""
    folder = world.folder / host
    run = stack.enter_context(LauncherRun(world, STAY, stands_by=True, launcher_state_dir=str(folder)))
    if not until(lambda: folder.exists() and any(folder.iterdir()), 60.0):
        raise BenchError(f"the launcher of {host} does not start: {run.tail()}")
    return run


def _makespan(world: World, number: int, launcher: LauncherRun) -> float:
    """Seconds until so many requests are fulfilled, some time after the start."""
    time.sleep(2.0)
    began = time.monotonic()
    if not world.requestor.await_fulfilled(world.requestor.ask(number), 170.0):
        raise BenchError(f"not all requests were fulfilled: {launcher.tail()}")
    return time.monotonic() - began


def _until_all(client: KazooClient, wanted: dict[str, int]) -> float:
    """Seconds until the hosts act for so many providers each."""
    began = time.monotonic()
    if not until(lambda: _shares(client) == wanted, 60.0, 0.02):
        raise BenchError(f"instead of {wanted}: {_shares(client)}")
    return time.monotonic() - began


def _shares(client: KazooClient) -> dict[str, int]:
    """Host → the number of providers that it acts for."""
    found: Counter[str] = Counter()
    for name in PROVIDERS:
        path = f"/nodepool/stackci/providers/{name}"
        try:
            if client.get_children(f"{path}/lock"):
                found[str(json.loads(client.get(path)[0]).get("host")).rpartition("/")[2]] += 1
        except (NoNodeError, ValueError):
            continue
    return dict(found)
