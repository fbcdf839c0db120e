# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a reader has to know of the machine to judge a figure."""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

LOOP_TURNS, LOOPS = 300_000, 9
LIBRARIES = ("ansible-core", "kazoo", "openstacksdk")


def facts() -> dict[str, Any]:
    """Cores, load over the last minutes, memory, versions."""
    return {
        "cores": os.cpu_count(),
        "load": load(),
        "memory_mib": _memory(),
        "cpu": _cpu(),
        "fixed_loop": round(fixed_loop(), 4),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "libraries": {name: version(name) for name in LIBRARIES},
    }


def load() -> list[float]:
    """Load averages of 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def fixed_loop() -> float:
    """CPU seconds that a loop takes which never changes: figures of two machines, or hours, are compared by it.

    The median of several: a core that was idle begins at half its speed.
    """
    return median(_loop() for _unused in range(LOOPS))


def _loop() -> float:
    began, known, total = time.process_time(), {turn: str(turn) for turn in range(100)}, 0
    for turn in range(LOOP_TURNS):
        total += len(known[turn % 100]) + turn
    return time.process_time() - began


def sentence(known: dict[str, Any]) -> str:
    """The facts on one line."""
    libraries = ", ".join(f"{name} {number}" for name, number in known["libraries"].items())
    load, loop = "/".join(map(str, known["load"])), f"fixed loop {1000 * known['fixed_loop']:.0f} ms"
    return (
        f"{known['cores']} cores ({known['cpu']}), {known['memory_mib']} MiB, "
        f"load {load}, {loop}, Python {known['python']}, {libraries}"
    )


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20


def _cpu() -> str:
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
