# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop as a process of its own, as systemd would run it, with systemd's end of the socket in the test's hands."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.proc import Process, variable
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop import processes
from ansible_collections.stackci.nodepool.plugins.plugin_utils.loop.service import loop_id
from tests.support.ansible_run import BIN, COLLECTIONS, environment, warm_ansible
from tests.support.fixtures_zookeeper import eventually
from tests.support.other_user import OtherUser

MODULE = "ansible_collections.stackci.nodepool.plugins.plugin_utils.loop"
HUMBLE = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
UP_SECONDS = 60.0
"""A cycle is up after two or three seconds on a machine with nothing else to do."""


def toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Flat tables as TOML; JSON's values are TOML's."""
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items()), ""]
    return "\n".join(lines)


def forking_programs(folder: Path) -> Path:
    """A folder with an ansible-playbook that is forked, as are its modules (:mod:`tests.support.warm_ansible`)."""
    made = folder / "programs"
    made.mkdir(exist_ok=True)
    (made / "ansible-runner").symlink_to(BIN / "ansible-runner")
    (made / "ansible-playbook").symlink_to(warm_ansible().commands / "ansible-playbook")
    return made


class LoopProcess:
    """``with LoopProcess(folder, {"playbook": …}, variables) as loop:``

    :param loop: the table ``loop``, beyond what every test needs.
    :param humble: run without any of root's capabilities, as an ordinary user does, whoever runs the tests.
    :param user: run as another user, with its umask; the folder must be that user's.
    :param forked: ansible-playbook and the module of a cycle are forked, ansible-runner is not. Processes of the cycle
        stand for them, which pass on only the signals that end them.
    :ivar words: what systemd was told so far.
    """

    def __init__(
        self,
        folder: Path,
        loop: Mapping[str, Any],
        variables: Mapping[str, Any],
        *,
        humble: bool = False,
        user: OtherUser | None = None,
        more: Mapping[str, str] | None = None,
        forked: bool = False,
    ) -> None:
        self.folder = folder
        self.state = folder / "loop-state"
        self.file = folder / "loop.toml"
        self.log = folder / "loop.log"
        self.words: list[str] = []
        self._wrap = HUMBLE if humble and os.geteuid() == 0 else ()
        self._user = user.as_process() if user is not None else {}
        self._more = dict(more or {})
        programs = {"programs": str(forking_programs(folder))} if forked else {}
        self._tables = {
            "loop": {
                "name": "launcher",
                "playbook": "x",
                "prefix": "launcher",
                "state_dir": str(self.state),
                **programs,
                **loop,
            },
            "variables": dict(variables),
        }
        self.configure()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._address = f"@{folder}/notify"
        self._socket.bind(self._address.replace("@", "\0"))
        # A systemd that does not listen would make the loop wait.
        threading.Thread(target=self._hear, daemon=True).start()
        self.process: subprocess.Popen[bytes]

    def configure(self, **loop: Any) -> None:
        """Write the settings, changed."""
        self._tables["loop"].update(loop)
        self.file.write_text(toml(self._tables), encoding="utf-8")

    def __enter__(self) -> LoopProcess:
        self.start()
        return self

    def __exit__(self, *_exc_info: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait(10)
        for process in self.everything():
            processes.kill(process)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"", self._address.replace("@", "\0"))

    def _hear(self) -> None:
        with self._socket:
            while word := self._socket.recv(8192):
                self.words += word.decode().splitlines()

    def start(self) -> None:
        """Begin, or begin anew."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self._wrap, sys.executable, "-m", MODULE, str(self.file)],
                cwd=self.folder,
                env={
                    **environment(self.folder),
                    "PYTHONPATH": str(COLLECTIONS),
                    "NOTIFY_SOCKET": self._address,
                    "WATCHDOG_USEC": "2000000",
                    **self._more,
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                **self._user,
            )

    def signal(self, number: int) -> None:
        """To the loop itself."""
        self.process.send_signal(number)

    def end(self, seconds: float = 30.0) -> int:
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)

    # -- what is seen --------------------------------------------------------------------------------------------

    def lines(self) -> list[str]:
        """What the journal would have."""
        return self.log.read_text("utf-8").splitlines()

    def heard(self) -> list[str]:
        """What systemd was told until now."""
        return list(self.words)

    def everything(self) -> list[Process]:
        """All processes of all cycles."""
        return processes.belonging(f"{loop_id(str(self.state))}:")

    def marks(self) -> list[str]:
        """The marks of those of them that have one."""
        return [mark for process in self.everything() if (mark := variable(process.pid, processes.MARK))]

    def hearts(self) -> dict[int, dict[str, Any]]:
        """Number of a cycle → what its heartbeat says, for those that have one."""
        found: dict[int, dict[str, Any]] = {}
        for path in sorted(self.state.glob("cycles/*/heart")):
            with contextlib.suppress(OSError, ValueError):
                found[int(path.parent.name)] = json.loads(path.read_text("utf-8"))
        return found

    def serving(self, after: int = 0) -> int | None:
        """The number of a cycle that serves and is later than *after*."""
        numbers = [number for number, word in self.hearts().items() if word["state"] == "serving" and number > after]
        return max(numbers, default=None)

    def wait_serving(self, after: int = 0) -> int:
        """The number of the cycle that serves, as soon as there is one."""
        return int(eventually(lambda: self.serving(after), UP_SECONDS))

    def module(self, number: int) -> int:
        """The process id of a cycle's module."""
        return int(self.hearts()[number]["pid"])
