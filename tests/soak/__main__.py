# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.soak [--lives N] [--cycles N] [--keep]``"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import time
from pathlib import Path

from tests.soak.readings import BOUNDS, Readings
from tests.soak.trend import trend
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import CloudBank, Site, label, pool, provider
from tests.support.loop_process import LoopProcess
from tests.support.own_state import use_own_state_folder
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer

FOLDER = Path(".build/soak")
AT_ONCE = 15
"""Nodes that are asked for together; a reading is taken when all nodes of some such rounds are gone."""
READINGS = 40
FEWEST = 10
CYCLE = 60
PATIENCE = 600.0
MOST_TOMBSTONES = 2 * 1000
"""1,000 are kept for a provider; those since the last sweep, which may be minutes ago, come to them."""


class Soak:
    """Lives of nodes, one round after the other."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.lives = 0

    def round(self) -> None:
        """AT_ONCE nodes are asked for, used and given back."""
        requestor = self.site.requestor
        waiting = [requestor.ask("small") for _turn in range(AT_ONCE)]
        for request in waiting:
            requestor.wait_for(request, seconds=PATIENCE)
            requestor.give_back(*requestor.accept(request))
        self.lives += AT_ONCE

    def rest(self) -> None:
        """Wait until no node exists."""
        eventually(lambda: not self.site.requestor.nodes(), PATIENCE)


def main() -> int:
    """0 when nothing grows or ZooKeeper cannot be had here, 1 otherwise."""
    use_own_state_folder()
    parser = argparse.ArgumentParser(prog="make soak", description="Many node lives; what grows fails.")
    parser.add_argument("--lives", type=int, default=20_000, help="so many nodes are launched, used and deleted")
    parser.add_argument("--cycles", type=int, default=20, help="so many cycles of the loop at least")
    options = parser.parse_args()
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    folder = FOLDER.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        with ZooKeeperServer(heap_mib=256) as zookeeper, CloudBank() as bank:
            site = Site(folder, zookeeper, "/soak", bank)
            try:
                return _soak(site, options.lives, options.cycles)
            finally:
                site.close()
    except ZooKeeperMissing as problem:
        print(f"skipped: {problem}")
        return 0


def _soak(site: Site, lives: int, cycles: int) -> int:
    site.configure(provider("one", pool("main", label("small"), label("medium"), label("large"))))
    site.cloud.settings(boot=0.05)
    variables = {"nodepool_config": str(site.config), "nodepool_clouds_config": str(site.clouds_yaml)}
    seconds = max(10, min(CYCLE, lives // cycles))
    began = time.monotonic()
    # As many ended cycles are kept as fit into the readings that are left out.
    table = {"playbook": "stackci.nodepool.launcher", "duration": seconds, "keep_cycles": max(1, cycles // 10)}
    with LoopProcess(site.folder, table, variables) as loop:
        eventually(loop.serving, PATIENCE)
        soak, readings = Soak(site), Readings(site, loop)
        every = max(lives // READINGS, AT_ONCE)
        while soak.lives < lives or _cycles(loop) < cycles or len(readings.figures[next(iter(BOUNDS))]) < FEWEST:
            soak.round()
            readings.look()
            if soak.lives // every > (soak.lives - AT_ONCE) // every:
                soak.rest()
                readings.take(soak.lives)
                site.cloud.clear_calls()  # the log of the simulated cloud
        made = _cycles(loop)
        wrong = [line for line in loop.lines() if "Traceback" in line]
        loop.end(PATIENCE)
    took = time.monotonic() - began
    print(f"{soak.lives} lives through {made} cycles in {took:.0f} s")
    grows = 0
    for name, bound in BOUNDS.items():
        line = trend(name, readings.figures[name], bound)
        print(line)
        grows += not line.is_flat
    many = readings.tombstones
    print(f"{'ok   ' if many <= MOST_TOMBSTONES else 'GROWS'} tombstones: {many}, bound {MOST_TOMBSTONES}")
    for text in wrong:
        print(f"WRONG {text}")
    return 1 if grows or wrong or many > MOST_TOMBSTONES else 0


def _cycles(loop: LoopProcess) -> int:
    return sum(1 for line in loop.lines() if line.startswith("cycle ") and " ok after" in line)


if __name__ == "__main__":
    sys.exit(main())
