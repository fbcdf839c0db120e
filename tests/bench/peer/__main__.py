# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.bench.peer [--only ROOM …] [--quick] [--side NAME] [--json PATH] [--readme [PATH]]``"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import SubprocessError
from types import FrameType

from tests.bench import machine
from tests.bench.launcher import BenchError
from tests.bench.peer import kept, table
from tests.bench.peer.measuring import Figures
from tests.bench.peer.rooms import ROOMS, Room
from tests.bench.peer.sides import Ours, Side, Theirs
from tests.interop.environments import CannotInstall, Environment
from tests.support.simcloud_process import ControlError
from tests.support.zookeeper_server import ZooKeeperMissing, class_path

ROOT = Path(__file__).resolve().parents[3]
SIDES = {"theirs": "Nodepool 11.0.0", "ours": "this collection"}
LONGEST = 1800
"""Seconds after which a room is given up on one side; on an idle machine the longest takes ten minutes."""


def main(words: Sequence[str] | None = None) -> int:
    """0 when all was measured or Nodepool cannot be had here, 1 when something could not be measured."""
    options = _options(words)
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
    path = options.json or (kept.QUICK if options.quick else kept.MEASURED)
    try:
        return _run(rooms, sides, path, quick=options.quick)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


def _options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench-peer",
        description="The same load on Nodepool's own launcher and on the collection's, one after the other.",
    )
    names = [room.name for room in ROOMS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROOM", help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help="few requests and short times: to see that it works")
    parser.add_argument("--side", choices=list(SIDES), help="only this launcher")
    parser.add_argument(
        "--json", type=Path, help="where the figures go, beside those of other rooms; .build/bench/peer.json by default"
    )
    parser.add_argument(
        "--readme", nargs="?", type=Path, const=kept.MEASURED, metavar="JSON",
        help="write README's table from these figures, .build/bench/peer.json by default, and end",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="name the rooms and end")
    return parser.parse_args(words)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _run(rooms: Sequence[Room], sides: Sequence[Side], path: Path, *, quick: bool) -> int:
    known = machine.facts()
    print(machine.sentence(known))
    if known["load"][0] > (os.cpu_count() or 1) / 2:
        print("Others are using this machine: times are longer than they would be.")
    broken = []
    for room in rooms:
        measured: dict[str, Figures] = {}
        facts = {"date": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "machine": {**known, "load": machine.load()}}
        for side in sides:
            print(f"{room.name}, {side.title} …", flush=True)
            try:
                with _within(LONGEST):
                    measured[side.name] = room.run(side, quick)
            except (BenchError, ControlError, OSError, RuntimeError, AssertionError, SubprocessError) as problem:
                print(f"{room.name}, {side.title}: could not be measured: {problem}", flush=True)
                broken.append(f"{room.name} {side.name}")
        title = f"{room.few if quick else room.number} {room.title}"
        for line in table.lines(title, room.name, {side.name: side.title for side in sides}, measured):
            print(line, flush=True)
        kept.keep(path, room.name, title, measured, {**facts, "load_after": machine.load()})
    print(f"\nFigures in {path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}")
    if broken:
        print(f"Not measured: {', '.join(broken)}")
    return 1 if broken else 0


@contextmanager
def _within(seconds: int) -> Iterator[None]:
    """Give up after so long.

    :raises BenchError: then.
    """

    def give_up(_number: int, _frame: FrameType | None) -> None:
        raise BenchError(f"it did not end within {seconds} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _write_readme(path: Path) -> int:
    try:
        rooms = kept.read(path)
    except ValueError as problem:
        print(problem)
        return 1
    # What was measured with --quick, or before a room was changed, has another title.
    whole = {room.name: f"{room.number} {room.title}" for room in ROOMS}
    found = {name: room for name, room in rooms.items() if room["title"] == whole.get(name)}
    complete = {name: room for name, room in found.items() if SIDES.keys() <= room["sides"].keys()}
    lacking = [name for name in whole if name not in complete]
    if lacking:
        print(f"{path} has no figures of both sides for {', '.join(lacking)}: not in README's table")
    if not complete:
        return 1
    table.write_readme(ROOT / "README.md", table.readme(complete, SIDES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
