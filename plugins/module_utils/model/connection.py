# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Ansible may connect to a node by what its record says. Pure.

Whoever may write node records must not be able to run anything on the controller: each value here becomes a variable
of Ansible, an argument of ssh, or a line of a known_hosts file.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

DEFAULT = "ssh"
REMOTE = frozenset({DEFAULT, "winrm", "psrp", "paramiko", "paramiko_ssh"})
"""Connection plugins of ansible-core that run modules on the node."""
NETWORK = frozenset({"network_cli", "netconf", "httpapi"})
"""Connection plugins for network devices, to which Nodepool launches as well. Ansible runs modules that do not support
them, such as ``ansible.builtin.command``, on the controller: so only the configuration can choose one of them."""
CLUSTER = frozenset({"namespace", "project", "kubectl"})
"""What Nodepool's drivers for clusters write: their nodes have no address and port, but access data of the cluster."""
LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost"})
LARGEST_PORT = 65535
_CORE = ("ansible.builtin.", "ansible.netcommon.", "ansible.legacy.")
_SHELLS = frozenset({"sh", "csh", "fish", "cmd", "powershell"})
# A host name, or the zone of a link-local address. An option of ssh begins with "-".
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?", re.ASCII)
_USER = re.compile(r"[\w](?:[\w.@+\\ $-]{0,126}[\w.$-])?")
_PYTHON = re.compile(
    r"(?:auto(?:_legacy)?(?:_silent)?|(?:/usr/bin/env )?/?[\w.+][\w./+-]{0,500}|[A-Za-z]:\\[\w.\\ ()-]{0,500})"
)
_KEY = re.compile(r"[a-z0-9@.-]{1,100} [A-Za-z0-9+/]{1,16384}={0,3}")


def connection_type(value: Any, configured: str | None = None) -> str | None:
    """Return the connection plugin for a node; None when *value* names one that the record cannot choose.

    :param value: the ``connection_type`` of the record; "" and None stand for ssh.
    :param configured: the ``connection-type`` of the node's image in the configuration.
    """
    if value in (None, ""):
        return DEFAULT
    if not isinstance(value, str):
        return None
    name = value
    for prefix in _CORE:
        name = name.removeprefix(prefix)
    if name in REMOTE or (value == configured and name in NETWORK):
        return value
    return None


def address(value: Any) -> str:
    """Return an IP address or the name of a host; "" for anything else, such as an option of ssh or ``localhost``."""
    if not isinstance(value, str) or value.lower().rstrip(".") in LOOPBACK_NAMES:
        return ""
    host, percent, zone = value.partition("%")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return value if _HOST.fullmatch(value) else ""
    return value if not percent or _HOST.fullmatch(zone) else ""


def port(value: Any, default: int) -> int:
    """Return a TCP port; *default* for anything else."""
    return value if isinstance(value, int) and 0 < value <= LARGEST_PORT else default


def user(value: Any) -> str:
    """Return the name of a user, also with the domain of Windows; "" for anything else."""
    return value if isinstance(value, str) and _USER.fullmatch(value) else ""


def python_path(value: Any) -> str:
    """Return the path of an interpreter or a word of Ansible for finding one; "" for anything else."""
    return value if isinstance(value, str) and _PYTHON.fullmatch(value) else ""


def shell_type(value: Any) -> str:
    """Return the type of shell; "" for one that ansible-core does not have."""
    return value if isinstance(value, str) and value in _SHELLS else ""


def refused(values: Mapping[str, Any], configured: str | None = None) -> list[str]:
    """Return a part of a sentence for each value of a node record that no connection may use.

    :param values: the keys of a node record.
    """
    kept = {
        "connection_type": connection_type(values.get("connection_type"), configured),
        "interface_ip": address(values.get("interface_ip")),
        "username": user(values.get("username")),
        "python_path": python_path(values.get("python_path")),
        "shell_type": shell_type(values.get("shell_type")),
    }
    return [f"{key} {values[key]!r}" for key, value in kept.items() if values.get(key) and not value]


def host_keys(values: Iterable[Any]) -> list[str]:
    """Return those of *values* that are public host keys: ``<type> <base64>``."""
    return [value for value in values if isinstance(value, str) and _KEY.fullmatch(value)]
