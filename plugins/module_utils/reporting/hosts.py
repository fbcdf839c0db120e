# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Convert rows of servers and node records to hosts of an inventory. No I/O."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..clients.known_hosts import known_hosts_lines, ssh_arguments
from ..model import connection
from ..model.cloud import META_GROUPS
from ..model.node import DEFAULT_PORT, NodeState

GROUPS = ("provider", "label", "pool", "image", "az", "status", "state", "lease")
"""Keys of a row, and prefixes of the groups by their values. ``state`` is from the node record, ``status`` from the
server."""

RESERVED_GROUPS = frozenset({"all", "ungrouped"})
RESERVED_NAMES = RESERVED_GROUPS | {"localhost", "127.0.0.1", "::1"}
"""Names that no node gets: a play for the controller or for all hosts must not reach a server of that name."""

MOST_ROUNDS = 3
"""How often ids are added to names: whoever names servers may give one the name of another with its id."""

RECORD_KEYS = (
    "state",
    "request",
    "tenant",
    "requestor",
    "user",
    "port",
    "connection_type",
    "python_path",
    "shell_type",
    "host_keys",
    "address",
    "attributes",
    "hold_job",
    "comment",
    "lease",
    "expires_at",
)
"""Fields that a host gets from its node record."""

LIVE_STATES = frozenset((NodeState.READY, NodeState.IN_USE, NodeState.HOLD))
"""States of node records in which the server must exist."""

_LEAVING_STATES = frozenset(
    (NodeState.USED, NodeState.DELETING, NodeState.DELETED, NodeState.FAILED, NodeState.ABORTED)
)
_LEAVING_TASKS = frozenset(("deleting", "soft-deleting"))

_NODE_ID = re.compile(r"\d{1,20}", re.ASCII)
_NAME = re.compile(r"^-|[^\w.:@+ -]")
"""What a name of a host must not have: Jinja, wildcards of Ansible's patterns, quotes of a shell."""


_DEFAULTS = (connection.DEFAULT, "auto")


@dataclass(frozen=True)
class Selection:
    """Which nodes become hosts; an empty field means any."""

    labels: Sequence[str] = ()
    pools: Sequence[str] = ()
    statuses: Sequence[str] = ()
    states: Sequence[str] = ()
    leases: Sequence[str] = ()

    def takes(self, row: Mapping[str, Any]) -> bool:
        """True when the row matches every field and its node stays.

        A node that is being deleted is taken only if *states* names the state of its record. A node that no cloud shows
        has no status; it counts as ACTIVE.
        """
        if is_leaving(row) and not (self.states and row.get("state") in self.states):
            return False
        choices = {
            "label": self.labels,
            "pool": self.pools,
            "status": self.statuses,
            "state": self.states,
            "lease": self.leases,
        }
        known = {**row, "status": row.get("status") or "ACTIVE"}
        return all(not wanted or known.get(key) in wanted for key, wanted in choices.items())


def is_leaving(row: Mapping[str, Any]) -> bool:
    """Return True if nova deletes the server, or the node record says that it will be deleted."""
    return row.get("task_state") in _LEAVING_TASKS or row.get("state") in _LEAVING_STATES


@dataclass
class Host:
    """A host: its name, the names of its groups (not yet sanitized), and its variables."""

    name: str
    groups: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)


def of_servers(records: Iterable[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the records that may name a server, and sentences about what else there is.

    Other drivers of Nodepool use ``external_id`` for other values, for instance a dictionary.
    """
    usable: list[Mapping[str, Any]] = []
    strange: list[str] = []
    told: list[str] = []
    for record in records:
        if record["external_id"] is None or isinstance(record["external_id"], str):
            usable.append(record)
            told += record.get("refused") or ()
        else:
            strange.append(str(record["id"]))
    if strange:
        told.append(
            f"node records that name something other than a server are skipped: {', '.join(strange)};"
            " a driver other than openstack wrote them"
        )
    return usable, told


def enriched(rows: Iterable[dict[str, Any]], records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add the fields of node records to rows. A record is used only for the server that it names."""
    by_server = {(record["id"], record["external_id"]): record for record in records}
    result = []
    for row in rows:
        record = by_server.get((row["node_id"], row["server_id"]))
        result.append({**row, **({key: record.get(key) for key in RECORD_KEYS} if record else {})})
    return result


def hosts(
    rows: Iterable[dict[str, Any]],
    selection: Selection,
    *,
    hostname: str = "node",
    connect_with: Sequence[str] = ("recorded", "floating", "fixed", "ipv6"),
    known_hosts: str | None = None,
    metadata_groups: bool = False,
    name_of: Callable[[dict[str, Any]], str] = lambda variables: "",
) -> list[Host]:
    """Return the hosts in the order of node ids.

    :param hostname: ``node`` (np and the id of the node), ``name``, ``node_id``, ``server_id`` or ``address``. Hosts
        with the same name get the server's id added to it.
    :param metadata_groups: True: add the groups that the server's nova metadata names.
    :param name_of: takes the variables of a host and returns its name, "" for the name by *hostname*.
    :param connect_with: kinds of addresses; the first kind that the node has becomes ansible_host.
    :param known_hosts: path of the file that ssh uses for nodes with recorded host keys.
    """
    chosen = sorted(filter(selection.takes, rows), key=lambda row: (row["node_id"], row["server_id"]))
    addresses = [address_of(row, connect_with) for row in chosen]
    found = []
    for row, address in zip(chosen, addresses, strict=True):
        variables = {"nodepool": row, **_connection(row, address, known_hosts)}
        usual = _usual_name(row, address, hostname)
        groups = [f"{key}_{row[key]}" for key in GROUPS if row.get(key)]
        groups += groups_of(row["metadata"]) if metadata_groups else []
        found.append(Host(_harmless(name_of(variables) or str(usual)), groups, variables))
    for _round in range(MOST_ROUNDS):
        taken = Counter(host.name for host in found)
        unclear = [host for host in found if taken[host.name] > 1 or host.name in RESERVED_NAMES]
        for host in unclear:
            host.name = _harmless(f"{host.name}_{host.variables['nodepool']['server_id']}")
        if not unclear:
            break
    return found


def _usual_name(row: Mapping[str, Any], address: str, hostname: str) -> str:
    """Return the name by the kind *hostname*, the server's id when there is none.

    Whoever may write the metadata of a server chooses its node id; only one that a record could have becomes a name.
    """
    if hostname == "node":
        name = f"np{row['node_id']}" if _NODE_ID.fullmatch(str(row["node_id"])) else ""
    else:
        name = address if hostname == "address" else row.get(hostname) or ""
    return str(name or row["server_id"])


def _harmless(name: str) -> str:
    return _NAME.sub("_", name)


def groups_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the groups in nova metadata: separated by commas, or in the JSON list that Nodepool 0.x wrote."""
    text = str(metadata.get(META_GROUPS) or "")
    names: Any = text.split(",")
    if text.lstrip().startswith("["):
        with contextlib.suppress(ValueError):
            names = json.loads(text)
    named = [name.strip() for name in names if isinstance(name, str)]
    return [name for name in named if name and name not in RESERVED_GROUPS]


def address_of(row: Mapping[str, Any], connect_with: Sequence[str]) -> str:
    """Return the first valid address of the preferred kinds, ``""`` when there is none."""
    for kind in connect_with:
        there = [row.get("address")] if kind == "recorded" else _addresses(row, kind)
        for address in map(connection.address, there):
            if address:
                return address
    return ""


def all_known_hosts(found: Iterable[Host]) -> str:
    """Return the text of a known_hosts file for all hosts with recorded keys."""
    lines: list[str] = []
    for host in found:
        row = host.variables["nodepool"]
        port = connection.port(row.get("port"), DEFAULT_PORT)
        for address in dict.fromkeys((host.variables.get("ansible_host", ""), connection.address(row.get("address")))):
            lines += known_hosts_lines(address, port, connection.host_keys(row.get("host_keys") or ()))
    return "".join(f"{line}\n" for line in lines)


def _addresses(row: Mapping[str, Any], kind: str) -> list[Any]:
    return [address["address"] for address in row["addresses"] if kind == _kind(address)]


def _kind(address: Mapping[str, Any]) -> str:
    if address["floating"]:
        return "floating"
    return "ipv6" if address["version"] == 6 else "fixed"


def _connection(row: Mapping[str, Any], address: str, known_hosts: str | None) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    if address:
        variables["ansible_host"] = address
    # The rows may come from the cache of an older version, so they are checked here as well. Whether the configuration
    # allows a type for network devices was decided when the record was read.
    kind = row.get("connection_type")
    found = {
        "ansible_user": connection.user(row.get("user")),
        "ansible_port": connection.port(row.get("port"), 0),
        "ansible_connection": connection.connection_type(kind, kind),
        "ansible_python_interpreter": connection.python_path(row.get("python_path")),
        "ansible_shell_type": connection.shell_type(row.get("shell_type")),
    }
    variables |= {name: value for name, value in found.items() if value and value not in _DEFAULTS}
    if known_hosts and row.get("host_keys"):
        variables["ansible_ssh_common_args"] = ssh_arguments(known_hosts)
    return variables
