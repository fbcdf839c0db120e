# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.bench.peer [--only ROOM …] [--quick] [--side NAME] [--json PATH] [--readme PATH]``"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tests.bench import machine, report
from tests.bench.launcher import BenchError
from tests.bench.peer import table
from tests.bench.peer.measuring import Figures
from tests.bench.peer.rooms import ROOMS, Room
from tests.bench.peer.sides import Ours, Side, Theirs
from tests.interop.environments import CannotInstall, Environment
from tests.support.simcloud_process import ControlError
from tests.support.zookeeper_server import ZooKeeperMissing, class_path

ROOT = Path(__file__).resolve().parents[3]
SIDES = {"theirs": "Nodepool 11.0.0", "ours": "this collection"}


def main() -> int:
    """0 when all was measured or Nodepool cannot be had here, 1 when something could not be measured."""
    options = _options()
    if options.list:
        for room in ROOMS:
            print(f"{room.name:12} {room.number} {room.title}")
        return 0
    if options.readme:
        return _write_readme(options.readme)
    signal.signal(signal.SIGTERM, _interrupt)
    made = Environment("nodepool")
    try:
        class_path()
        made.install()
    except (CannotInstall, ZooKeeperMissing) as problem:
        print(f"skipped: {problem}")
        return 0
    sides: list[Side] = [side for side in (Theirs(made), Ours()) if options.side in (None, side.name)]
    rooms = [room for room in ROOMS if not options.only or room.name in options.only]
    path = options.json or ROOT / ".build" / "bench" / f"peer-{time.strftime('%Y%m%d-%H%M%S')}.json"
    try:
        return _run(rooms, sides, path, quick=options.quick)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-peer",
        description="The same load on Nodepool's own launcher and on the collection's, one after the other.",
    )
    names = [room.name for room in ROOMS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROOM", help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="few requests and short times: to see that it works")
    parser.add_argument("--side", choices=list(SIDES), help="only this launcher")
    parser.add_argument("--json", type=Path, help="where the figures go; .build/bench/peer-<date>.json when not given")
    parser.add_argument("--readme", type=Path, metavar="JSON", help="write README's table from these figures, and end")
    parser.add_argument("--list", action="store_true", help="name the rooms and end")
    return parser.parse_args()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(rooms: Sequence[Room], sides: Sequence[Side], path: Path, *, quick: bool) -> int:
    known = machine.facts()
    print(machine.sentence(known))
    if known["load"][0] > (os.cpu_count() or 1) / 2:
        print("Others are using this machine: times are longer than they would be.")
    document: dict[str, Any] = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "machine": known, "quick": quick}
    document["rooms"] = {}
    broken = []
    for room in rooms:
        measured: dict[str, Figures] = {}
        for side in sides:
            print(f"{room.name}, {side.title} …", flush=True)
            try:
                measured[side.name] = room.run(side, quick)
            except (BenchError, ControlError, OSError, RuntimeError, AssertionError) as problem:
                print(f"{room.name}, {side.title}: could not be measured: {problem}", flush=True)
                broken.append(f"{room.name} {side.name}")
        number = room.few if quick else room.number
        title = f"{number} {room.title}"
        for line in table.lines(title, room.name, {side.name: side.title for side in sides}, measured):
            print(line, flush=True)
        values = {name: {key: _plain(value) for key, value in found.items()} for name, found in measured.items()}
        document["rooms"][room.name] = {"title": title, "sides": values, "load_after": machine.load()}
        report.write(path, document)
    print(f"\nFigures in {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    if broken:
        print(f"Not measured: {', '.join(broken)}")
    return 1 if broken else 0


def _plain(value: float) -> float | None:
    """JSON knows no NaN."""
    return None if math.isnan(value) else round(value, 4)


def _write_readme(path: Path) -> int:
    document = json.loads(path.read_text(encoding="utf-8"))
    if document["quick"]:
        print("These are figures of --quick: they do not belong into README.")
        return 1
    table.write_readme(ROOT / "README.md", table.readme(document["rooms"], SIDES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
