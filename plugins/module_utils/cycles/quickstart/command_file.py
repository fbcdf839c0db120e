# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command nodepoolctl for the folder of a quick start: a script that knows its configuration and its key."""

from __future__ import annotations

import os
import shlex
import sys

from .folder_notes import Notes
from .wish import NODEPOOL_YAML, QuickstartWish

COMMAND = "nodepoolctl"
SOURCE = "NODEPOOL_SOURCE"
"""Environment variable with the folder of the plugins, which the action plugin sets on the machine of Ansible."""

_PACKAGE = ("ansible_collections", "stackci", "nodepool", "plugins")
_MODULE = ".".join((*_PACKAGE, "plugin_utils", "nodepoolctl"))


def write_command(wish: QuickstartWish, notes: Notes) -> str:
    """Write the script; return how a shell calls it, or "" where the collection is not installed on this machine.

    A script that somebody has changed stays as it is.
    """
    from ...clients.openstack.clouds import clouds_files_from_here

    path = notes.at(COMMAND)
    root = collections_path(os.environ.get(SOURCE, ""))
    if not root:
        return ""
    if notes.is_as_written(COMMAND) or not os.path.exists(path):
        clouds, secure = clouds_files_from_here(wish.clouds_config)
        notes.write_file(COMMAND, script(root, notes.at(NODEPOOL_YAML), notes.private_key, clouds, secure))
        os.chmod(path, 0o700)
    return shell_word(path, os.path.expanduser("~"))


def collections_path(plugins: str) -> str:
    """Return the folder from which Python imports the collection with these plugins; "" when there is none."""
    parts = plugins.rsplit(os.sep, len(_PACKAGE))
    return parts[0] if tuple(parts[1:]) == _PACKAGE and os.path.isdir(plugins) else ""


def script(root: str, config: str, private_key: str, clouds_config: str, secure_file: str) -> str:
    """Return the text of the script. What the environment says comes first, as for the command itself."""
    known = {"NODEPOOL_CONFIG": config, "NODEPOOL_SSH_KEY": private_key}
    known |= {"OS_CLIENT_CONFIG_FILE": clouds_config, "OS_CLIENT_SECURE_FILE": secure_file}
    lines = ["#!/bin/sh", "# Made by the playbook stackci.nodepool.quickstart."]
    for name, value in known.items():
        if value:
            lines.append(f'[ -n "${{{name}:-}}" ] || export {name}={shlex.quote(value)}')
    lines.append(f"export PYTHONPATH={shlex.quote(root)}")
    return "\n".join([*lines, f'exec {shlex.quote(sys.executable)} -m {_MODULE} "$@"', ""])


def shell_word(path: str, home: str) -> str:
    """Return the path as one types it in a shell: from the home directory with ``~``."""
    below = os.path.relpath(path, home)
    if home not in ("", "/") and not below.startswith(os.pardir):
        return f"~/{shlex.quote(below)}"
    return shlex.quote(path)
