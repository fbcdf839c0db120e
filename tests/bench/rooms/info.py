# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules that show what is in the tree, with the tree of a large site."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import crowded_tree
from tests.bench.figures import Findings, Spread
from tests.bench.launcher import BenchError
from tests.support.ansible_run import COLLECTIONS, MODULES, environment
from tests.support.zookeeper_server import ZooKeeperServer

NODES, REQUESTS = 10_000, 2_000
SETTINGS = "nodepool-settings.yaml"
TIMES = 3
WITH: dict[str, dict[str, Any]] = {
    "node_info": {},
    "request_info": {},
    "provider_info": {},
    "label_info": {},
    "lease_info": {},
    "nodepool_status": {},
    "image_info": {"ask_clouds": False},
    "dib_image_info": {},
}
STARTER = """
import atexit, runpy, sys, time
begun = time.monotonic()
from ansible.module_utils.basic import AnsibleModule
spent, leave = [time.monotonic() - begun], AnsibleModule.exit_json
def exit_json(self, **result):
    begun = time.monotonic()
    try:
        leave(self, **result)
    finally:
        spent.append(time.monotonic() - begun)
AnsibleModule.exit_json = exit_json
@atexit.register
def tell():
    with open("/proc/self/status", encoding="ascii") as status:
        peak = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
    sys.stderr.write(f"{sum(spent)} {peak}")
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""Runs a module as the action plugin does.

The last that it writes is how many seconds Ansible's own library took, to load and to write the result, and its peak of
memory in KiB.
"""


@dataclass(frozen=True)
class Info:
    """The process of each module. What Ansible's own library takes in it is measured, and no part of the target."""

    name: str = "info"
    title: str = f"a tree of {NODES} nodes and {REQUESTS} requests, read by each module that shows it, {TIMES} times"

    def run(self, quick: bool) -> Findings:
        """Measure; quick: a tenth of the tree."""
        nodes, requests = (NODES // 10, REQUESTS // 10) if quick else (NODES, REQUESTS)
        findings = Findings()
        with tempfile.TemporaryDirectory(prefix="nodepool-bench-") as name:
            folder = Path(name)
            with ZooKeeperServer(data_dir=folder / "zookeeper", heap_mib=512) as zookeeper:
                size = crowded_tree.fill(zookeeper.hosts, nodes, requests, time.time())
                (folder / "nodepool.yaml").write_text(crowded_tree.nodepool_yaml(zookeeper.port), encoding="utf-8")
                for module, options in WITH.items():
                    _measure(findings, folder, module, options)
                (folder / SETTINGS).write_text(crowded_tree.settings_yaml(), encoding="utf-8")
                crowded_tree.fill_days(zookeeper.hosts, time.time())
                _measure(findings, folder, "nodepool_status", {}, "nodepool_status with budgets")
        findings.details["bytes"] = size
        return findings


def _measure(findings: Findings, folder: Path, module: str, options: dict[str, Any], title: str = "") -> None:
    runs = [_run(folder, module, options) for _unused in range(TIMES)]
    wall, ansible, cpu, memory = (Spread.of(values) for values in zip(*runs, strict=True))
    findings.add(f"{title or module}, P50", Spread.of([run[0] - run[1] for run in runs]).p50, at_most=1.5)
    findings.add("  with Ansible's own library, P50", wall.p50)
    findings.add("  its CPU, P50", cpu.p50)
    findings.add("  its memory at the peak", memory.most, "MB", at_most=150.0)
    findings.details[title or module] = {
        "seconds": wall.document(),
        "ansible": ansible.document(),
        "cpu": cpu.document(),
        "memory": memory.document(),
    }


def _run(folder: Path, module: str, options: dict[str, Any]) -> tuple[float, float, float, float]:
    """Seconds, those of Ansible's own library, seconds of CPU and MB of one run."""
    file = folder / "arguments.json"
    config = {"config": str(folder / "nodepool.yaml")}
    file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**config, **options}}), encoding="utf-8")
    before, began = _children_cpu(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", STARTER, f"{MODULES}.{module}", str(file)],
        cwd=folder,
        env={**environment(folder), "PYTHONPATH": f"{COLLECTIONS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    seconds = time.monotonic() - began
    if done.returncode:
        raise BenchError(f"{module} failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    ansible, peak = done.stderr.split()[-2:]
    return seconds, float(ansible), _children_cpu() - before, int(peak) * 1024 / 1e6


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
