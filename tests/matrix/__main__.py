# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cells of the compatibility matrix and prints a line for each.

python -m tests.matrix [--quick | --sanity] [--list] [--only CELL ...] [--jobs N]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from tests.matrix import newer_zookeeper
from tests.matrix.cells import CELLS, QUICK, ROOT, SANITY, CannotRun, Cell, make
from tests.matrix.smoke import Broken, Smoke
from tests.support.launcher_case import CloudBank
from tests.support.zookeeper_server import ZooKeeperMissing, ZooKeeperServer

STAGE = ROOT / ".build" / "stage" / "ansible_collections" / "stackci" / "nodepool"
"""Where ``make stage`` puts a copy."""
SANITY_SECONDS = 1800.0
NOT_INSTALLED = "Could not install packages due to an OSError"
"""What pip says when a host cannot be reached."""
WIDTH = max(len(cell.name) for cell in CELLS)


def main() -> int:
    """1 when a cell failed, otherwise 0."""
    parser = argparse.ArgumentParser(prog="make test-matrix", description=__doc__.splitlines()[0])
    names = [cell.name for cell in CELLS]
    parser.add_argument("--only", nargs="+", choices=names, metavar="CELL", help=f"some of {', '.join(names)}")
    parser.add_argument("--quick", action="store_true", help=f"the cells {' and '.join(QUICK)} only, as make test does")
    parser.add_argument("--sanity", action="store_true", help="ansible-test sanity of each ansible-core instead")
    parser.add_argument("--list", action="store_true", help="name the cells and end")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cells side by side (1)")
    options = parser.parse_args()
    chosen = list(QUICK) if options.quick else options.only or (SANITY if options.sanity else names)
    cells = [cell for cell in CELLS if cell.name in chosen]
    if options.list:
        for cell in cells:
            libraries = "oldest" if cell.oldest else "newest"
            print(f"{cell.name:{WIDTH}} Python {cell.python}, {cell.core}, {libraries} libraries")
        return 0
    if options.sanity:
        results = judged(cells, sanity, 1)
    else:
        with tempfile.TemporaryDirectory(prefix="matrix-", ignore_cleanup_errors=True) as folder:
            results = judged(cells, partial(attempt, Path(folder), build(Path(folder))), options.jobs)
    failed, skipped = results.count("FAILED"), results.count("skipped")
    print(f"{len(cells) - failed - skipped} of {len(cells)} cells went well, {skipped} skipped, {failed} failed")
    if skipped == len(cells):
        print("skipped: no cell could be tried")
    return 1 if failed else 0


def build(folder: Path) -> Path:
    """The tarball."""
    program = Path(sys.executable).parent / "ansible-galaxy"
    words = [str(program), "collection", "build", str(ROOT), "--output-path", str(folder)]
    subprocess.run(words, cwd=folder, stdout=subprocess.DEVNULL, timeout=120, check=True)
    return next(folder.glob("*.tar.gz"))


def judged(cells: list[Cell], attempt: Callable[[Cell], str], jobs: int) -> list[str]:
    """Try cells, *jobs* of them side by side; a word for each.

    After Ctrl-C those that have begun are waited for, so that nothing of them is left.
    """
    with ThreadPoolExecutor(max(1, jobs)) as threads:
        try:
            return list(threads.map(partial(judge, attempt=attempt), cells))
        except KeyboardInterrupt:
            threads.shutdown(cancel_futures=True)
            raise


def judge(cell: Cell, attempt: Callable[[Cell], str]) -> str:
    """Try a cell, tell how it went, and return that in a word."""
    began = time.monotonic()
    try:
        word, text = "ok", attempt(cell)
    except (CannotRun, ZooKeeperMissing) as problem:
        word, text = "skipped", str(problem)
    except (Broken, RuntimeError) as problem:
        word, text = "FAILED", str(problem)
    print(f"{cell.name:{WIDTH}} {word:7} {time.monotonic() - began:4.0f} s  {text}", flush=True)
    return word


def sanity(cell: Cell) -> str:
    """The sanity tests of the cell's ansible-core on the staged copy; what was tried.

    :raises Broken: there are findings.
    :raises CannotRun: a test could not be tried, and the others have found nothing.
    """
    environment = make(cell)
    words = [sys.executable, "-m", "tools.sanity", str(STAGE), "--environment", str(environment.folder)]
    log = ROOT / ".build" / "log" / f"sanity-{cell.name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as out:
        done = subprocess.run(words, cwd=ROOT, stdout=out, stderr=out, timeout=SANITY_SECONDS, check=False)
    said = log.read_text("utf-8").splitlines()
    errors = [line for line in said if line.startswith("ERROR:")]
    if errors and all(NOT_INSTALLED in line for line in errors):
        # The pylint of ansible-core 2.22 takes a package from its repository, not from the index.
        raise CannotRun(f"what a test needs cannot be downloaded, the others found nothing ({said[-1]}): see {log}")
    if done.returncode:
        raise Broken("\n".join(["", *errors[:40], f"see {log}"]))
    return f"{environment.versions()}: {said[-1]}"


def attempt(folder: Path, tarball: Path, cell: Cell) -> str:
    """All steps of a cell; what was tried.

    :raises Broken: a step failed.
    """
    environment = make(cell)
    jars = newer_zookeeper.jars() if cell.newer_zookeeper else None
    place = folder / cell.name
    place.mkdir()
    with (
        ZooKeeperServer(jars=jars) as zookeeper,
        CloudBank() as bank,
        closing(Smoke(environment, place, zookeeper, bank)) as smoke,
    ):
        smoke.install(tarball)
        for step in smoke.steps():
            try:
                step()
            except Broken as problem:
                raise Broken(f"{step.__name__}: {problem}") from problem
    told = environment.versions()
    told += f", ZooKeeper {newer_zookeeper.version()}" if cell.newer_zookeeper else ""
    # A module whose playbook was ended may still be about to end.
    shutil.rmtree(place, ignore_errors=True)
    return told


if __name__ == "__main__":
    sys.exit(main())
