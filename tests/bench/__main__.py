# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.bench [--only NAME …] [--quick] [--json PATH] [--profile DIR] [--check]``"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tests.bench import in_process, machine, report
from tests.bench.figures import Findings
from tests.bench.launcher import BenchError
from tests.bench.rooms import ROOMS, Room
from tests.support.own_state import use_own_state_folder
from tests.support.simcloud_process import ControlError
from tests.support.zookeeper_server import ZooKeeperMissing, class_path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run the chosen rooms; 0 unless a target is missed by more than half, or with ``--check`` at all."""
    use_own_state_folder()
    options = _options()
    if options.list:
        for room in ROOMS:
            print(f"{room.name:16}{room.title}")
        return 0
    try:
        class_path()
    except ZooKeeperMissing as problem:
        print(problem, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    in_process.profiles = options.profile
    chosen = [room for room in ROOMS if not options.only or room.name in options.only]
    path = options.json or ROOT / ".build" / "bench" / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    try:
        return _run(chosen, path, quick=options.quick, check=options.check)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench", description="Measures the launcher against a simulated cloud that it starts itself."
    )
    names = [room.name for room in ROOMS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="fewer nodes and shorter times where that tells enough")
    parser.add_argument("--json", type=Path, help="where the figures go; .build/bench/<date>.json when not given")
    parser.add_argument(
        "--check",
        action="store_true",
        help="end with 1 for any target that is not met, not only for those missed by more than half",
    )
    parser.add_argument("--profile", type=Path, help="folder for profiles of the cycles that run in this process")
    parser.add_argument("--list", action="store_true", help="name the scenarios and end")
    return parser.parse_args()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(rooms: list[Room], path: Path, *, quick: bool, check: bool) -> int:
    known = machine.facts()
    print(machine.sentence(known))
    if known["load"][0] > (os.cpu_count() or 1) / 2:
        print("Others are using this machine: times are longer than they would be.")
    document: dict[str, Any] = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "machine": known, "quick": quick}
    document["rooms"] = {}
    done: list[Findings] = []
    broken = 0
    for room in rooms:
        began, load = time.monotonic(), machine.load()
        try:
            findings = room.run(quick)
        except (BenchError, ControlError, OSError, RuntimeError) as problem:
            print(f"\n{room.name}: could not be measured: {problem}", flush=True)
            document["rooms"][room.name] = {"title": room.title, "problem": str(problem)}
            broken += 1
            continue
        done.append(findings)
        seconds = time.monotonic() - began
        _show(room, findings, seconds)
        document["rooms"][room.name] = report.room_document(room.title, seconds, [load, machine.load()], findings)
        report.write(path, document)
    report.write(path, document)
    print(report.summary(done, broken))
    print(f"Figures in {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    figures = [figure for findings in done for figure in findings.figures]
    missed = any(figure.met is False if check else figure.far_off for figure in figures)
    return 1 if broken or missed else 0


def _show(room: Room, findings: Findings, seconds: float) -> None:
    print(report.heading(room.title, room.name))
    for figure in findings.figures:
        print(report.row(figure))
    for note in findings.notes:
        print(f"  note: {note}")
    print(f"  ({seconds:.0f} s, load now {machine.load()[0]:g})", flush=True)


if __name__ == "__main__":
    sys.exit(main())
