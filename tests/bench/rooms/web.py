# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The web service with many nodes: how fast it answers, how soon it shows a change, what it needs."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from kazoo.client import KazooClient

from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError
from tests.bench.process_tree import proportional
from tests.support.zookeeper_server import HOST, ZooKeeperServer, free_port

NODES = 6000
VISITORS = 8
SECONDS = 5.0
MODULE = "ansible_collections.stackci.nodepool.plugins.plugin_utils.webapp"
COLLECTIONS = Path(__file__).resolve().parents[3] / "playbooks" / "collections"
PATIENCE = 60.0


class Visitor:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=PATIENCE)

    def get(self, path: str, **headers: str) -> tuple[int, str, bytes]:
        """Status, ETag and body."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request("GET", path, headers=named)
        answer = self._connection.getresponse()
        return answer.status, answer.getheader("ETag", ""), answer.read()


@dataclass(frozen=True)
class Web:
    """6,000 nodes and visitors who ask for all of them."""

    name: str = "web"
    title: str = f"the web service with {NODES} nodes"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        findings = Findings()
        with ZooKeeperServer(tick_ms=500) as server, running(server) as (port, pid):
            client = KazooClient(server.hosts)
            client.start(10)
            try:
                _populate(client, NODES)
                visitor = Visitor(port)
                _until(lambda: _count(visitor) == NODES)
                self._answers(findings, port, 20 if quick else 100)
                self._changes(findings, client, visitor, 5 if quick else 20)
                findings.add("memory", proportional(pid), "MiB", at_most=150)
            finally:
                client.stop()
                client.close()
        return findings

    def _answers(self, findings: Findings, port: int, times: int) -> None:
        visitor = Visitor(port)
        for title, path, accept in (
            ("/node-list as JSON, P50", "/node-list", "application/json"),
            ("/node-list as text, P50", "/node-list", "text/plain"),
        ):
            took = [_seconds(lambda p=path, a=accept: visitor.get(p, Accept=a)) for _number in range(times)]  # type: ignore[misc]
            findings.add(title, 1000 * Spread.of(took).p50, "ms", at_most=50)
            findings.add("  the slowest, which computes it anew", 1000 * max(took), "ms")
        took = []
        while len(took) < times:
            etag = visitor.get("/label-list")[1]
            begun = time.monotonic()
            if visitor.get("/label-list", If_None_Match=etag)[0] == 304:
                took.append(time.monotonic() - begun)
        findings.add("304, P50", 1000 * Spread.of(took).p50, "ms", at_most=5)
        findings.add("requests per second, /label-list", _rate(port, "/label-list"), "1/s", at_least=200)
        findings.add(f"requests per second, /node-list with {NODES} nodes", _rate(port, "/node-list"), "1/s")

    def _changes(self, findings: Findings, client: Any, visitor: Visitor, times: int) -> None:
        took = []
        for number in range(times):
            state = f"state-{number}"
            begun = time.monotonic()
            client.set("/nodepool/nodes/0000000007", json.dumps({"state": state}).encode())
            _until(lambda state=state: state.encode() in _json(visitor))  # type: ignore[misc]
            took.append(time.monotonic() - begun)
        findings.add("from a change in ZooKeeper to the answer, P50", Spread.of(took).p50, at_most=1)
        findings.add("  the slowest", max(took))


@contextmanager
def running(server: ZooKeeperServer) -> Iterator[tuple[int, int]]:
    """Yield port and process id of a running service."""
    port = free_port()
    with TemporaryDirectory(prefix="web-") as folder:
        config = Path(folder, "nodepool.yaml")
        config.write_text(
            f"zookeeper-servers: [{{host: {HOST}, port: {server.port}}}]\nlabels: []\nproviders: []\n", encoding="utf-8"
        )
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, "--config", str(config), "--port", str(port)],
            env={**os.environ, "PYTHONPATH": str(COLLECTIONS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        try:
            _until(lambda: _answers(port))
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _populate(client: Any, count: int) -> None:
    now = time.time()
    client.ensure_path("/nodepool/nodes")
    for number in range(count):
        document = {
            "state": ("ready", "in-use", "building")[number % 3],
            "state_time": now - number,
            "type": [f"label-{number % 20}"],
            "provider": f"provider-{number % 10}",
            "pool": "main",
            "external_id": f"0e3f1b1c-3f4e-4f55-9f0b-{number:012d}",
            "public_ipv4": f"10.0.{number // 250}.{number % 250}",
            "az": "nova",
            "username": "zuul",
            "connection_port": 22,
            "launcher": f"stackci-PoolWorker.provider-{number % 10}-main-0123456789abcdef",
            "allocated_to": f"100-{number:010d}",
            "host_keys": ["ssh-ed25519 " + "A" * 68, "ecdsa-sha2-nistp256 " + "A" * 140],
            "resources": {"cores": 2, "instances": 1, "ram": 4096},
        }
        client.create_async(f"/nodepool/nodes/{number:010d}", json.dumps(document).encode())
    _until(lambda: len(client.get_children("/nodepool/nodes")) == count)


def _json(visitor: Visitor) -> bytes:
    return visitor.get("/node-list", Accept="application/json")[2]


def _count(visitor: Visitor) -> int:
    return _json(visitor).count(b'"server_id"')


def _answers(port: int) -> bool:
    try:
        return Visitor(port).get("/health")[0] == 200
    except OSError:
        return False


def _rate(port: int, path: str) -> float:
    """Answers per second to some visitors at once."""
    counts = [0] * VISITORS
    end = time.monotonic() + SECONDS

    def visit(number: int) -> None:
        visitor = Visitor(port)
        while time.monotonic() < end:
            visitor.get(path)
            counts[number] += 1

    threads = [threading.Thread(target=visit, args=(number,), daemon=True) for number in range(VISITORS)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return sum(counts) / (time.monotonic() - begun)


def _seconds(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def _until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not check():
        if time.monotonic() > end:
            raise BenchError(f"the web service does not get there within {PATIENCE:g} s")
        time.sleep(0.002)
