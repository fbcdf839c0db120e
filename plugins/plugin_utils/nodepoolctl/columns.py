# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables that the verbs show, with the columns of Nodepool's command line where it has such a list."""

from __future__ import annotations

from .shapes import Column, Table

LEASED = Table(
    "nodes",
    (
        Column("id", "ID"),
        Column("label", "Label"),
        Column("address", "Address"),
        Column("port", "Port"),
        Column("user", "Username"),
        Column("provider", "Provider"),
        Column("expires_at", "Expires", "moment"),
    ),
)
NODES = Table(
    "nodes",
    (
        Column("id", "ID"),
        Column("provider", "Provider"),
        Column("labels", "Label"),
        Column("server_id", "Server ID"),
        Column("public_ipv4", "Public IPv4"),
        Column("public_ipv6", "IPv6"),
        Column("state", "State"),
        Column("age_text", "Age"),
        Column("locked", "Locked", "locked"),
    ),
    (
        Column("pool", "Pool"),
        Column("hostname", "Hostname"),
        Column("private_ipv4", "Private IPv4"),
        Column("az", "AZ"),
        Column("username", "Username"),
        Column("port", "Port"),
        Column("launcher", "Launcher"),
        Column("allocated_to", "Allocated To"),
        Column("hold_job", "Hold Job"),
        Column("comment", "Comment"),
        Column("user_data", "User Data"),
        Column("driver_data", "Driver Data"),
    ),
)
ACTED = Table(
    "nodes",
    (
        Column("id", "ID"),
        Column("provider", "Provider"),
        Column("state_before", "Before"),
        Column("state", "State"),
        Column("hold_job", "Hold Job"),
        Column("comment", "Comment"),
        Column("expires_in", "Expires in", "span"),
    ),
)
REQUESTS = Table(
    "requests",
    (
        Column("id", "Request ID"),
        Column("relative_priority", "Priority"),
        Column("state", "State"),
        Column("requestor", "Requestor"),
        Column("labels", "Node Types"),
        Column("nodes", "Nodes"),
        Column("declined_by", "Declined By"),
        Column("event_id", "Event ID"),
    ),
)
CANCELLED = Table(
    "requests",
    (
        Column("id", "Request ID"),
        Column("state_before", "Before"),
        Column("requestor", "Requestor"),
        Column("freed", "Freed nodes"),
    ),
)
LEASES = Table(
    "leases",
    (
        Column("name", "Name"),
        Column("labels", "Labels"),
        Column("wanted", "Wanted"),
        Column("held", "Held"),
        Column("nodes", "Nodes", "ids"),
        Column("requests", "Requests", "ids"),
        Column("owner", "Owner"),
        Column("reason", "Reason"),
        Column("age_text", "Age"),
        Column("expires_in", "Expires in", "span"),
    ),
)
USAGE = Table(
    "rows",
    (
        Column("day", "Day", optional=True),
        Column("tenant", "Tenant", optional=True),
        Column("project", "Project", optional=True),
        Column("job", "Job", optional=True),
        Column("label", "Label", optional=True),
        Column("provider", "Provider", optional=True),
        Column("pool", "Pool", optional=True),
        Column("hours", "Hours"),
        Column("used_hours", "Used"),
        Column("idle_hours", "Idle"),
        Column("building_hours", "Building"),
        Column("thrown_away_hours", "Thrown away"),
        Column("held_hours", "Held"),
        Column("deleting_hours", "Deleting"),
        Column("nodes", "Nodes"),
        Column("servers", "Servers"),
    ),
)
UPLOADS = Table(
    "uploads",
    (
        Column("build_id", "Build ID"),
        Column("upload_id", "Upload ID"),
        Column("provider", "Provider"),
        Column("image", "Image"),
        Column("name", "Provider Image Name"),
        Column("external_id", "Provider Image ID"),
        Column("state", "State"),
        Column("age_text", "Age"),
    ),
)
BUILDS = Table(
    "builds",
    (
        Column("build_id", "Build ID"),
        Column("image", "Image"),
        Column("builder", "Builder"),
        Column("formats", "Formats"),
        Column("state", "State"),
        Column("age_text", "Age"),
    ),
)
IMAGE_STATUS = Table(
    "images",
    (
        Column("image", "Image"),
        Column("paused", "Paused"),
        Column("requested", "Build Request"),
        Column("building", "Building"),
        Column("request_age_text", "Build Request Age"),
    ),
)
ALIEN_IMAGES = Table(
    "images",
    (
        Column("provider", "Provider"),
        Column("name", "Name"),
        Column("image_id", "Image ID"),
    ),
)
