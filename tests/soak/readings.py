# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What could grow: read from /proc, the folders of the loop and ZooKeeper while no node exists."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tests.soak.trend import Bound
from tests.support.launcher_case import Site
from tests.support.loop_process import LoopProcess

TOMBSTONES = "/nodepool/stackci/tombstones"
"""Kept for six hours, at most 1,000 for a provider."""
REQUEST_LOCKS = "/nodepool/requests-lock"
"""Kept for eight hours, as Nodepool does."""
MIB = 1024.0

BOUNDS = {
    "memory of the loop, MiB": Bound(0.05, 3.0),
    "memory of the module, MiB": Bound(0.10, 6.0),
    "file descriptors of the loop": Bound(0.0, 3.0),
    "file descriptors of the module": Bound(0.10, 4.0),
    "threads of the loop": Bound(0.0, 2.0),
    "threads of the module": Bound(0.10, 6.0),
    "processes of all cycles": Bound(0.0, 2.0),
    "files of the loop": Bound(0.10, 30.0),
    "size of these files for a life, KiB": Bound(0.25, 1.0),
    "znodes that do not age": Bound(0.05, 20.0),
    "sessions of ZooKeeper": Bound(0.0, 2.0),
    "log of a life, bytes": Bound(0.25, 200.0),
}
"""Name of a figure → what it may grow by."""


class Readings:
    """Takes one reading of all figures after the other."""

    def __init__(self, site: Site, loop: LoopProcess) -> None:
        self.site = site
        self.loop = loop
        self.figures: dict[str, list[tuple[float, float]]] = {name: [] for name in BOUNDS}
        self.tombstones = 0
        self._peaks: dict[str, float] = {}
        self._lives = 0
        self._began: dict[int, int] = {}
        """Number of a cycle → the lives that were over when its folder was first seen."""
        self._log = self._log_size()

    def look(self) -> None:
        """Note what the module has now, at some moment of its cycle; a reading has the most since the one before.

        A module grows while its cycle is young, so that readings at arbitrary moments of cycles cannot be compared.
        """
        module = self._module()
        if module is None:
            return
        found = {
            "memory of the module, MiB": _memory(module),
            "file descriptors of the module": _count(module, "fd"),
            "threads of the module": _count(module, "task"),
        }
        for name, figure in found.items():
            self._peaks[name] = max(figure, self._peaks.get(name, 0.0))

    def take(self, lives: int) -> None:
        """Read everything; *lives* are over so far."""
        loop = self.loop.process.pid
        files = [path for path in self.loop.state.rglob("*") if path.is_file()]
        log, before = self._log_size(), self._log
        self.tombstones = self._below(TOMBSTONES)
        found = {
            "memory of the loop, MiB": _memory(loop),
            "file descriptors of the loop": _count(loop, "fd"),
            "threads of the loop": _count(loop, "task"),
            "processes of all cycles": float(len(self.loop.everything())),
            "files of the loop": float(len(files)),
            "size of these files for a life, KiB": self._size_of_life(files, lives),
            "znodes that do not age": self._figure("zk_znode_count") - self.tombstones - self._below(REQUEST_LOCKS),
            "sessions of ZooKeeper": self._figure("zk_num_alive_connections"),
            "log of a life, bytes": (log - before) / max(lives - self._lives, 1),
        }
        found |= self._peaks
        self._peaks = {}
        for name, figure in found.items():
            if figure > 0:
                self.figures[name].append((float(lives), figure))
        self._lives, self._log = lives, log

    def _size_of_life(self, files: list[Path], lives: int) -> float:
        """The files hold what the cycles that are kept have said; how many lives a cycle has depends on the machine."""
        kept = [int(path.name) for path in (self.loop.state / "cycles").iterdir()]
        for number in kept:
            self._began.setdefault(number, lives)
        theirs = lives - self._began[min(kept)] if kept else 0
        return sum(_size(path) for path in files) / 1024 / theirs if theirs else 0.0

    def _module(self) -> int | None:
        number = self.loop.serving()
        with contextlib.suppress(KeyError):
            return self.loop.module(number) if number is not None else None
        return None

    def _log_size(self) -> int:
        return _size(self.loop.log)

    def _figure(self, name: str) -> float:
        lines = (line.split("\t") for line in self.site.zookeeper.command("mntr").splitlines())
        return next(float(parts[1]) for parts in lines if parts[0] == name)

    def _below(self, path: str) -> int:
        requestor = self.site.requestor
        return sum(1 + self._below(f"{path}/{name}") for name in requestor.children(path))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _memory(pid: int) -> float:
    """Private and shared memory in use, MiB."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / MIB
    return 0.0


def _count(pid: int, folder: str) -> float:
    with contextlib.suppress(OSError):
        return float(len(list(Path(f"/proc/{pid}/{folder}").iterdir())))
    return 0.0
