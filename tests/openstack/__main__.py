# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.openstack [--only ROW …] [--cloud NAME] [--slow PERCENT] [--list] [--keep] …``"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from tests.openstack import verdicts
from tests.openstack.control_plane import CannotRun, ControlPlane
from tests.openstack.lab import ROWS, WITHOUT, Lab, Row
from tests.openstack.lanes import Turns
from tests.openstack.planes import Planes, control_planes
from tests.openstack.rows import load
from tests.openstack.simulated import SimulatedPlane
from tests.openstack.slowness import Slowness
from tests.support.own_state import use_own_state_folder
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer, class_path

WIDTH = 20
REAL, SIMULATED = "real", "simulated"
LANES = 4
PLANES = 2
CROWD = 40
"""So many nodes at once are served in the time that a whole run may take on two cores; by hand it is 100."""
PROJECTS = ("demo", "judge2", "judge3", "judge4")
"""One for each lane; the first comes with the control plane."""


def main() -> int:
    """0 when every row went well or the judge cannot be had here, 1 when a row did not."""
    use_own_state_folder()
    load()
    options = _options()
    if options.list:
        for row in ROWS:
            print(f"{row.name:{WIDTH}} {row.title}")
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    clouds = (REAL, SIMULATED) if options.cloud == "both" else (options.cloud,)
    try:
        status = max(_run(cloud, options) for cloud in clouds)
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130
    if SIMULATED in clouds:
        _compare()
    return status


def _run(cloud: str, options: argparse.Namespace) -> int:
    """Run the rows on one cloud."""
    chosen = [row for row in ROWS if not options.only or row.name in options.only]
    # To start another one takes longer than one row.
    number = max(1, min(options.planes, sum(row.disturbs_all for row in chosen)))
    planes = Planes(control_planes(number) if cloud == REAL else [SimulatedPlane(*PROJECTS)])
    try:
        class_path()
        print(f"The {cloud} control plane is installed ({planes.install():.0f} s).", flush=True)
    except (CannotRun, ZooKeeperMissing) as problem:
        print(f"skipped: {problem}", flush=True)
        return 0
    try:
        began = time.monotonic()
        with ExitStack() as stack:
            stack.enter_context(planes)
            zookeeper = stack.enter_context(ZooKeeperServer())
            print(f"It answers ({time.monotonic() - began:.0f} s): {planes.get(0).clouds_yaml}", flush=True)
            if options.slow:
                stack.enter_context(Slowness(planes.signal_all, options.slow))
                print(f"Its services work {options.slow} % of the time.", flush=True)
            return _judge(chosen, planes, zookeeper, options, "slow" if options.slow else cloud)
    except CannotRun as problem:
        print(f"It does not start: {problem}", flush=True)
        return 1


def _compare() -> None:
    """Print what both clouds were asked and did not do in the same way."""
    real, simulated = verdicts.read(REAL), verdicts.read(SIMULATED)
    both = [name for name in real if name in simulated]
    found = list(verdicts.differences(real, simulated, WITHOUT))
    print(f"\n{len(both)} rows of both clouds are compared:" if found else f"\nNo difference in {len(both)} rows.")
    for line in found:
        print(line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make test-openstack",
        description="Runs the playbooks against a real OpenStack control plane; prints what was tried, and the result.",
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=f"some of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument(
        "--cloud",
        choices=(REAL, SIMULATED, "both"),
        default=REAL,
        help="the control plane, the simulated one, or both",
    )
    parser.add_argument(
        "--slow", type=int, choices=range(1, 100), metavar="PERCENT", help="services work so much of the time"
    )
    parser.add_argument("--lanes", type=int, choices=range(1, len(PROJECTS) + 1), default=LANES, help="rows at once")
    parser.add_argument(
        "--planes",
        type=int,
        choices=range(1, 5),
        default=PLANES,
        help="control planes; all but the first are for rows that stop a service",
    )
    parser.add_argument("--crowd", type=int, default=CROWD, help="nodes at once in the row of that name")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the rows, and say where they are")
    return parser.parse_args()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


class Judge:
    """Runs rows and prints a line for each."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds = 0.0
        self.verdicts: dict[str, dict[str, str | float]] = {}
        self.stopped = threading.Event()
        """The control plane is about to end: what fails from now on says nothing."""

    def lane(self, lane: Lane, turns: Turns) -> None:
        """Run rows, one after the other, as long as there are any."""
        try:
            lab = lane.open()
        except Exception as problem:
            # Other lanes run the rows; one that none of them runs counts as wrong.
            if not self.stopped.is_set():
                print(f"control plane {lane.plane + 1} cannot be used: {problem}", file=sys.stderr)
            return
        while (row := turns.take(lane.plane)) is not None:
            self._tell(row, *row.run(lab))
            try:
                lab.close()
            except Exception as problem:
                # The next row of this lane tries it again, and tells.
                if not self.stopped.is_set():
                    print(f"{row.name}: what it has left is not gone: {problem}", file=sys.stderr)
            turns.done(row)

    def _tell(self, row: Row, verdict: str, seen: str, seconds: float) -> None:
        if self.stopped.is_set():
            return
        with self._lock:
            print(f"{row.name:{WIDTH}} {verdict:6} {seconds:4.0f} s  {row.title}", flush=True)
            for line in seen.strip().splitlines() or [""]:
                print(f"{'':{WIDTH}}   {line}", flush=True)
            self.seconds += seconds
            self.verdicts[row.name] = {"verdict": verdict, "seen": seen, "seconds": round(seconds, 1)}

    def verdict(self, row: Row) -> str:
        """How a row went; empty when it did not run."""
        return str(self.verdicts.get(row.name, {}).get("verdict", ""))

    def run(self, lanes: Sequence[Lane], turns: Turns) -> None:
        """Run rows in the lanes."""
        threads = [threading.Thread(target=self.lane, args=(lane, turns), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Lane:
    """Where rows run one after the other: a project of a control plane.

    :param plane: the number of the control plane.
    """

    def __init__(self, planes: Planes, plane: int, make: Callable[[ControlPlane], Lab], project: str) -> None:
        self.plane = plane
        self._planes = planes
        self._make = make
        self._project = project
        self._lab: Lab | None = None

    def open(self) -> Lab:
        """Its lab, as soon as the control plane answers.

        :raises CannotRun: the control plane does not start.
        """
        self._lab = self._make(self._planes.get(self.plane).beside(self._project))
        return self._lab

    def stop(self) -> None:
        """End what its row has started."""
        if self._lab is not None:
            self._lab.stop()


def _judge(rows: list[Row], planes: Planes, zookeeper: ZooKeeperServer, options: argparse.Namespace, name: str) -> int:
    began = time.monotonic()
    turns = Turns(rows, {key: float(found["seconds"]) for key, found in verdicts.read(name).items()})
    folder = Path(tempfile.mkdtemp(prefix="openstack-"))
    judge = Judge()

    def lane(plane: int, project: str) -> Lane:
        return Lane(
            planes, plane, lambda seen: Lab(seen, zookeeper, folder / f"{plane}-{project}", options.crowd), project
        )

    ordinary = sum(not row.alone and not row.disturbs_all for row in rows)
    lanes = [lane(0, project) for project in PROJECTS[: max(1, min(options.lanes, ordinary))]]
    lanes += [lane(plane, PROJECTS[0]) for plane in range(1, len(planes))]
    try:
        judge.run(lanes, turns)
    except KeyboardInterrupt:
        judge.stopped.set()
        raise
    finally:
        for one in lanes:
            one.stop()
        verdicts.keep(name, judge.verdicts)
        if options.keep:
            print(f"Folders of the rows: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    took = f"{minutes} min {seconds} s, {len(lanes)} at once; {judge.seconds:.0f} s one after the other"
    by_verdict = {verdict: [row.name for row in rows if judge.verdict(row) == verdict] for verdict in ("ok", WITHOUT)}
    wrong = [row.name for row in rows if judge.verdict(row) not in by_verdict]
    if by_verdict[WITHOUT]:
        print(f"{len(by_verdict[WITHOUT])} rows cannot be tried here: {', '.join(by_verdict[WITHOUT])}")
    if wrong:
        print(f"{len(wrong)} of {len(rows)} rows went wrong ({took}): {', '.join(wrong)}")
        return 1
    print(f"All {len(by_verdict['ok'])} rows went well ({took}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
