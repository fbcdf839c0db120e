# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zuul's own clients as a process of a row: ``with ZuulClient(lab, world) as zuul: zuul.do("labels")``."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.interop.lab import ZUUL, Lab, World
from tests.support.fixtures_zookeeper import eventually
from tests.support.zookeeper_server import HOST

NODEPOOL_PROTOCOL = Path(__file__).with_name("zuul_program.py")
LAUNCHER_PROTOCOL = Path(__file__).with_name("zuul_launcher_program.py")
ANSWER_SECONDS = 180.0


class ZuulClient:
    """Runs :mod:`tests.interop.zuul_program`, or the other one.

    :param system_id: which Zuul it is; a second one with the same id takes over.
    """

    def __init__(self, lab: Lab, world: World, system_id: str = "", program: Path = NODEPOOL_PROTOCOL) -> None:
        self._program = program
        self._python = lab.environments[ZUUL].python
        self._world = world
        self.system_id = system_id or str(uuid.uuid4())
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        site = self._world.site
        tls = site.zookeeper.certificates
        assert tls is not None
        hosts = f"{HOST}:{site.zookeeper.tls_port}{site.chroot}"
        words = [str(self._python), str(self._program), hosts, str(tls.client_cert), str(tls.client_key), str(tls.ca)]
        with (site.folder / "zuul.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*words, self.system_id],
                cwd=site.folder,
                env={**os.environ, "PYTHONWARNINGS": "ignore"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        threading.Thread(target=self._read, args=(self._process,), daemon=True).start()
        self.do("labels")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._answers.put(line)

    def do(self, what: str, **options: Any) -> Any:
        """The value of a command.

        :raises AssertionError: with what Zuul raised; or it does not answer.
        """
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"do": what, "with": options}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._answers.get(timeout=ANSWER_SECONDS))
        except (queue.Empty, BrokenPipeError):
            log = (self._world.site.folder / "zuul.log").read_text(errors="replace")
            raise AssertionError(f"Zuul does not answer {what}: {log[-2000:]}") from None
        assert "problem" not in answer, f"{what}: {answer['problem']}"
        return answer["value"]

    def wait(self, request: str, state: str = "fulfilled", seconds: float = 120.0) -> None:
        """Wait until Zuul's cache shows the state and its scheduler was told."""
        eventually(lambda: self.do("state", request=request) == state, seconds)
        eventually(lambda: self.do("told", request=request), seconds)

    def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(30)
