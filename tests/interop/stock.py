# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's own programs as processes of a row: its command line, its launcher with the web service, its builder."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.interop.environments import Environment
from tests.interop.tables import Cells, tables
from tests.support.ansible_run import environment
from tests.support.fixtures_zookeeper import eventually

COMMAND_SECONDS = 400.0
START_SECONDS = 300.0
QUICK_CLEANER = Path(__file__).parent / "kills" / "quick_cleaner.py"
_PR_SET_PDEATHSIG = 1


class Stock:
    """The programs of Nodepool 11 for one configuration.

    :param folder: where their files go.
    """

    def __init__(self, made: Environment, folder: Path, config: Path, clouds: Path) -> None:
        self._made = made
        self._clouds = clouds
        self.folder = folder
        self.config = config
        self._environment = environment(folder, OS_CLIENT_CONFIG_FILE=str(clouds), PYTHONWARNINGS="ignore")
        # What diskimage-builder's programs need comes from the environment of Nodepool, not from ours.
        self._environment["PATH"] = f"{made.folder / 'bin'}:{os.environ['PATH']}"

    def beside(self, config: Path) -> Stock:
        """The same programs with another configuration."""
        return Stock(self._made, self.folder, config, self._clouds)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``nodepool WORDS…``."""
        done = subprocess.run(
            [str(self._made.program("nodepool")), "-c", str(self.config), *words],
            cwd=self.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        with (self.folder / "nodepool.log").open("a", encoding="utf-8") as log:
            log.write(f"{words} ended with {done.returncode}\n{done.stdout}\n{done.stderr}\n")
        return done

    def say(self, *words: str) -> str:
        """What the command prints.

        :raises AssertionError: it fails.
        """
        done = self.run(*words)
        assert done.returncode == 0, f"nodepool {' '.join(words)} ended with {done.returncode}: {done.stderr[-1500:]}"
        return done.stdout

    def table(self, *words: str) -> list[Cells]:
        """The rows of the one table that the command prints."""
        (found,) = tables(self.say(*words))
        return found

    def launcher(self, *words: str, debug: bool = True) -> Daemon:
        """The launcher, not started yet; without *debug* it logs what it logs by default."""
        return self._daemon("nodepool-launcher", "-d" if debug else "-f", *words)

    def builder(self, *words: str) -> Daemon:
        """The builder, not started yet."""
        return self._daemon("nodepool-builder", "-d", *words)

    def quick_builder(self, seconds: float, text: str) -> Daemon:
        """The builder, not started yet; it cleans up every so many seconds, and logs *text* each time."""
        program = [str(self._made.python), str(QUICK_CLEANER), str(seconds), text]
        return self._started("nodepool-builder", program, "-d", "--build-workers", "1")

    def _daemon(self, name: str, *words: str) -> Daemon:
        return self._started(name, [str(self._made.program(name))], *words)

    def _started(self, name: str, program: list[str], *words: str) -> Daemon:
        log = self.folder / f"{name}.log"
        pidfile = self.folder / f"{name}.pid"
        return Daemon([*program, "-c", str(self.config), "-p", str(pidfile), *words], self._environment, log)


class Daemon:
    """A daemon of Nodepool in the foreground; its process group ends with ``with``, and with this process."""

    def __init__(self, command: list[str], variables: dict[str, str], log: Path) -> None:
        self._command = command
        self._variables = variables
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """True while it lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it."""
        parent = os.getpid()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self.log.parent,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: _end_with(parent),
            )

    def await_said(self, text: str, seconds: float = START_SECONDS) -> None:
        """Wait until it has logged *text*.

        :raises AssertionError: it ended, or did not.
        """

        def said() -> bool:
            found = text in self.said()
            assert found or self.running, f"it has ended: {self.said()[-3000:]}"
            return found

        eventually(said, seconds)

    def said(self) -> str:
        """Its log so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")

    def stop(self, number: int = signal.SIGINT, seconds: float = 60.0) -> None:
        """End it in its orderly way; by SIGKILL when that takes longer than *seconds*."""
        assert self._process is not None
        self._process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to its process group."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)


def _end_with(parent: int) -> None:
    """In the child: die when the thread that started us does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
