# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cycle in this process, so that its passes can be timed and profiled one by one."""

from __future__ import annotations

import cProfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launcher_options import (
    LauncherOptions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_cycle import run_launcher
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes.launcher_pass import LauncherPass
from tests.bench.world import World

profiles: Path | None = None
"""Where cProfile's figures of the cycles' threads go; None for no profiling, which makes everything slower."""


@dataclass
class Passes:
    """Of each pass the seconds on the clock and of CPU; *cpu* is what the whole process used."""

    seconds: list[float] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    """Seconds from the start of the cycle."""
    busy: list[float] = field(default_factory=list)
    cpu: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)


def run_cycle(world: World, duration: float, meanwhile: Callable[[threading.Event], None], name: str) -> Passes:
    """Stay for *duration* seconds; *meanwhile* runs in a thread until the event is set.

    :param name: of the profile, where profiles are wanted.
    """
    passes, over, start = Passes(), threading.Event(), time.perf_counter()
    work = LauncherPass.work

    def timed(acting: LauncherPass, now: float) -> float:
        began, busy = time.perf_counter(), time.thread_time()
        try:
            return work(acting, now)
        finally:
            passes.seconds.append(time.perf_counter() - began)
            passes.began.append(began - start)
            passes.busy.append(time.thread_time() - busy)

    options = LauncherOptions(
        config=str(world.config), clouds_config=str(world.cloud.clouds_yaml), duration=duration, until="deadline"
    )
    companion = threading.Thread(target=meanwhile, args=(over,), daemon=True)
    profiler = cProfile.Profile() if profiles else None
    companion.start()
    before = time.process_time()
    try:
        with patch.object(LauncherPass, "work", timed):
            passes.result = profiler.runcall(run_launcher, options) if profiler else run_launcher(options)
    finally:
        over.set()
        companion.join(10.0)
    passes.cpu = time.process_time() - before
    if profiler and profiles:
        profiles.mkdir(parents=True, exist_ok=True)
        profiler.dump_stats(profiles / f"{name}.prof")
    return passes
