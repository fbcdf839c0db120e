# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launcher as its users run it: playbooks/launcher.yml by ansible-playbook, and its module killed in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.simcloud.guests.processes import descendants
from tests.support.ansible_run import BIN, ROOT, Ran, environment, run_alone, warm_ansible
from tests.support.fixtures_zookeeper import eventually
from tests.support.forked import ForkedProcess
from tests.support.launcher_case import Site

PLAYBOOK = ROOT / "playbooks" / "launcher.yml"
START_SECONDS = 40.0


def run_directly(site: Site, options: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> Ran:
    """Run the module without Ansible around it."""
    return run_alone("node_launch", options, site.folder, check=check, diff=diff)


class LauncherProcess:
    """ansible-playbook in the background: ``with LauncherProcess(site, launcher_duration=60) as process``.

    :param forked: it and its module are forked (:mod:`tests.support.warm_ansible`): no module is found below it.
    """

    def __init__(self, site: Site, *, forked: bool = False, **variables: object) -> None:
        self._site = site
        self._forked = forked
        self._variables = site.variables(**variables)
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None

    def __enter__(self) -> LauncherProcess:
        with (self._site.folder / "playbook.log").open("ab") as log:
            if self._forked:
                words = ["ansible-playbook", str(PLAYBOOK), "-e", self._variables]
                variables = environment(self._site.folder)
                self._process = warm_ansible().start(words, self._site.folder, variables, log.fileno(), log.fileno())
                return self
            self._process = subprocess.Popen(
                [str(BIN / "ansible-playbook"), str(PLAYBOOK), "-e", self._variables],
                cwd=self._site.folder,
                env=environment(self._site.folder),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        below = descendants([self._process.pid])
        for pid in [self._process.pid, *below]:
            if Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGKILL)
        self._process.wait(10)

    def modules(self) -> list[int]:
        """The processes of the module itself, below ours."""
        assert self._process is not None
        found = []
        for pid in descendants([self._process.pid]):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"AnsiballZ_node_launch" in command and b"/bin/sh" not in command.split(b"\0")[0]:
                found.append(pid)
        return found

    def kill_module(self) -> None:
        """SIGKILL the module in the middle of its work; the playbook then fails."""
        pids = eventually(self.modules, START_SECONDS)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        assert self._process is not None
        assert self._process.wait(30) != 0

    def kill_controller(self) -> None:
        """SIGKILL ansible-playbook and its worker; the module is left without anybody."""
        assert self._process is not None
        modules = set(self.modules())
        for pid in [self._process.pid, *descendants([self._process.pid])]:
            command = Path(f"/proc/{pid}/cmdline")
            if pid not in modules and command.exists() and b"/bin/sh" not in command.read_bytes().split(b"\0")[0]:
                os.kill(pid, signal.SIGKILL)
        self._process.wait(10)
