# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.openstack [--only ROW …] [--list] [--keep]``"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from tests.openstack.control_plane import CannotRun, ControlPlane
from tests.openstack.lab import ROWS, Lab, Row
from tests.openstack.rows import load
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer, class_path

WIDTH = 16


def main() -> int:
    """0 when every row went well, 1 when one did not, 2 when the judge cannot be had here."""
    load()
    options = _options()
    if options.list:
        for row in ROWS:
            print(f"{row.name:{WIDTH}} {row.title}")
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    chosen = [row for row in ROWS if not options.only or row.name in options.only]
    plane = ControlPlane()
    try:
        class_path()
        print(f"The control plane is installed ({plane.install():.0f} s).", flush=True)
        began = time.monotonic()
        with plane, ZooKeeperServer() as zookeeper:
            print(f"It answers ({time.monotonic() - began:.0f} s): {plane.clouds_yaml}", flush=True)
            return _judge(chosen, plane, zookeeper, keep=options.keep)
    except (CannotRun, ZooKeeperMissing) as problem:
        print(f"Skipped: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make test-openstack",
        description="Runs the playbooks against a real OpenStack control plane; prints what was tried, and the result.",
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=f"some of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the rows, and say where they are")
    return parser.parse_args()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _judge(rows: list[Row], plane: ControlPlane, zookeeper: ZooKeeperServer, *, keep: bool) -> int:
    wrong = []
    folder = Path(tempfile.mkdtemp(prefix="openstack-"))
    try:
        lab = Lab(plane, zookeeper, folder)
        for row in rows:
            verdict, seen, seconds = row.run(lab)
            print(f"{row.name:{WIDTH}} {verdict:6} {seconds:4.0f} s  {row.title}", flush=True)
            for line in seen.strip().splitlines() or [""]:
                print(f"{'':{WIDTH}}   {line}", flush=True)
            if verdict != "ok":
                wrong.append(row.name)
        lab.close()
    finally:
        if keep:
            print(f"Folders of the rows: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if wrong:
        print(f"{len(wrong)} of {len(rows)} rows went wrong: {', '.join(wrong)}")
        return 1
    print(f"All {len(rows)} rows went well.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
