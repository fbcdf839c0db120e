# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cycles in their loop: how long nobody serves between two of them, and what the loop costs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import statistics
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.artifacts import MEBIBYTE, Archive
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.settings import Settings
from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError
from tests.bench.process_tree import proportional
from tests.bench.requestor import POOLS, REQUESTS
from tests.bench.world import Scene, World, until
from tests.support.loop_process import LoopProcess

EVERY = 0.1
"""Seconds between two requests of the stream: so exactly is a gap seen."""
DURATION = 4.0
ARCHIVED = 500
AT_WORK = re.compile(r"at work after ([0-9.]+) s")


class Stream:
    """Asks for a node again and again, and notes when each request was accepted. Fulfilled ones are withdrawn."""

    def __init__(self, hosts: str) -> None:
        self._client = KazooClient(hosts=hosts, timeout=20.0)
        self._client.start(timeout=15)
        self._client.ensure_path(REQUESTS)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.asked: dict[str, float] = {}
        self.accepted: dict[str, float] = {}
        self.registrations: list[tuple[float, frozenset[str]]] = []
        self._client.ensure_path(POOLS)
        self._client.ChildrenWatch(POOLS, self._registered)
        self._thread.start()

    def close(self) -> None:
        """Stop asking."""
        self.rest()
        self._client.stop()
        self._client.close()

    def ask(self) -> str:
        """One request more."""
        now = time.time()
        document = {
            "node_types": ["small"], "requestor": "bench", "state": "requested", "state_time": now,
            "created_time": now, "provider": None, "relative_priority": 0, "requestor_data": {}, "tenant_name": "t",
        }  # fmt: skip
        path = str(self._client.create(f"{REQUESTS}/200-", json.dumps(document).encode(), sequence=True))
        self.asked[path] = now
        self._look(path)
        return path

    def worst(self, begin: float, end: float) -> float:
        """The longest that a request of that time waited until somebody accepted it."""
        waits = [
            self.accepted[path] - at for path, at in self.asked.items() if begin <= at <= end and path in self.accepted
        ]
        return max(waits, default=float("nan"))

    def rest(self) -> None:
        """Ask for nothing more."""
        self._over.set()
        self._thread.join(10)

    def unserved(self) -> int:
        """Requests that nobody has accepted."""
        return sum(1 for path in self.asked if path not in self.accepted)

    def handovers(self) -> list[tuple[float, float]]:
        """(when the last registration of one launcher went, when that of the next came)"""
        found, gone = [], None
        for (_at, before), (at, after) in pairwise(self.registrations):
            if before and not after:
                gone = at
            elif before - after:
                found.append((at, at))
            if gone is not None and after:
                found.append((gone, at))
                gone = None
        return found

    def _registered(self, names: list[str]) -> None:
        self.registrations.append((time.time(), frozenset(names)))

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self.ask()

    def _look(self, path: str) -> None:
        self._client.get_async(path, watch=lambda event: self._look(path)).rawlink(
            lambda answer: self._seen(path, answer)
        )

    def _seen(self, path: str, answer: Any) -> None:
        try:
            data, _stat = answer.get_nowait()
        except NoNodeError:
            return
        state = json.loads(data)["state"]
        if state in ("pending", "fulfilled"):
            self.accepted.setdefault(path, time.time())
        if state in ("fulfilled", "failed"):
            self._client.delete_async(path)


class LoopRoom:
    """Hand-overs and kills under a stream of requests."""

    name = "loop"
    title = "the launcher in its loop: hand-overs, kills, what it costs"

    def run(self, quick: bool) -> Findings:
        """Measure."""
        number = 5 if quick else 20
        findings = Findings()
        scene = Scene(guests=False, boot={"kind": "fixed", "value": 0.3}, latency={}, quota=400)
        with World(scene) as world:
            table = {"playbook": "stackci.nodepool.launcher", "duration": DURATION, "keep_cycles": 10}
            variables = json.loads(world.variables().read_text("utf-8"))
            with LoopProcess(world.folder, table, variables) as loop:
                loop.wait_serving()
                stream = Stream(world.zookeeper.hosts)
                try:
                    self._handovers(findings, loop, stream, number)
                    self._kills(findings, loop, stream, 2 if quick else 5)
                finally:
                    stream.close()
                self._starts(findings, loop)
                loop.end(60.0)
                self._artifacts(findings, loop)
        return findings

    @staticmethod
    def _handovers(findings: Findings, loop: LoopProcess, stream: Stream, number: int) -> None:
        if not until(lambda: len(stream.handovers()) >= 1, 90.0):
            raise BenchError("no cycle took over from another one")
        memory = proportional(loop.process.pid)
        if not until(lambda: len(stream.handovers()) >= number, number * 30.0):
            raise BenchError(f"{len(stream.handovers())} hand-overs within {number * 30} s: {loop.lines()[-3:]}")
        time.sleep(3 * EVERY)
        gaps = [come - gone for gone, come in stream.handovers()[:number]]
        waits = [stream.worst(gone - 0.5, come + 0.5) for gone, come in stream.handovers()[:number]]
        usual = statistics.median(
            stream.accepted[path] - at for path, at in stream.asked.items() if path in stream.accepted
        )
        findings.add(f"nobody is registered between two cycles, P50 of {number}", Spread.of(gaps).p50, at_most=0.3)
        findings.add("worst wait of a request around a hand-over, P50", Spread.of(waits).p50 - usual, at_most=0.3)
        findings.add("the same, largest", Spread.of(waits).most - usual)
        findings.add(
            "memory that the loop gained meanwhile", proportional(loop.process.pid) - memory, "MiB", at_most=1.0
        )
        findings.add("memory of the loop", proportional(loop.process.pid), "MiB")
        findings.details["gaps"] = Spread.of(gaps).document()
        findings.details["waits_at_handover"] = Spread.of(waits).document()
        findings.details["usual_wait"] = usual

    @staticmethod
    def _kills(findings: Findings, loop: LoopProcess, stream: Stream, number: int) -> None:
        """Kills in the middle of a cycle, when no successor stands by yet."""
        loop.configure(duration=600)
        loop.signal(signal.SIGHUP)
        newest = max(loop.hearts(), default=0)
        times = []
        for _unused in range(number):
            newest = loop.wait_serving(after=newest)
            if not until(lambda: len(loop.hearts()) == 1, 30.0):
                raise BenchError("the former cycle does not end")
            os.kill(loop.module(newest), signal.SIGKILL)
            killed = time.time()
            request = stream.ask()
            if not until(lambda request=request: request in stream.accepted, 60.0, 0.01):  # type: ignore[misc]
                raise BenchError("a request was not served after a kill")
            times.append(stream.accepted[request] - killed)
        findings.add(f"served again after kill -9, P50 of {number}", Spread.of(times).p50, at_most=5.0)
        findings.add("the same, longest", Spread.of(times).most)
        stream.rest()
        until(lambda: stream.unserved() == 0, 60.0)
        findings.add("requests that nobody accepted", stream.unserved(), "", at_most=0.0)
        findings.details["served_again"] = Spread.of(times).document()

    @staticmethod
    def _starts(findings: Findings, loop: LoopProcess) -> None:
        starts = [float(found[1]) for line in loop.lines() if (found := AT_WORK.search(line))]
        findings.add("from the start of a cycle until it can act, P50", Spread.of(starts).p50, at_most=2.5)
        findings.details["starts"] = Spread.of(starts).document()

    @staticmethod
    def _artifacts(findings: Findings, loop: LoopProcess) -> None:
        """What is left after many cycles: copies of a real one, as if they had just ended."""
        settings = Settings("launcher", "x", "launcher", str(loop.state))
        real = max(path for path in (loop.state / "cycles").iterdir() if path.is_dir())
        folder = loop.folder / "archive"
        archive = Archive(folder)
        for _unused in range(ARCHIVED):
            number = archive.fresh()
            shutil.copytree(real, archive.path(number), symlinks=True)
            archive.close(number, settings, ())
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        size = sum(path.stat().st_blocks * 512 for path in files) / MEBIBYTE
        findings.add(f"files of {ARCHIVED} ended cycles", len(files), "", at_most=float(settings.keep_files))
        findings.add("their size", size, "MiB", at_most=settings.keep_mb)
