# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the action plugins: it runs a module on the controller from the place where it is installed.

Ansible packs a module with everything that it imports, and Python compiles all of it at each start, which takes seconds
for some hundred files. When controller and target are one machine, one user and one Python, nothing needs packing. In
any other case, and with an ansible-core without the functions that this needs, Ansible packs the module as usual.
``docs/designs/007-in-place.md`` has the figures. What differs between versions of ansible-core is in
:mod:`plugin_utils.core_ways`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812
from ansible.plugins.action import ActionBase
from ansible.utils.vars import merge_hash

from ansible_collections.stackci.nodepool.plugins.plugin_utils.core_ways import WAY

HERE = "NODEPOOL_HERE"
"""Environment variable with the operator's current directory; see clients/openstack/clouds.py."""

SOURCE = "NODEPOOL_SOURCE"
"""Environment variable with the folder of the plugins on this machine; see web/page/rendering.py."""

SWITCH = "nodepool_in_place"
"""Ansible variable; false makes Ansible pack the modules as usual."""

OFF = ("false", "no", "off", "0")
PACKAGE = ("ansible_collections", "stackci", "nodepool", "plugins", "modules")


def same_python(one: str, other: str) -> bool:
    """Return True when both are the Python of one virtual environment or installation, under any of its names."""
    return os.path.dirname(one) == os.path.dirname(other) and os.path.realpath(one) == os.path.realpath(other)


def starter(path: str, interpreter: str, arguments: dict[str, Any]) -> bytes | None:
    """Return the program that runs the module in the file *path*; None when the module is not of this collection."""
    file = Path(path)
    if WAY is None or file.suffix != ".py" or file.parts[-len(PACKAGE) - 1 : -1] != PACKAGE:
        return None
    root = str(file.parents[len(PACKAGE)])
    name = ".".join((*PACKAGE, file.stem))
    text = WAY.program(interpreter=interpreter, root=root, name=name, arguments={"ANSIBLE_MODULE_ARGS": arguments})
    return text.encode("utf-8", "surrogateescape")


class InPlaceAction(ActionBase):
    """An action plugin that runs the module of the same name."""

    _supports_check_mode = True
    _supports_async = True
    _supports_diff = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the module."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        wrap_async = bool(self._task.async_val and not self._connection.has_native_async)
        returned = self.work(task_vars or {}, wrap_async)
        if not wrap_async:
            self._remove_tmp_path(self._connection._shell.tmpdir)
        merged: dict[str, Any] = merge_hash(result, returned)
        return merged

    def work(self, task_vars: dict[str, Any], wrap_async: bool) -> dict[str, Any]:
        """Execute the module and return its result."""
        returned: dict[str, Any] = self._execute_module(task_vars=task_vars, wrap_async=wrap_async)
        return returned

    def _compute_environment_string(self, raw_environment_out: dict[str, Any] | None = None) -> str:
        """Return the environment for the command; on this machine with HERE and SOURCE."""
        raw: dict[str, Any] = {}
        text = str(super()._compute_environment_string(raw))
        if self._connection.transport == "local":
            raw = {HERE: os.getcwd(), SOURCE: str(Path(__file__).parents[1]), **raw}
            text = str(self._connection._shell.env_prefix(**raw))
        if raw_environment_out is not None:
            raw_environment_out.clear()
            raw_environment_out.update(raw)
        return text

    def _configure_module(self, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> Any:
        """Return the program to execute: Ansible's own, unless the module can be run in place."""
        if self._works_here(task_vars):
            found = self._shared_loader_obj.module_loader.find_plugin_with_context(
                module_name, ".py", collection_list=self._task.collections
            )
            path = str(found.plugin_resolved_path or "")
            program = starter(path, sys.executable, module_args)
            if WAY is not None and program is not None:
                return WAY.configured(program, f"#!{sys.executable}", path)
        return super()._configure_module(module_name, module_args, task_vars)

    def _works_here(self, task_vars: dict[str, Any]) -> bool:
        """Return True when the module will run on this machine, as this user, with this Python."""
        if WAY is None or self._connection.transport != "local" or self._connection.become:
            return False
        if str(task_vars.get(SWITCH, True)).lower() in OFF:
            return False
        host = task_vars
        if self._task.delegate_to:
            host = task_vars.get("ansible_delegated_vars", {}).get(self._task.delegate_to, {})
        interpreter = C.config.get_config_value("INTERPRETER_PYTHON", variables=host)
        return same_python(str(self._templar.template(interpreter)), sys.executable)
