# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows of the info modules as the tables of Nodepool 11's command line: its columns, its way to write a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NODES = {
    "ID": "id",
    "Provider": "provider",
    "Label": "labels",
    "Server ID": "server_id",
    "Public IPv4": "public_ipv4",
    "IPv6": "public_ipv6",
    "State": "state",
    "Age": "age_text",
    "Locked": "locked",
    "Pool": "pool",
    "Hostname": "hostname",
    "Private IPv4": "private_ipv4",
    "AZ": "az",
    "Username": "username",
    "Port": "port",
    "Launcher": "launcher",
    "Allocated To": "allocated_to",
    "Hold Job": "hold_job",
    "Comment": "comment",
    "User Data": "user_data",
    "Driver Data": "driver_data",
}
REQUESTS = {
    "Request ID": "id",
    "Priority": "relative_priority",
    "State": "state",
    "Requestor": "requestor",
    "Node Types": "labels",
    "Nodes": "nodes",
    "Declined By": "declined_by",
    "Event ID": "event_id",
}
UPLOADS = {
    "Build ID": "build_id",
    "Upload ID": "upload_id",
    "Provider": "provider",
    "Image": "image",
    "Provider Image Name": "name",
    "Provider Image ID": "external_id",
    "State": "state",
    "Age": "age_text",
}
BUILDS = {"Image": "image", "Builder": "builder", "Formats": "formats", "State": "state", "Age": "age_text"}
"""Without the first column, which is made of image and build."""


def cells(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """A row as the cells of a table."""
    return {title: _cell(row[name]) for title, name in columns.items()}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "locked" if value else "unlocked"
    return ",".join(value) if isinstance(value, list) else str(value)
