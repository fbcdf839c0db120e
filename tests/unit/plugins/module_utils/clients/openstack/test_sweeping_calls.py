# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls that only sweeping needs."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import FloatingIp, Image, Port, Volume
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudConflict,
    CloudNotFound,
    CloudRefused,
)

VOLUMES = "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e/volumes"
BORN = "2026-11-20T10:00:00Z"


def test_down_ports_are_asked_for_in_the_project_only(cloud, make_client) -> None:
    document = {
        "id": "p1",
        "device_id": "s1",
        "device_owner": "compute:az1",
        "network_id": "n1",
        "status": "DOWN",
        "fixed_ips": [{"ip_address": "10.0.0.9"}],
        "description": "",
        "created_at": BORN,
    }
    cloud.on("GET", "/v2.0/ports", (200, {"ports": [document]}))
    assert make_client().list_down_ports() == [
        Port("p1", "s1", "n1", ("10.0.0.9",), status="DOWN", device_owner="compute:az1", created=BORN)
    ]
    assert cloud.seen[-1].query["status"] == ["DOWN"]
    assert cloud.seen[-1].query["project_id"] == ["proj"]


def test_a_port_without_the_time_of_its_creation_is_listed_without(cloud, make_client) -> None:
    """Older neutrons do not tell it; the sweep then counts from its first look."""
    document = {"id": "p1", "device_id": "", "device_owner": "", "network_id": "n1", "status": "DOWN", "fixed_ips": []}
    cloud.on("GET", "/v2.0/ports", (200, {"ports": [document, {**document, "id": "p2", "created_at": BORN}]}))
    assert [(port.id, port.created) for port in make_client().list_down_ports()] == [("p1", None), ("p2", BORN)]


def test_floating_ips_tell_when_they_were_made(cloud, make_client) -> None:
    document = {"id": "f1", "floating_ip_address": "192.0.2.7", "status": "DOWN", "port_id": None, "created_at": BORN}
    cloud.on("GET", "/v2.0/floatingips", (200, {"floatingips": [{**document, "description": "mine"}]}))
    assert make_client().list_floating_ips() == [
        FloatingIp("f1", "192.0.2.7", "DOWN", None, "mine", created=BORN),
    ]


def test_volumes_with_their_servers(cloud, make_client) -> None:
    document = {
        "id": "v1",
        "name": "",
        "status": "in-use",
        "attachments": [{"server_id": "s1", "volume_id": "v1"}],
        "metadata": {"a": 1},
        "created_at": BORN,
    }
    cloud.on("GET", f"{VOLUMES}/detail", (200, {"volumes": [document]}))
    assert make_client().list_volumes() == [Volume("v1", "", "in-use", ("s1",), {"a": "1"}, BORN)]


def test_a_cloud_without_cinder_and_neutron_has_none_of_it(cloud, make_client) -> None:
    cloud.catalog[:] = [entry for entry in cloud.catalog if entry["type"] == "compute"]
    client = make_client()
    assert (client.list_volumes(), client.list_down_ports(), client.list_floating_ips()) == ([], [], [])


def test_own_images_with_their_properties(cloud, make_client) -> None:
    document = {"id": "i1", "name": "x-1", "status": "active", "nodepool_build_id": "b1", "created_at": BORN, "size": 3}
    cloud.on("GET", "/v2/images", (200, {"images": [document]}))
    (image,) = make_client().list_own_images()
    assert image == Image("i1", "x-1", "active", {"nodepool_build_id": "b1", "created_at": BORN}, BORN, 3)
    assert cloud.seen[-1].query["owner"] == ["proj"]


@pytest.mark.parametrize(
    ("verb", "path"),
    [("delete_port", "/v2.0/ports/x"), ("delete_image", "/v2/images/x"), ("delete_volume", f"{VOLUMES}/x")],
)
def test_deletions_tell_whether_it_was_there(cloud, make_client, verb, path) -> None:
    cloud.on("DELETE", path, (204, ""), (404, {"message": "x could not be found."}), (409, {"message": "in use"}))
    client = make_client()
    assert getattr(client, verb)("x") is True
    assert getattr(client, verb)("x") is False
    with pytest.raises(CloudConflict):
        getattr(client, verb)("x")


def test_force_delete_tells_a_missing_server_from_a_missing_action(cloud, make_client) -> None:
    action = "/v2.1/servers/s1/action"
    cloud.on(
        "POST",
        action,
        (202, ""),
        (404, {"itemNotFound": {"message": "Instance s1 could not be found.", "code": 404}}),
        (404, "<html><title>404</title><body>The resource could not be found.</body></html>"),
        (403, {"forbidden": {"message": "Policy doesn't allow it.", "code": 403}}),
    )
    client = make_client()
    assert client.force_delete_server("s1") is True
    assert cloud.seen[-1].body == {"forceDelete": None}
    assert client.force_delete_server("s1") is False
    for _unused in range(2):
        with pytest.raises(CloudRefused):
            client.force_delete_server("s1")


@pytest.mark.parametrize(
    "body",
    [
        {
            "message": "The resource could not be found.<br /><br />\n\n\n",
            "code": "404 Not Found",
            "title": "Not Found",
        },
        {"NeutronError": {"type": "HTTPNotFound", "message": "The resource could not be found.", "detail": ""}},
    ],
)
def test_neutron_without_routers_has_no_floating_ips(cloud, make_client, body) -> None:
    cloud.on("GET", "/v2.0/floatingips", (404, body), (404, "<html>Not Found</html>"))
    client = make_client()
    assert client.list_floating_ips() == []
    with pytest.raises(CloudNotFound):
        client.list_floating_ips()  # a page of a proxy says nothing about neutron
