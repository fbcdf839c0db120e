# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host with a launcher, or with the uploads of a builder.

It starts one module process after the other, as their loop would, which is killed at will.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.chaos.proxy import Proxy
from tests.support.ansible_run import ModuleProcess

CYCLES = (15.0, 40.0)
"""A cycle lasts for so many seconds."""
PAUSE = 0.5
END_SECONDS = 300.0


class LauncherHost:
    """A host with a folder, a state directory and a way to ZooKeeper of its own."""

    MODULE = "node_launch"

    def __init__(
        self, name: str, folder: Path, proxy: Proxy, clouds: Path, seed: int, log: Callable[[str], None]
    ) -> None:
        self.name = name
        self.folder = folder
        self.proxy = proxy
        self.config = folder / "nodepool.yaml"
        self.cycles = 0
        self.wrong: list[str] = []
        self._clouds = clouds
        self._chance = random.Random(f"{seed} {name}")
        self._log = log
        self._process: ModuleProcess | None = None
        self._frozen = False
        self._ended_by_us = False
        self._not_before = 0.0
        folder.mkdir(parents=True)

    def tend(self) -> None:
        """Start a cycle where none runs; look at how the last one ended."""
        process = self._process
        if process is not None and process.poll() is not None:
            self._take_result(process)
            self._process, self._frozen = None, False
            self._not_before = time.monotonic() + PAUSE
        if self._process is None and time.monotonic() >= self._not_before:
            self._start()

    def strike(self, number: int) -> None:
        """Send a signal to the module."""
        if self._process is None:
            return
        if number == signal.SIGSTOP:
            self._frozen = True
        elif number == signal.SIGCONT:
            self._frozen = False
        else:
            self._ended_by_us = True
            if self._frozen:
                self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(number)

    def end(self) -> None:
        """Let the cycle end in good order."""
        if self._process is None:
            return
        self._ended_by_us = True  # a module that is just ending by itself dies of the signal
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"host {self.name}: end: the module does not end within {END_SECONDS:g} s of SIGTERM")
            self._process.kill()
        self._take_result(self._process)
        self._process = None

    @property
    def pid(self) -> int | None:
        """The process id of the module."""
        return self._process.pid if self._process is not None else None

    def _start(self) -> None:
        self.cycles += 1
        self._ended_by_us = False
        seconds = round(self._chance.uniform(*CYCLES), 1)
        options: dict[str, Any] = {
            "config": str(self.config),
            "clouds_config": str(self._clouds),
            "until": "deadline",
            "duration": seconds,
            "state_dir": str(self.folder / "state"),
            "api_timeout": 6,
        }
        self._process = ModuleProcess(self.MODULE, options, self.folder, f"cycle-{self.cycles}.json")
        self._log(f"host {self.name}: cycle {self.cycles} begins for {seconds:g} s, process {self._process.pid}")

    def _take_result(self, process: ModuleProcess) -> None:
        output, errors = process.communicate(END_SECONDS)
        text = f"{output}\n{errors}"
        (self.folder / f"cycle-{self.cycles}.txt").write_text(text, encoding="utf-8")
        status = process.returncode
        self._log(f"host {self.name}: cycle {self.cycles} has ended with {status}: {output[:300].strip()}")
        if f"{self.config}: " in output and '"failed": true' in output:
            self.wrong.append(f"host {self.name}: cycle {self.cycles} failed for its configuration: {text[-600:]}")
        if "Traceback" in text or (status not in (0, 1) and not self._ended_by_us):
            self.wrong.append(f"host {self.name}: cycle {self.cycles} ended with {status}: {text[-600:]}")
