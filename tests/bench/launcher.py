# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher as in life: ``ansible-playbook playbooks/launcher.yml``, with its whole process tree watched."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.process_tree import ProcessTree
from tests.bench.world import World, until

ROOT = Path(__file__).resolve().parents[2]
PLAYBOOK = ROOT / "playbooks" / "launcher.yml"
TASK = "ok: [localhost] => ", "changed: [localhost] => "
START_SECONDS = 120.0
GRACE = 40.0


class BenchError(Exception):
    """A scenario could not be measured; the text says why."""


def environment(world: World) -> dict[str, str]:
    """For Ansible's commands: this checkout's collection and nothing of the user's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "OS_"))}
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_HOME": str(world.folder / "ansible"),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_CALLBACK_RESULT_FORMAT": "json",
        "ANSIBLE_CALLBACK_FORMAT_PRETTY": "false",
    }


def command(world: World, *words: str, **variables: Any) -> list[str]:
    """The command line of a run."""
    program = Path(sys.executable).parent / "ansible-playbook"
    return [str(program), "-v", *words, "-e", f"@{world.variables(**variables)}", str(PLAYBOOK)]


def result_of(output: str) -> dict[str, Any]:
    """The module's result as ``-v`` shows it.

    :raises BenchError: it is not there.
    """
    decoder = json.JSONDecoder()
    for line in output.splitlines():
        for start in TASK:
            if line.startswith(start):
                found = decoder.raw_decode(line.removeprefix(start))[0]
                if isinstance(found, dict) and "ended" in found:
                    return found
    raise BenchError(f"the launcher showed no result; its output ends with:\n{output[-3000:]}")


class LauncherRun:
    """One cycle that stays for *duration* seconds whatever happens (``until=deadline``).

    :param stands_by: another one acts; its beginning is not waited for.
    :param more_environment: variables that its processes get besides.
    :param variables: further variables of the playbook.
    :ivar tree: its processes.
    :ivar started_in: seconds from the start of ansible-playbook until its pools were registered.
    """

    def __init__(
        self,
        world: World,
        duration: float,
        *,
        stands_by: bool = False,
        more_environment: Mapping[str, str] | None = None,
        **variables: Any,
    ) -> None:
        self._world = world
        self._environment = dict(more_environment or {})
        self._duration = duration
        self._stands_by = stands_by
        self._variables = variables
        self._log = world.folder / f"launcher{'-standby' if stands_by else ''}.log"
        self.started_in = 0.0

    def __enter__(self) -> LauncherRun:
        world = self._world
        known = world.requestor.registrations()
        self._began = time.monotonic()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command(world, launcher_duration=self._duration, launcher_until="deadline", **self._variables),
                cwd=world.folder,
                env={**environment(world), **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.tree = ProcessTree(self._process.pid)
        if self._stands_by:
            return self
        wanted = len(world.scene.providers)

        def registered() -> bool:
            # Those of a cycle that was killed a moment ago may still be there, or go while we look.
            return len(world.requestor.registrations() - known) >= wanted

        if not until(lambda: registered() or self._process.poll() is not None, START_SECONDS):
            self._kill()
            raise BenchError(f"the launcher did not register its pools within {START_SECONDS:g} s: {self.tail()}")
        self.started_in = time.monotonic() - self._began
        if self._process.poll() is not None:
            raise BenchError(f"the launcher ended at once: {self.tail()}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()

    def left(self) -> float:
        """Seconds until the deadline of the cycle, roughly."""
        return max(0.0, self._duration + self.started_in - (time.monotonic() - self._began))

    def finish(self) -> dict[str, Any]:
        """Wait for the deadline; returns the module's result."""
        left = self._duration + GRACE - (time.monotonic() - self._began)
        try:
            self._process.wait(max(GRACE, left))
        except subprocess.TimeoutExpired:
            raise BenchError(f"the launcher did not end {GRACE:g} s after its deadline") from None
        self.tree.stop()
        return result_of(self._log.read_text(encoding="utf-8", errors="replace"))

    def end(self) -> dict[str, Any]:
        """Ask the cycle to end as a service manager does; returns the module's result."""
        module = self.tree.module_pid()
        if module is None:
            raise BenchError(f"no module runs: {self.tail()}")
        os.kill(module, signal.SIGTERM)
        return self.finish()

    def kill(self) -> None:
        """End all of its processes by SIGKILL."""
        self._kill()

    def _kill(self) -> None:
        self.tree.stop()
        if self._process.poll() is None:
            self.tree.kill()
            self._process.wait(10)

    def tail(self) -> str:
        """The end of what it has written so far."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
