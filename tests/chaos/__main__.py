# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.chaos [--seconds N] [--seed N …] [--load N] [--virtual | --stock]``"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import time
from pathlib import Path

from tests.chaos.beside import BesideRun
from tests.chaos.real import RealRun
from tests.chaos.virtual import run_virtual
from tests.interop.environments import CannotInstall, Environment
from tests.support.own_reads import only_own_reads
from tests.support.own_state import use_own_state_folder
from tests.support.zookeeper_server import ZooKeeperMissing, class_path

FOLDER = Path(".build/chaos")


def main() -> int:
    """0 when no rule was broken or ZooKeeper cannot be had here, 1 otherwise."""
    use_own_state_folder()
    options = _options()
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)  # its connections are broken all the time
    if not options.virtual:
        try:
            class_path()
            if options.stock:
                Environment("nodepool").install()
        except (ZooKeeperMissing, CannotInstall) as problem:
            print(f"skipped: {problem}")
            return 0
    wrong = 0
    for seed in options.seed or [random.randrange(10**6)]:
        began = time.monotonic()
        if options.virtual:
            figures, found = _virtual(seed, options.seconds)
        else:
            figures, found = _real(BesideRun if options.stock else RealRun, seed, options)
        counts = ", ".join(f"{name} {number}" for name, number in figures.items())
        print(f"{'WRONG' if found else 'ok   '} seed {seed}, {time.monotonic() - began:.0f} s: {counts}", flush=True)
        for text in found:
            print(f"      {text}", flush=True)
        wrong += bool(found)
    if wrong:
        print(f"The logs are in {FOLDER}; the same seed has the same schedule.")
    return 1 if wrong else 0


def _real(kind: type[RealRun], seed: int, options: argparse.Namespace) -> tuple[dict[str, int], list[str]]:
    folder = FOLDER.resolve() / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    outcome = kind(seed, options.seconds, folder, options.load).run()
    return outcome.figures, outcome.wrong


def _virtual(seed: int, seconds: float) -> tuple[dict[str, int], list[str]]:
    with only_own_reads():
        outcome = run_virtual(seed, seconds)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"virtual-{seed}.log").write_text("\n".join(outcome.log), encoding="utf-8")
    return outcome.figures, outcome.wrong


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make chaos", description="Random load, faults and kills on a whole site; a checker judges its history."
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="of load and trouble; the site settles after it")
    parser.add_argument("--seed", type=int, nargs="+", help="of the schedule; without it a random one")
    parser.add_argument(
        "--load", type=float, default=1.0, help="so many times as many requests with shorter jobs; not with --virtual"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--virtual", action="store_true", help="on virtual time, in this process")
    where.add_argument("--stock", action="store_true", help="beside a launcher of Nodepool 11, which is struck as well")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
