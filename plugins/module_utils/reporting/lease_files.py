# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files with which ssh and Ansible use the nodes of a lease: known_hosts, a configuration of ssh, an inventory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..clients.known_hosts import known_hosts_lines, ssh_arguments
from ..clients.marked_file import is_marked_file, remove_marked, write_marked
from ..model.errors import ConfigError

_ID = re.compile(r"\d{1,20}", re.ASCII)
_GROUP = re.compile(r"[^A-Za-z0-9_]")
_AUTO = ("", "auto")


@dataclass(frozen=True)
class LeaseFiles:
    """The paths of the files, None for those that are not wanted.

    :param private_key: path of the key for the login, for the texts.
    :param mode: of the files.
    """

    known_hosts: str | None = None
    ssh_config: str | None = None
    inventory: str | None = None
    private_key: str | None = None
    mode: int = 0o600

    def check(self) -> None:
        """Check that the options fit together.

        :raises ConfigError: they do not.
        """
        if self.mode not in (0o600, 0o644):
            raise ConfigError([f"file_mode is {self.mode:04o}: use '0600' or '0644'"])
        if (self.ssh_config or self.inventory) and not self.known_hosts:
            raise ConfigError(["ssh_config and inventory name the file of known hosts: give known_hosts, too"])
        paths = [path for path in (self.known_hosts, self.ssh_config, self.inventory) if path]
        if len(set(paths)) != len(paths):
            raise ConfigError(
                ["two of known_hosts, ssh_config and inventory are the same file: give each its own path"]
            )

    def texts(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Return path → text for the nodes."""
        wanted = (
            (self.known_hosts, known_hosts_text),
            (self.ssh_config, lambda rows: ssh_config_text(rows, self.known_hosts or "", self.private_key)),
            (self.inventory, lambda rows: inventory_text(rows, self.known_hosts or "", self.private_key)),
        )
        return {path: make(rows) for path, make in wanted if path}


def mark_of(lease: str) -> str:
    """Return the first line of the files of a lease."""
    return f"# Written by stackci.nodepool.nodepool_request for lease {lease}. Changes are lost."


def bring(files: LeaseFiles, lease: str, rows: Sequence[Mapping[str, Any]] | None, *, preview: bool = False) -> bool:
    """Write the files for the nodes, or remove them; return True when something changed, or would in a preview.

    :param rows: None removes the files.
    :raises ConfigError: a file is somebody else's, or cannot be written.
    """
    mark, changed = mark_of(lease), False
    for path, text in files.texts(rows or ()).items():
        if preview:
            changed = (is_marked_file(path, mark) == (rows is None)) or changed
        elif rows is None:
            changed = remove_marked(path, mark) or changed
        else:
            changed = write_marked(path, mark, text, files.mode) or changed
    return changed


NO_FILES = LeaseFiles()


def lease_row(row: dict[str, Any], files: LeaseFiles) -> dict[str, Any]:
    """Return the row of a node with what ssh and an inventory need besides."""
    arguments = _arguments(row, files.known_hosts, files.private_key)
    return {**row, "hostname": hostname(row), "ssh_arguments": arguments}


def hostname(row: Mapping[str, Any]) -> str:
    """Return the name of a node for an inventory and for ssh: np and its id."""
    return f"np{row['id']}" if _ID.fullmatch(str(row["id"])) else "np"


def _arguments(row: Mapping[str, Any], known_hosts: str | None, private_key: str | None) -> str:
    return ssh_arguments(known_hosts or "", checking=_checking(row), one_key=bool(private_key))


def _checking(row: Mapping[str, Any]) -> str:
    """Return the word for StrictHostKeyChecking: without recorded keys the key of the first contact is taken."""
    return "yes" if row["host_keys"] else "accept-new"


def known_hosts_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a known_hosts file, without its first line."""
    lines = [line for row in rows for line in known_hosts_lines(row["address"], row["port"], row["host_keys"])]
    return "".join(f"{line}\n" for line in lines)


def ssh_config_text(rows: Sequence[Mapping[str, Any]], known_hosts: str, private_key: str | None) -> str:
    """Return the text of a file for ``ssh -F`` or Include, without its first line."""
    lines: list[str] = []
    for row in rows:
        if row["connection_type"] not in ("", "ssh") or not row["address"]:
            continue
        lines += [f"Host {hostname(row)} {row['address']}", f"  HostName {row['address']}", f"  Port {row['port']}"]
        lines += [f"  User {_quoted(row['user'])}"] if row["user"] else []
        lines += [f"  IdentityFile {_quoted(private_key)}", "  IdentitiesOnly yes"] if private_key else []
        lines += [f"  UserKnownHostsFile {_quoted(known_hosts)}", "  GlobalKnownHostsFile /dev/null"]
        # A connection that is kept may be that of a deleted node whose address this one has.
        lines += [f"  StrictHostKeyChecking {_checking(row)}", "  ControlPath none"]
    return "".join(f"{line}\n" for line in lines)


def inventory_text(rows: Sequence[Mapping[str, Any]], known_hosts: str, private_key: str | None) -> str:
    """Return the text of an inventory in YAML with a group for each label, without its first line."""
    hosts = {hostname(row): dict(variables(row, known_hosts, private_key)) for row in rows}
    groups: dict[str, dict[str, Any]] = {}
    for row in rows:
        groups.setdefault(_GROUP.sub("_", f"label_{row['label']}"), {})[hostname(row)] = {}
    # JSON is YAML, too, and each value stays on its line.
    children = {name: {"hosts": members} for name, members in sorted(groups.items())}
    return json.dumps({"leased_nodes": {"hosts": hosts}, **children}, indent=2) + "\n"


def variables(row: Mapping[str, Any], known_hosts: str, private_key: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables of Ansible for a node. No text of a record can be a template: see model/connection."""
    yield "ansible_connection", row["connection_type"] or "ssh"
    yield "ansible_host", row["address"]
    yield "ansible_port", row["port"]
    if row["user"]:
        yield "ansible_user", row["user"]
    if row["python_path"] not in _AUTO:
        yield "ansible_python_interpreter", row["python_path"]
    if row["shell_type"]:
        yield "ansible_shell_type", row["shell_type"]
    if private_key:
        yield "ansible_ssh_private_key_file", private_key
    yield "ansible_ssh_common_args", _arguments(row, known_hosts, private_key)


def _quoted(text: str) -> str:
    """Return a word of ssh_config(5), in double quotes when it has blanks."""
    return f'"{text}"' if " " in text else text
