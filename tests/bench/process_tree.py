# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory and CPU of a process and everything below it, read from /proc."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
MODULE_MARK = b"AnsiballZ_"


@dataclass
class Seen:
    """The latest reading of one process: seconds of CPU, and memory in MiB."""

    pid: int
    command: list[bytes]
    cpu: float = 0.0
    peak: float = 0.0
    share: float = 0.0
    """Largest PSS so far: a page that processes share is counted by its share."""

    @property
    def is_module(self) -> bool:
        """True for the Python process that runs an Ansible module (not for the shell around it)."""
        program = os.path.basename(self.command[0]) if self.command else b""
        return program.startswith(b"python") and any(MODULE_MARK in word for word in self.command[1:])


class ProcessTree:
    """Samples a tree until it is stopped; what has ended is kept with its last reading.

    :param interval: seconds between two samples.
    """

    def __init__(self, root: int, interval: float = 0.25) -> None:
        self._root = root
        self._interval = interval
        self._seen: dict[int, Seen] = {}
        self._peak_together = 0.0
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="process-tree", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End sampling."""
        self._over.set()
        self._thread.join(5.0)

    def cpu(self) -> float:
        """Seconds of CPU that the whole tree has used so far, as of now."""
        self.sample()
        with self._lock:
            return sum(seen.cpu for seen in self._seen.values())

    def module_cpu(self) -> float:
        """Seconds of CPU of the modules' processes, as of now."""
        self.sample()
        with self._lock:
            return sum(seen.cpu for seen in self._seen.values() if seen.is_module)

    @property
    def module_peak(self) -> float:
        """Largest peak memory (resident, MiB) of a module's process."""
        with self._lock:
            return max((seen.peak for seen in self._seen.values() if seen.is_module), default=float("nan"))

    @property
    def module_share(self) -> float:
        """Largest PSS (MiB) of a module's process; of the root where no module runs."""
        with self._lock:
            modules = [seen.share for seen in self._seen.values() if seen.is_module]
            root = self._seen.get(self._root)
        return max(modules, default=root.share if root else float("nan"))

    @property
    def together(self) -> float:
        """Largest sum of the tree's memory (MiB; pages that processes share are counted once)."""
        return self._peak_together

    def module_pid(self) -> int | None:
        """The process that runs a module now."""
        with self._lock:
            pids = [seen.pid for seen in self._seen.values() if seen.is_module]
        return next((pid for pid in pids if (PROC / str(pid)).exists()), None)

    def kill(self) -> None:
        """End what is left of the tree: the processes found below the root, and the root."""
        for pid in [*descendants(self._root)][::-1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def sample(self) -> None:
        """Read the tree once."""
        together = 0.0
        for pid in descendants(self._root):
            with contextlib.suppress(OSError, IndexError, ValueError):
                seen, share = self._read(pid), proportional(pid)
                together += share
                with self._lock:
                    seen.share = max(share, self._seen[pid].share if pid in self._seen else 0.0)
                    self._seen[pid] = seen
        self._peak_together = max(self._peak_together, together)

    def _run(self) -> None:
        while not self._over.wait(self._interval):
            self.sample()

    @staticmethod
    def _read(pid: int) -> Seen:
        command = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        cpu = (int(fields[11]) + int(fields[12])) / TICK
        return Seen(pid, command, cpu, _status(pid, "VmHWM:"))


def descendants(root: int) -> Iterator[int]:
    """*root* and the processes below it."""
    found = [root]
    for pid in found:
        yield pid
        with contextlib.suppress(OSError):
            for thread in (PROC / str(pid) / "task").iterdir():
                found.extend(int(child) for child in (thread / "children").read_text(encoding="ascii").split())


def proportional(pid: int) -> float:
    """Memory in MiB, a shared page counted by its share (PSS)."""
    for line in (PROC / str(pid) / "smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _status(pid: int, key: str) -> float:
    for line in (PROC / str(pid) / "status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0
