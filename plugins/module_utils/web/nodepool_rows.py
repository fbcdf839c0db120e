# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of Nodepool's endpoints. Keys, titles and kinds of values are those of Nodepool 11.0.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..clients.zookeeper.link import paths
from ..clients.zookeeper.tree_reading import Found, TreeReading
from ..model.component import ComponentKind
from ..model.documents import seconds, whole, words
from ..reporting.info.fields import age, age_text
from ..reporting.info.image_reading import builds_of, uploads_of

Row = dict[str, Any]
REDACTED = "redacted"
DEFAULT_PORT = 22


@dataclass(frozen=True)
class Listing:
    """One endpoint.

    :ivar titles: key of a row → title of its column, in the order of the columns.
    :ivar rows: makes the rows, from the reading and the present UNIX time.
    :ivar roots: the paths that the rows are made from.
    """

    path: str
    titles: Mapping[str, str]
    rows: Callable[[TreeReading, float], list[Row]]
    roots: tuple[str, ...]


def node_rows(reading: TreeReading, now: float) -> list[Row]:
    """Return all nodes, sorted by id."""
    return [node_row(found, now) for found in reading.below(paths.NODES) if found.problem is None]


def node_row(found: Found, now: float) -> Row:
    """Return the row of a node. A port that is no number may contain credentials of a container and is not shown."""
    document = found.document
    port = document.get("connection_port", document.get("ssh_port", DEFAULT_PORT))
    return {
        "id": found.name,
        "provider": document.get("provider"),
        "label": words(document.get("type")),
        "server_id": document.get("external_id"),
        "public_ipv4": document.get("public_ipv4"),
        "ipv6": document.get("public_ipv6"),
        "state": document.get("state"),
        "age": age_text(age(seconds(document.get("state_time")), now)),
        "locked": "locked" if found.locked else "unlocked",
        "pool": document.get("pool"),
        "hostname": document.get("hostname"),
        "private_ipv4": document.get("private_ipv4"),
        "AZ": document.get("az"),
        "username": document.get("username", "zuul"),
        "connection_port": port if whole(port) is not None else REDACTED,
        "launcher": document.get("launcher"),
        "allocated_to": document.get("allocated_to"),
        "hold_job": document.get("hold_job"),
        "comment": document.get("comment"),
        "user_data": document.get("user_data"),
        "driver_data": document.get("driver_data"),
    }


def request_rows(reading: TreeReading, _now: float) -> list[Row]:
    """Return all requests, sorted by id."""
    return [
        {
            "id": found.name,
            "relative_priority": found.document.get("relative_priority", 0),
            "state": found.document.get("state"),
            "requestor": found.document.get("requestor"),
            "node_types": words(found.document.get("node_types")),
            "nodes": words(found.document.get("nodes")),
            "declined_by": words(found.document.get("declined_by")),
            "event_id": found.document.get("event_id"),
        }
        for found in reading.below(paths.REQUESTS)
        if found.problem is None
    ]


def upload_rows(reading: TreeReading, _now: float) -> list[Row]:
    """Return all uploads, by image, build and provider. The age is the UNIX time of the last change of state."""
    return [
        {
            "id": build.id,
            "upload_id": upload.id,
            "provider": provider,
            "image": image,
            "external_name": upload.external_name,
            "external_id": upload.external_id,
            "state": upload.state or None,
            "age": whole(upload.state_time),
        }
        for image in reading.names(paths.IMAGES)
        for build in builds_of(reading, image)
        for provider, upload in uploads_of(reading, image, build.id, readable=True)
    ]


def build_rows(reading: TreeReading, _now: float) -> list[Row]:
    """Return all builds, by image; those of a paused image have "paused" instead of their state."""
    return [
        {
            "id": f"{image}-{build.id}",
            "image": image,
            "builder": build.builder,
            "formats": build.formats,
            "state": "paused" if _is_paused(reading, image) else build.state or None,
            "age": whole(build.state_time),
        }
        for image in reading.names(paths.IMAGES)
        for build in builds_of(reading, image, readable=True)
    ]


def image_rows(reading: TreeReading, _now: float) -> list[Row]:
    """Return all images with their flags."""
    return [_image_row(reading, image) for image in reading.names(paths.IMAGES)]


def _image_row(reading: TreeReading, image: str) -> Row:
    asked = reading.one(f"{paths.image(image)}/request-build")
    building = f"{paths.builds(image)}/{paths.LOCK}"
    busy = bool(reading.names(building)) and any(True for _build in builds_of(reading, image))
    return {
        "image": image,
        "paused": _is_paused(reading, image),
        "build_request": None if asked is None else "building" if busy else "pending",
        "build_request_age": None if asked is None else int(asked.written),
    }


def label_rows(reading: TreeReading, _now: float) -> list[Row]:
    """Return the labels of all registered pools."""
    pools = reading.below(f"{paths.COMPONENTS}/{ComponentKind.POOL}")
    labels = {label for pool in pools for label in words(pool.document.get("supported_labels"))}
    return [{"label": label} for label in sorted(labels)]


def _is_paused(reading: TreeReading, image: str) -> bool:
    return reading.one(f"{paths.image(image)}/pause") is not None


NODES = Listing(
    "/node-list",
    {
        "id": "ID",
        "provider": "Provider",
        "label": "Label",
        "server_id": "Server ID",
        "public_ipv4": "Public IPv4",
        "ipv6": "IPv6",
        "state": "State",
        "age": "Age",
        "locked": "Locked",
        "pool": "Pool",
        "hostname": "Hostname",
        "private_ipv4": "Private IPv4",
        "AZ": "AZ",
        "username": "Username",
        "connection_port": "Port",
        "launcher": "Launcher",
        "allocated_to": "Allocated To",
        "hold_job": "Hold Job",
        "comment": "Comment",
        "user_data": "User Data",
        "driver_data": "Driver Data",
    },
    node_rows,
    (paths.NODES,),
)
LISTINGS = (
    NODES,
    Listing(
        "/request-list",
        {
            "id": "Request ID",
            "relative_priority": "Priority",
            "state": "State",
            "requestor": "Requestor",
            "node_types": "Node Types",
            "nodes": "Nodes",
            "declined_by": "Declined By",
            "event_id": "Event ID",
        },
        request_rows,
        (paths.REQUESTS,),
    ),
    Listing(
        "/image-list",
        {
            "id": "Build ID",
            "upload_id": "Upload ID",
            "provider": "Provider",
            "image": "Image",
            "external_name": "Provider Image Name",
            "external_id": "Provider Image ID",
            "state": "State",
            "age": "Age",
        },
        upload_rows,
        (paths.IMAGES,),
    ),
    Listing(
        "/dib-image-list",
        {
            "id": "ID",
            "image": "Image",
            "builder": "Builder",
            "formats": "Formats",
            "state": "State",
            "age": "Age",
        },
        build_rows,
        (paths.IMAGES,),
    ),
    Listing(
        "/image-status",
        {
            "image": "Image",
            "paused": "Paused",
            "build_request": "Build Request",
            "build_request_age": "Build Request Age",
        },
        image_rows,
        (paths.IMAGES,),
    ),
    Listing("/label-list", {"label": "Label"}, label_rows, (paths.COMPONENTS,)),
)
