# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of launches that Nodepool does not know. nodepool-settings.yaml has them, for a label or a pool's label.

The form of scheduler hints is that of nova's schema of a create (``_hints`` in its ``schemas/servers.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .option_kinds import mapping, part, port, seconds, text, texts
from .options import (
    LABEL,
    LABEL_OR_PROVIDER,
    LONGEST_NAME,
    SETTINGS,
    Schema,
    section,
)
from .section_rules import rule

OURS_ONLY = (SETTINGS,)
PREVIOUS, CANDIDATE = "previous", "candidate"
"""Channels: which build of a diskimage a label is made from; "" for the one in use."""
_SERVER: Schema = {
    "pattern": "^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$",
    "errorMessage": "is not the id of a server, and nova accepts no name here: write the id",
}
_SERVERS: Schema = {
    "type": ["string", "array", "null"],
    "items": {"type": "string", **_SERVER},
    **_SERVER,
}
_HINTS: Schema = {
    "same_host": {"description": "Id or ids of servers on whose host a node may be.", **_SERVERS},
    "different_host": {"description": "Id or ids of servers on whose host no node may be.", **_SERVERS},
    "query": {"description": "Condition of nova's JsonFilter, as JSON.", "type": ["string", "object", "null"]},
    "target_cell": {"description": "Cell of nova.", "type": ["string", "null"], "minLength": 1, "maxLength": 255},
    "different_cell": {
        "description": "Cell or cells of nova not to use.",
        "type": ["string", "array", "null"],
        "items": {"type": "string"},
    },
    "build_near_host_ip": {
        "description": "Address of a host; with cidr.",
        "type": ["string", "null"],
        "pattern": r"^(\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+)$",
        "errorMessage": "is not an address: write the IP address of a host",
    },
    "cidr": {
        "description": "Size of the network around build_near_host_ip.",
        "type": ["string", "null"],
        "pattern": "^/[0-9a-f.:]+$",
        "errorMessage": "is not the end of a CIDR: write it as in /24",
    },
}


def _with_values(hints: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints that have a value: nova refuses a create with one that has none."""
    return {name: value for name, value in hints.items() if value is not None}


@section(
    "probe",
    "What a node must pass, after it answers by ssh, before it is handed over.",
    rules={
        "allOf": [
            rule("anyOf", ("port", "command"), "needs port or command: say what is tried"),
            {
                "if": {"properties": {"command": {"type": "string"}}, "required": ["command"]},
                "then": rule("anyOf", ("key-file",), "has a command, but no key-file: name a private key"),
            },
        ]
    },
)
@dataclass(frozen=True)
class Probe:
    """What is tried on a node: that *port* accepts a connection, and that *command* ends with 0."""

    port: int | None = port("TCP port that must accept a connection.", None, files=OURS_ONLY)
    command: str | None = text(
        "Command for the shell of the image's account; its exit status must be 0.",
        files=OURS_ONLY,
        minLength=1,
        maxLength=4096,
    )
    key_file: str | None = text(
        "Private key for the login, on the host of the launcher; relative to the folder of nodepool.yaml. It has no "
        "passphrase.",
        files=OURS_ONLY,
        minLength=1,
    )
    timeout: int = seconds(
        "Maximum time from an answer by ssh until all of it has passed.", 300, least=1, files=OURS_ONLY
    )
    interval: int = seconds("Time between the starts of two attempts.", 5, least=1, files=OURS_ONLY)


@section("label", "Options of launches that Nodepool does not know.")
@dataclass(frozen=True)
class LaunchSettings:
    """The options of a label of a pool, with what the label itself says filled in.

    None for a time means the provider's; *server_group* None means no group.
    """

    boot_timeout: int | None = seconds(
        "Maximum time from an address to an answer by ssh.", None, least=1, inherits=LABEL_OR_PROVIDER, files=OURS_ONLY
    )
    launch_timeout: int | None = seconds(
        "Maximum time for the cloud to start a server.",
        None,
        least=1,
        inherits=LABEL_OR_PROVIDER,
        files=OURS_ONLY,
    )
    scheduler_hints: Mapping[str, Any] = mapping(
        "What nova's scheduler is told with each create, such as same_host and different_host; other names are for "
        "filters of the cloud.",
        {},
        inherits=LABEL,
        files=OURS_ONLY,
        properties=_HINTS,
        read=_with_values,
    )
    server_group: str | None = text(
        "Name or id of the server group that each server joins. Its policy decides about the hosts.",
        inherits=LABEL,
        files=OURS_ONLY,
        minLength=1,
        maxLength=LONGEST_NAME,
    )
    probe: Probe | None = part(
        "What a node must pass before it is handed over; the image's when the label has none.",
        Probe,
        inherits=LABEL,
        files=OURS_ONLY,
    )
    channels: tuple[str, ...] = texts(
        "More labels, of other builds of the same diskimage: NAME-previous of the build before the one in use, "
        "NAME-candidate of the one that a gate tests, or else the one in use.",
        inherits=LABEL,
        files=OURS_ONLY,
        items={"enum": [PREVIOUS, CANDIDATE]},
        uniqueItems=True,
    )

    @property
    def placement(self) -> str:
        """What restricts the hosts beside flavor, image and zone, in words; "" for nothing."""
        hints = ", ".join(f"{name}={self.scheduler_hints[name]}" for name in sorted(self.scheduler_hints))
        parts = [f"server group {self.server_group}"] if self.server_group else []
        return " and ".join([*parts, *([f"hints {hints}"] if hints else [])])
