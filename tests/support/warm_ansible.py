# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's commands, forked from a process that has imported them, as are the modules of the collection that they run.

Importing is two thirds of what ``ansible-playbook`` costs, and most of what a module costs. Reading the documentation
of its plugins, packing modules, compiling templates and forking a process for each task is most of what is left
(:mod:`tests.support.warm_tasks`). All else is Ansible's own: it reads the playbook and its settings, finds the plugins,
does what tasks say, and hands each module to an interpreter.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from tests.support.forked import ForkedProcess
from tests.support.warm_python import ROOT, WarmPython, WarmServer, write_client

COMMANDS = ("ansible-playbook", "ansible-inventory")
COLLECTION = "ansible_collections.stackci.nodepool"
PROFILES = "ansible.module_utils._internal._json._profiles"
LIBRARIES = (
    *("ansible.executor.module_common", "ansible.executor.playbook_executor", "ansible.plugins.action.normal"),
    *("ansible.plugins.callback.default", "ansible.plugins.callback.junit", "ansible.plugins.connection.local"),
    *("ansible.plugins.connection.psrp", "ansible.plugins.connection.ssh", "ansible.plugins.connection.winrm"),
    *("ansible.plugins.filter.core", "ansible.plugins.filter.mathstuff", "ansible.plugins.inventory.auto"),
    *("ansible.plugins.inventory.host_list", "ansible.plugins.inventory.ini", "ansible.plugins.inventory.script"),
    *("ansible.plugins.inventory.toml", "ansible.plugins.inventory.yaml", "ansible.plugins.shell.cmd"),
    *("ansible.plugins.shell.powershell", "ansible.plugins.shell.sh", "ansible.plugins.strategy.linear"),
    *(
        "ansible.plugins.test.core",
        "ansible.plugins.vars.host_group_vars",
        "ansible.module_utils.urls",
        "ansible.playbook.handler_task_include",
        "configparser",
        "http.cookiejar",
        "kazoo.client",
        "multiprocessing.popen_fork",
    ),
    *("multiprocessing.shared_memory", "multiprocessing.synchronize", "xml.dom.minidom", "yaml"),
    *(f"{PROFILES}._module_legacy_c2m", f"{PROFILES}._module_legacy_m2c"),
)
"""What Ansible and the plugins of the collection on the controller load later."""

WHEN_NEEDED = (
    *("ansible.module_utils.basic", f"{PROFILES}._module_legacy_c2m", f"{PROFILES}._module_legacy_m2c"),
    *("asyncssh", "encodings.cp437", "encodings.utf_8_sig", "netrc"),
)
"""What modules import only when they need it, a third of what such a module costs."""

PIPELINING = {"ANSIBLE_PIPELINING": "true"}
"""Ansible hands a module to its interpreter without four commands that carry a file. Commands that are not forked have
Ansible's default."""

READ_AT_IMPORT = ("_LIBRARY", "_PLUGINS", "ANSIBLE_CONFIG", "_COLOR", "NO_COLOR", "PYTHONPATH")
"""Ends of the names of variables that Ansible or Python read only once."""

READ_LATER = ("ANSIBLE_CALLBACK_PLUGINS",)
"""Those of them that the server reads anew: ansible-runner has callbacks of its own."""


def _at_import(variables: Mapping[str, str]) -> dict[str, str]:
    found = {name: value for name, value in variables.items() if name.endswith(READ_AT_IMPORT)}
    return {name: value for name, value in found.items() if name not in READ_LATER}


def other_than(variables: Mapping[str, str]) -> str:
    """For clients of a server with these variables, an expression: what it has read only once is different for them."""
    known = f"name.endswith({READ_AT_IMPORT!r}) and name not in {READ_LATER!r}"
    return f"{{name: text for name, text in environment.items() if {known}}} != {_at_import(variables)!r}"


class WarmAnsible:
    """Runs commands; one for all tests of a process.

    :param variables: an environment for commands. Those with another one must agree in what is read only once.
    :param begun: :attr:`addresses` of another process, whose servers are used; otherwise two are started.
    :ivar python: an interpreter for modules and for ``nodepoolctl``.
    :ivar commands: a folder for a PATH with the commands; in an environment that does not agree, the real ones.
    """

    def __init__(self, variables: Mapping[str, str], collections: Path, begun: tuple[str, str] | None = None) -> None:
        self._read = _at_import(variables)
        self._servers: list[WarmPython | WarmServer] = []
        self.addresses = begun or self._start(variables, collections)
        self.python, self._address = Path(self.addresses[0]), self.addresses[1]
        self.commands = Path(self._address).with_name("bin")

    def _start(self, variables: Mapping[str, str], collections: Path) -> tuple[str, str]:
        """Start the servers: the interpreter for modules, and where commands are asked for."""
        names = [
            f"{COLLECTION}.{folder.replace('/', '.')}.{path.stem}"
            for folder in ("plugins/modules", "plugins/plugin_utils/nodepoolctl")
            for path in sorted((ROOT / folder).glob("[!_]*.py"))
        ]
        # A process that has imported parts of a collection as Python does cannot import them as Ansible does.
        python = WarmPython([*names, *WHEN_NEEDED], {**variables, "PYTHONPATH": str(collections)})
        commands = [f"ansible.cli.{name.removeprefix('ansible-')}" for name in COMMANDS]
        plugins = [
            f"{COLLECTION}.plugins.{folder}.{path.stem}"
            for folder in ("action", "filter", "inventory")
            for path in sorted((ROOT / "plugins" / folder).glob("[!_]*.py"))
        ]
        server = WarmServer([*commands, *LIBRARIES, *plugins], variables, python.path)
        self._servers = [server, python]
        folder = server.folder / "bin"
        folder.mkdir()
        for name in COMMANDS:
            write_client(
                *(folder / name, server.address),
                command=name,
                real=[Path(sys.executable).parent / name],
                unless=other_than(variables),
            )
        return str(python.path), server.address

    def knows(self, command: str, variables: Mapping[str, str]) -> bool:
        """Whether a command can be run in that environment."""
        return command in COMMANDS and _at_import(variables) == self._read

    def close(self) -> None:
        """End the servers that it has started."""
        for server in self._servers:
            server.close()

    def start(
        self,
        words: Sequence[str],
        folder: Path,
        variables: Mapping[str, str],
        output: int,
        errors: int,
        timeout: float | None = None,
    ) -> ForkedProcess:
        """Start a command.

        :param output, errors: numbers of files.
        """
        given = {**PIPELINING, **variables}
        if given.get("ANSIBLE_PYTHON_INTERPRETER") == sys.executable:
            given["ANSIBLE_PYTHON_INTERPRETER"] = str(self.python)
        with open(os.devnull, "rb") as nothing:
            files = nothing.fileno(), output, errors
            return ForkedProcess(
                self._address, words[0], words[1:], folder=folder, variables=given, files=files, timeout=timeout
            )

    def run(
        self, words: Sequence[str], folder: Path, variables: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end.

        :raises subprocess.TimeoutExpired: it took longer, and was killed, as by :func:`subprocess.run`.
        """
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            try:
                process = self.start(words, folder, variables, output.fileno(), errors.fileno(), timeout)
                with contextlib.closing(process):
                    status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                raise subprocess.TimeoutExpired(list(words), timeout, _said(output), _said(errors)) from None
            return subprocess.CompletedProcess(list(words), status, _said(output), _said(errors))


def _said(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8")
