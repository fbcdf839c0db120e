# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs modules and inventories as a user does: by Ansible's own commands, with nothing of the user's own settings.

What a module says is tested without Ansible around it, which takes longer than most modules: :class:`ModuleProcess`.
"""

from __future__ import annotations

import array
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from tests.support.forked import Elsewhere
from tests.support.warm_ansible import PIPELINING, WarmAnsible

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
COLLECTIONS = ROOT / "playbooks" / "collections"
MODULES = "ansible_collections.stackci.nodepool.plugins.modules"
SHORT_PATHS = {"ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}
"""For commands that use ssh: the folder of a test is too long for the path of a socket."""
CALLBACKS = {"ANSIBLE_CALLBACK_PLUGINS": str(ROOT / "tests" / "support" / "callbacks")}
BEGUN = "NODEPOOL_TEST_SERVERS"
"""Name of the variable with what another process has started for this one: :mod:`tests.support.shared_servers`."""
PROGRAMS = "NODEPOOL_TEST_PROGRAMS"
"""Name of the variable with the folder whose programs a module finds beside its interpreter."""
_starting = threading.Lock()


@dataclass(frozen=True)
class Ran:
    """What a module returned and what was on the screen meanwhile."""

    result: dict[str, Any]
    screen: str


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a command that works in *folder*."""
    # Without byte code each process compiles some hundred files anew, a quarter of what most modules need in all.
    unwanted = ("ANSIBLE_", "OS_", "PYTHONDONTWRITEBYTECODE", BEGUN)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {
        **kept,
        "HOME": str(folder),
        "PATH": f"{BIN}:{os.environ['PATH']}",
        # By default ansible-playbook asks its worker 1,000 times a second whether it has ended.
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        # None of them does anything unless it is enabled.
        **CALLBACKS,
        **more,
    }


def begun() -> dict[str, Any]:
    """The servers that another process has started for this one."""
    found: dict[str, Any] = json.loads(os.environ.get(BEGUN, "{}"))
    return found


@functools.cache
def warm_ansible() -> WarmAnsible:
    """Those begun for this process, or its own, which end with it."""
    known = begun()
    return WarmAnsible(environment(ROOT), COLLECTIONS, tuple(known["ansible"]) if known else None)


def forking(folder: Path, **more: str) -> dict[str, str]:
    """The environment of a program that finds Ansible's commands by its PATH: they and their modules are forked."""
    warm = warm_ansible()
    given = {**PIPELINING, **environment(folder, ANSIBLE_PYTHON_INTERPRETER=str(warm.python), **more)}
    return {**given, "PATH": f"{warm.commands}:{given['PATH']}"}


def command(*words: str | Path, folder: Path, timeout: float = 90, **more: str) -> subprocess.CompletedProcess[str]:
    """Run one of Ansible's commands in *folder*; *more* is added to its environment.

    Where its environment allows it, the command is forked (:mod:`tests.support.warm_ansible`).
    """
    variables = environment(folder, **more)
    if (warm := warm_ansible()).knows(str(words[0]), variables):
        return warm.run([*map(str, words)], folder, variables, timeout)
    return subprocess.run(
        [str(BIN / str(words[0])), *map(str, words[1:])],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def play_of(module: str, options: Mapping[str, Any], *, check: bool = False, diff: bool = False) -> str:
    """A playbook that runs one module."""
    task = {
        "name": "Work",
        f"stackci.nodepool.{module}": dict(options),
        "ignore_errors": True,
        "check_mode": check,
        "diff": diff,
    }
    play = {"name": "One module", "hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": [task]}
    return json.dumps([play])


def sharing(folder: Path) -> dict[str, str]:
    """The environment of commands with collections of their own that share what Ansible makes of these, in *folder*."""
    return {"SHARE_PACKED": str(folder)}


def keeping(answer: Path) -> dict[str, str]:
    """The environment that has what a task returned written to the file *answer*."""
    return {"ANSIBLE_CALLBACKS_ENABLED": "keep_answer", "KEEP_ANSWER": str(answer)}


def run_module(
    module: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    check: bool = False,
    diff: bool = False,
    timeout: float = 90,
) -> Ran:
    """Run a module of the collection by ansible-playbook."""
    answer = folder / "answer.json"
    answer.unlink(missing_ok=True)
    playbook = folder / "play.yml"
    playbook.write_text(play_of(module, options, check=check, diff=diff), encoding="utf-8")
    done = command("ansible-playbook", playbook, folder=folder, timeout=timeout, **keeping(answer))
    if not answer.exists():
        raise AssertionError(f"the play left no answer:\n{done.stdout}\n{done.stderr}")
    return Ran(json.loads(answer.read_text(encoding="utf-8")), done.stdout)


class ModuleServer:
    """A process of :mod:`tests.support.module_server`; it ends with :meth:`close`, or with this process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="modules-")
        self.address = str(Path(self._folder.name) / "socket")
        end, self._ours = socket.socketpair()
        with end, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asked:
            asked.bind(self.address)
            numbers = [asked.fileno(), end.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.module_server", *map(str, numbers)],
                cwd=ROOT,
                env={**environment(ROOT), "PYTHONPATH": str(COLLECTIONS)},
                stdin=subprocess.DEVNULL,
                pass_fds=numbers,
            )

    def close(self) -> None:
        """End it; modules that still run go on."""
        self._ours.close()
        self._process.wait(30)
        self._folder.cleanup()


_own_module_server = functools.cache(ModuleServer)


def _ask_module_server(request: Mapping[str, Any], files: list[int]) -> None:
    with _starting, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.connect(begun().get("modules") or _own_module_server().address)
        socket.send_fds(server, [json.dumps(request).encode()], files)


def _taken(file: IO[bytes]) -> str:
    with file:
        file.seek(0)
        return file.read().decode("utf-8")


class ModuleProcess(Elsewhere):
    """A running module, killed at the end of ``with``; what tests use of :class:`subprocess.Popen` has the same names.

    :param module: its short name.
    :param options: the module's options, and Ansible's own (``_ansible_…``).
    :param folder: where it works; its options are written to a file there.
    """

    def __init__(self, module: str, options: Mapping[str, Any], folder: Path, file: str = "arguments.json") -> None:
        path = folder / file
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": dict(options)}), encoding="utf-8")
        self.args = [f"{MODULES}.{module}", str(path)]
        self.returncode: int | None = None
        self._said: tuple[str, str] | None = None
        request = {
            "module": self.args[0],
            "arguments": self.args[1],
            "folder": str(folder),
            "variables": {**environment(folder), "PYTHONPATH": str(COLLECTIONS)},
        }
        self._output, self._errors = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115
        self._answers, its = socket.socketpair()
        with its:
            _ask_module_server(request, [self._output.fileno(), self._errors.fileno(), its.fileno()])
        self.pid = self._number(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self.communicate(30)

    def _number(self, timeout: float | None) -> int:
        self._answers.settimeout(timeout)
        try:
            data = self._answers.recv(array.array("i").itemsize)
        except (TimeoutError, BlockingIOError):
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0) from None
        if not data:
            raise RuntimeError("tests.support.module_server has ended")
        return int(array.array("i", data)[0])

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.returncode = self._number(timeout)
            self._answers.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; what it wrote to standard output and to standard error."""
        self.wait(timeout)
        if self._said is None:
            self._said = _taken(self._output), _taken(self._errors)
        return self._said

    def result(self, timeout: float) -> dict[str, Any]:
        """What the module returned: the one line that it writes."""
        output, errors = self.communicate(timeout)
        lines = output.strip().splitlines()
        assert len(lines) == 1, output + errors
        return {"failed": False, **json.loads(lines[0])}


def run_alone(
    module: str,
    options: Mapping[str, Any],
    folder: Path,
    *,
    check: bool = False,
    diff: bool = False,
    timeout: float = 90,
) -> Ran:
    """Run a module of the collection as Ansible does, without Ansible around it, which takes longer than most modules.

    For tests of what a module says; each module has others that run it by :func:`run_module`.
    """
    with ModuleProcess(module, {**options, "_ansible_check_mode": check, "_ansible_diff": diff}, folder) as process:
        return Ran(process.result(timeout), "".join(process.communicate()))
