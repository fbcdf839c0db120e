# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs of the site that are killed by SIGKILL at chosen moments and started again at once."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.interop.kills.phases import IDLE, START
from tests.support.ansible_run import ModuleProcess

AWAKE = 0.8
"""A program that has just begun has done nothing yet; in so many seconds the kill is one at the start."""
PACE = 0.05
AIMS = 4
"""A life waits for any of so many moments."""
REST = 0.1
"""How often it stays dead for so long that others see its locks free: the other launcher, Nodepool's builder."""
END_SECONDS = 120.0


class Victim(threading.Thread):
    """Starts a program, waits for a moment of its life, kills it, and so on.

    :param look: what the program with that state directory is doing.
    :param changed: set when that may have changed.
    :param lives: seconds for which a life waits for its moment, at least and at most.
    :param rest: seconds for which it stays dead now and then.
    :ivar kills: phase in which it was killed → how often. :ivar under_way: the same for each phase at those moments.
    :ivar rests: how often it has stayed dead for a while. :ivar stopped: set when it is to stay as it is from now on.
    """

    def __init__(
        self,
        name: str,
        module: str,
        folder: Path,
        options: dict[str, Any],
        phases: Sequence[str],
        look: Callable[[Path], set[str]],
        changed: threading.Event,
        lives: tuple[float, float],
        rest: float,
        seed: str,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._module, self._folder = module, folder
        self.state = folder / "state"
        self._options = {**options, "until": "deadline", "duration": 3000, "state_dir": str(self.state)}
        self._phases, self._look, self._changed, self._lives = phases, look, changed, lives
        self._rest = rest
        self._chance = random.Random(f"{seed} {name}")
        self._process: ModuleProcess | None = None
        self.kills: Counter[str] = Counter()
        self.under_way: Counter[str] = Counter()
        self.rests = 0
        self.wrong: list[str] = []
        self.stopped = threading.Event()
        folder.mkdir()

    def run(self) -> None:
        """Live and die."""
        try:
            while not self.stopped.is_set() and not self.wrong:
                self.start_program()
                wanted = {self._chosen() for _turn in range(AIMS)}
                found = self._await(wanted)
                if not self.stopped.is_set():
                    self._kill(wanted, found)
        except Exception as problem:  # which ends the thread, and must not end unseen
            self.wrong.append(f"{self.name}: {type(problem).__name__}: {problem}")

    def start_program(self) -> None:
        """Start it if it does not run."""
        if self._process is None or self._process.poll() is not None:
            self._process = ModuleProcess(self._module, self._options, self._folder, f"{self._module}.json")

    def end(self) -> None:
        """Kill it for good."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(END_SECONDS)

    def look_after(self) -> None:
        """Note that it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            output, errors = self._process.communicate(END_SECONDS)
            self.wrong.append(f"{self.name} has ended by itself: {output[-800:]} {errors[-1500:]}")

    def _chosen(self) -> str:
        """A phase, rather one that was hit seldom."""
        weights = [1.0 / (1 + self.kills[phase]) for phase in self._phases]
        return self._chance.choices(self._phases, weights)[0]

    def _await(self, wanted: set[str]) -> set[str]:
        """Wait until it does what is wanted, or for as long as this life is to last; what it does then."""
        if START in wanted:
            time.sleep(self._chance.uniform(0.0, AWAKE))
            return {START}
        began = time.monotonic()
        end, found = began + self._chance.uniform(*self._lives), set[str]()
        while not self.stopped.is_set() and time.monotonic() < end:
            self._changed.wait(PACE)
            self._changed.clear()
            if time.monotonic() - began < AWAKE:
                continue
            found = self._look(self.state)
            if wanted & found:
                return found
        return found

    def _kill(self, wanted: set[str], found: set[str]) -> None:
        process = self._process
        assert process is not None
        if process.poll() is not None:
            self.look_after()
            return
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(END_SECONDS)
        self._process = None
        reached = [phase for phase in self._phases if phase in (wanted & found or found)]
        phase = min(reached, key=lambda one: self.kills[one], default=IDLE)
        self.kills[phase] += 1
        self.under_way.update(found)
        with (self._folder / "kills.log").open("a", encoding="utf-8") as log:
            log.write(f"{time.time():.3f} process {process.pid}: {phase}; {', '.join(sorted(found))}\n")
        if self._chance.random() < REST:
            self.rests += 1
            self.stopped.wait(self._rest)
