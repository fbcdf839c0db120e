# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m tests.interop [--only ROW …] [--list] [--keep]``"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from tests.interop.environments import CannotInstall, Environment
from tests.interop.lab import NODEPOOL, ROWS, ZUUL, Lab, Row
from tests.interop.rows import load
from tests.support.own_state import use_own_state_folder
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer, class_path

WIDTH = 20
TICK_MS = 500


def main() -> int:
    """0 when every row went well or the judges cannot be had here, 1 when a row did not."""
    use_own_state_folder()
    load()
    options = _options()
    if options.list:
        for row in ROWS:
            print(f"{row.name:{WIDTH}} {row.title}")
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    chosen = [row for row in ROWS if not options.only or row.name in options.only]
    try:
        class_path()
        installed = _installed({name for row in chosen for name in row.needs})
        if not installed:
            return 0
        return _judge(chosen, installed, keep=options.keep)
    except ZooKeeperMissing as problem:
        print(f"skipped: {problem}", flush=True)
        return 0
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return 130


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make test-interop",
        description="Runs Nodepool's and Zuul's own programs on one tree with the collection; prints what differs.",
    )
    names = [row.name for row in ROWS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="ROW", help=f"some of {', '.join(names)}")
    parser.add_argument("--list", action="store_true", help="name the rows and end")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the rows, and say where they are")
    return parser.parse_args()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _installed(names: set[str]) -> dict[str, Environment]:
    """Those of the environments that can be had here; says what it does."""
    found = {}
    for name in sorted(names, key=(NODEPOOL, ZUUL).index):
        made = Environment(name)
        try:
            print(f"{name} is installed ({made.install():.0f} s).", flush=True)
        except CannotInstall as problem:
            print(f"skipped: {problem}", flush=True)
        else:
            found[name] = made
    return found


def _judge(rows: Sequence[Row], installed: dict[str, Environment], *, keep: bool) -> int:
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="interop-"))
    verdicts: dict[str, str] = {}
    try:
        with ZooKeeperServer(tick_ms=TICK_MS, tls=True) as zookeeper:
            lab = Lab(zookeeper, folder, installed)
            try:
                for row in rows:
                    verdicts[row.name] = _tell(row, *row.run(lab))
            finally:
                lab.close()
    finally:
        if keep:
            print(f"Folders of the rows: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    counts = Counter(verdicts.values())
    wrong = [name for name, verdict in verdicts.items() if verdict == "WRONG"]
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['ok']} of {len(rows)} rows went well{skipped} ({minutes} min {seconds} s).")
    if wrong:
        print(f"Wrong: {', '.join(wrong)}")
    return 1 if wrong else 0


def _tell(row: Row, verdict: str, seen: str, seconds: float) -> str:
    print(f"{row.name:{WIDTH}} {verdict:7} {seconds:4.0f} s  {row.title}", flush=True)
    for line in seen.strip().splitlines():
        print(f"{'':{WIDTH}}   {line}", flush=True)
    return verdict


if __name__ == "__main__":
    sys.exit(main())
