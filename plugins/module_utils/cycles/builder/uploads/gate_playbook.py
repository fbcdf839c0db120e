# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook of a gate for one of its nodes: inventory, host keys, variables and log."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Collection
from typing import Any

from ....clients.known_hosts import known_hosts_lines, ssh_arguments
from ....clients.playbook_run import PlaybookRun
from ....model import connection
from ....model.config.gate_settings import GateSettings
from ....model.config.known_secrets import known_secrets
from ....model.config.types import NodepoolConfig
from ....model.gate import LOGS, log_name
from ....model.image import Upload, build_of_path, is_build_id
from ....model.image_contents import COMMAND
from ....model.node import DEFAULT_PORT, Node

_LOG = re.compile(r"(.+)-([0-9a-f]{32}|\d{10})-.+\.log")
EDITION = 16
"""Digits of the name of a playbook's text."""
_DEFAULTS = (connection.DEFAULT, "auto")


def log_path(config: NodepoolConfig, upload: Upload, number: int) -> str:
    """Return the path of the log of a gate's node, which is the *number*-th one."""
    name = log_name(upload.image, upload.build_id, upload.provider, upload.id, number)
    return os.path.join(config.build_log_dir, LOGS, name)


def remove_logs(config: NodepoolConfig, image: str, builds: Collection[str]) -> None:
    """Remove the logs of an image's builds that are gone. What cannot be removed stays.

    :param builds: ids of the builds that exist.
    """
    folder = os.path.join(config.build_log_dir, LOGS)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        match = _LOG.fullmatch(name)
        if match and match[1] == image and is_build_id(match[2]) and match[2] not in builds:
            remove_log(os.path.join(folder, name))


def remove_log(path: str) -> None:
    """Remove a log. What cannot be removed stays."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def playbook_for(
    node: Node,
    kind: str,
    upload: Upload,
    gate: GateSettings,
    config: NodepoolConfig,
    log: str,
    secrets: tuple[str, ...] = (),
) -> PlaybookRun:
    """Return the playbook to run on a node.

    :param kind: what the node is for. The playbook sees it, and what the node is made from, as ``nodepool_gate``.
    :param secrets: what is hidden in its output, besides the secrets of the configuration.
    """
    base = _folder(config)
    port = connection.port(node.connection_port, DEFAULT_PORT)
    address = connection.address(node.interface_ip)
    keys = connection.host_keys(node.host_keys)
    about = {
        "kind": kind,
        "image": upload.image,
        "build": (build_of_path(node.image_id) or ("", ""))[1],
        "provider": upload.provider,
    }
    private_key = os.path.join(base, gate.private_key) if gate.private_key else ""

    def inventory(folder: str) -> dict[str, Any]:
        variables = _variables(node, port, address, private_key, os.path.join(folder, "known_hosts") if keys else "")
        return {"all": {"hosts": {f"np{node.id}": variables}}}

    return PlaybookRun(
        playbook=_path(gate, config),
        command=COMMAND,
        inventory=inventory,
        known_hosts=tuple(known_hosts_lines(address, port, keys)),
        variables={"nodepool_gate": about},
        log=log,
        timeout=gate.timeout,
        secrets=(*secrets, *known_secrets(config, config.providers.get(upload.provider))),
    )


def edition(gate: GateSettings, config: NodepoolConfig) -> str:
    """Return a name for the text of the playbook as it is now; "" if it cannot be read."""
    try:
        with open(_path(gate, config), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()[:EDITION]
    except OSError:
        return ""


def _folder(config: NodepoolConfig) -> str:
    return os.path.dirname(os.path.abspath(config.path))


def _path(gate: GateSettings, config: NodepoolConfig) -> str:
    return os.path.join(_folder(config), gate.playbook)


def _variables(node: Node, port: int, address: str, private_key: str, known_hosts: str) -> dict[str, Any]:
    found = {
        "ansible_host": address,
        "ansible_port": port,
        "ansible_user": connection.user(node.username),
        "ansible_connection": connection.connection_type(node.connection_type, node.connection_type),
        "ansible_python_interpreter": connection.python_path(node.python_path),
        "ansible_shell_type": connection.shell_type(node.shell_type),
        "ansible_ssh_private_key_file": private_key,
    }
    variables: dict[str, Any] = {name: value for name, value in found.items() if value and value not in _DEFAULTS}
    arguments = ssh_arguments(known_hosts, one_key=bool(private_key))
    return {**variables, "ansible_ssh_common_args": arguments} if arguments else variables
