# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever a cloud answers to a call, the client returns a value or raises a CloudError."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack import login
from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import LONGEST, is_printable
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import CloudLimits, ImageSpec, ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudError


def whole(limits: CloudLimits) -> CloudLimits:
    """The limits; the error of the other service, where its part is missing."""
    for error in limits.lacks:
        raise error
    return limits


LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just("x" * 10_000)
    | st.sampled_from(
        ["-1", "many", "2026-11-20T12:00:00Z", "\x1b[1m", "a\n<3>b", "\u202ea", "\u200b", "\u3164", "\ud800"]
    )
    | st.sampled_from([10**400, -(10**30), "9" * 5000])
)
ANY = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
BODIES = ("", "null", "[]", "7", "<html><body>maintenance</body></html>", '{"servers": [', "[" * 100_000, "\x00", '"x"')
SERVER = {
    "id": "s1",
    "name": "np1",
    "status": "ACTIVE",
    "metadata": {"groups": "a"},
    "addresses": {"net": [{"addr": "10.0.0.5", "version": 4, "OS-EXT-IPS:type": "fixed"}]},
    "os-extended-volumes:volumes_attached": [{"id": "v1"}],
    "flavor": {"vcpus": 2, "ram": 4096},
    "fault": {"message": "No valid host", "code": 500},
    "created": "2026-11-20T11:59:00Z",
}
IMAGE = {"id": "i", "name": "n", "status": "active", "size": 3, "created_at": "2026-11-20T11:59:00Z"}
LIMITS = {"limits": {"absolute": {"maxTotalCores": 9, "totalCoresUsed": 1, "maxTotalVolumes": 3}}}
QUOTA = {"quota": {"port": {"limit": 5, "used": 1}, "floatingip": {"limit": 5, "used": 1}}}
PORT = {"id": "p", "device_id": "s", "network_id": "n", "fixed_ips": [{"ip_address": "10.0.0.1"}]}
FLOATING = {"id": "f", "floating_ip_address": "203.0.114.1", "status": "DOWN", "port_id": None}
VOLUME = {"id": "v", "name": "", "attachments": [{"server_id": "s"}], "metadata": {}}
V = "/v2.1"
CALLS: dict[str, tuple[str, str, Any, Callable[[Any], Any]]] = {
    "list_servers": ("GET", f"{V}/servers/detail", {"servers": [SERVER]}, lambda c: c.list_servers()),
    "get_server": ("GET", f"{V}/servers/s1", {"server": SERVER}, lambda c: c.get_server("s1")),
    "create": (
        "POST",
        f"{V}/servers",
        {"server": {"id": "s1"}},
        lambda c: c.create_server(ServerSpec("np1", "i", "f", {})),
    ),
    "console": ("POST", f"{V}/servers/s1/action", {"output": "x"}, lambda c: c.console_log("s1", 3)),
    "delete": ("DELETE", f"{V}/servers/s1", None, lambda c: c.delete_server("s1")),
    "flavors": (
        "GET",
        f"{V}/flavors/detail",
        {"flavors": [{"id": "1", "name": "a", "vcpus": 1, "ram": 512, "disk": 1}]},
        lambda c: c.list_flavors(),
    ),
    "zones": (
        "GET",
        f"{V}/os-availability-zone",
        {"availabilityZoneInfo": [{"zoneName": "a", "zoneState": {"available": True}}]},
        lambda c: c.availability_zones(),
    ),
    "keypairs": ("GET", f"{V}/os-keypairs", {"keypairs": [{"keypair": {"name": "k"}}]}, lambda c: c.list_keypairs()),
    "limits": ("GET", f"{V}/limits", LIMITS, lambda c: c.limits()),
    "volume_limits": (
        "GET",
        "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e/limits",
        LIMITS,
        lambda c: whole(c.limits(volumes=True)),
    ),
    "quota": ("GET", "/v2.0/quotas/proj/details.json", QUOTA, lambda c: whole(c.limits(network=True))),
    "images": ("GET", "/v2/images", {"images": [IMAGE]}, lambda c: c.images_named("n")),
    "image_names": ("GET", "/v2/images", {"images": [IMAGE]}, lambda c: c.image_names()),
    "own_images": ("GET", "/v2/images", {"images": [IMAGE]}, lambda c: c.images.find({"a": "b"})),
    "image": ("GET", "/v2/images/i", IMAGE, lambda c: c.images.get("i")),
    "create_image": ("POST", "/v2/images", {"id": "i"}, lambda c: c.images.create(ImageSpec("n", "raw"))),
    "networks": ("GET", "/v2.0/networks", {"networks": [{"id": "n", "name": "a"}]}, lambda c: c.list_networks()),
    "groups": (
        "GET",
        "/v2.0/security-groups",
        {"security_groups": [{"id": "g", "name": "a"}]},
        lambda c: c.list_security_groups(),
    ),
    "ports": ("GET", "/v2.0/ports", {"ports": [PORT]}, lambda c: c.list_ports(["s"])),
    "floating_ips": ("GET", "/v2.0/floatingips", {"floatingips": [FLOATING]}, lambda c: c.list_floating_ips()),
    "create_floating_ip": (
        "POST",
        "/v2.0/floatingips",
        {"floatingip": FLOATING},
        lambda c: c.create_floating_ip("n", "p", None, "m"),
    ),
    "volumes": (
        "GET",
        "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e/volumes/detail",
        {"volumes": [VOLUME]},
        lambda c: c.list_volumes(),
    ),
}
UnknownUrlError = KeyError
PATIENT = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def places(document: Any) -> list[tuple[Any, ...]]:
    """All paths in a document, the empty one included."""
    children: Any = ()
    if isinstance(document, dict):
        children = document.items()
    elif isinstance(document, list):
        children = enumerate(document)
    return [(), *((key, *path) for key, child in children for path in places(child))]


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    document = copy.deepcopy(document)
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return document


def texts(value: Any) -> Iterator[str]:
    """All texts in what a call returned."""
    if isinstance(value, str):
        yield value
    elif is_dataclass(value):
        for item in fields(value):
            yield from texts(getattr(value, item.name))
    elif isinstance(value, Mapping):
        for pair in value.items():
            yield from texts(list(pair))
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from texts(item)


def harmless(call: Callable[[Any], Any], client: Any) -> str:
    """Like :func:`told`; checks what the call returns."""

    def checked() -> None:
        for text in texts(call(client)):
            assert is_printable(text) and len(text) <= LONGEST

    return told(checked)


def told(call: Callable[[], Any]) -> str:
    """The text of the CloudError that a call raises; "" when it raises none."""
    try:
        call()
    except CloudError as error:
        return str(error)
    return ""


@pytest.fixture
def client(make_client) -> Any:
    """One client for all examples: to read clouds.yaml takes longer than a call."""
    return make_client()


@pytest.fixture(autouse=True)
def clear_cloud(cloud) -> None:
    cloud.on("GET", f"{V}/limits", (200, LIMITS))
    cloud.on("GET", f"{V}/flavors/detail", (200, {"flavors": []}))


@pytest.mark.parametrize("name", CALLS)
@given(st.data())
@PATIENT
def test_any_value_at_any_place_of_any_answer(cloud, client, name: str, data) -> None:
    method, path, document, call = CALLS[name]
    place = data.draw(st.sampled_from(places(document)))
    cloud.on(method, path, (200, json.dumps(changed(document, place, data.draw(ANY)))))
    said = harmless(call, client)
    assert "Error:" not in said
    assert is_printable(said)
    assert all(map(is_printable, texts(client.remarks())))


@pytest.mark.parametrize("name", CALLS)
def test_any_body(cloud, make_client, name: str) -> None:
    method, path, document, call = CALLS[name]
    client = make_client()
    for status in (200, 400, 404, 500):
        for body in BODIES:
            cloud.on(method, path, (status, body))
            assert told(lambda: call(client)) or status in (403, 404) or document is None


@given(st.data())
@settings(PATIENT, max_examples=60)
def test_any_value_at_any_place_of_the_token(cloud, make_client, monkeypatch, data) -> None:
    monkeypatch.setattr(login, "_logins", {})

    def token(seen):
        status, document, headers = cloud._token(seen)
        place = data.draw(st.sampled_from(places(document)))
        return status, json.dumps(changed(document, place, data.draw(ANY))), headers

    cloud.on("POST", "/v3/auth/tokens", token)
    # The fake cloud knows no other URLs than its own.
    with suppress(CloudError, UnknownUrlError):
        make_client().limits(volumes=True)


@pytest.mark.parametrize("body", BODIES)
def test_any_body_of_the_token(cloud, make_client, body: str) -> None:
    cloud.on("POST", "/v3/auth/tokens", (201, body, {"X-Subject-Token": "t"}))
    with pytest.raises(CloudError):
        make_client().limits()


def test_a_null_in_the_limits_is_told_in_our_words(cloud, make_client) -> None:
    cloud.on("GET", f"{V}/limits", (200, {"limits": {"absolute": {"maxTotalCores": None}}}))
    with pytest.raises(CloudError) as caught:
        make_client().limits()
    assert str(caught.value) == "provider p1: GET /limits: maxTotalCores is null where a number belongs"


def test_a_broken_server_among_others_is_told_and_keeps_its_id(cloud, make_client) -> None:
    broken = {**SERVER, "id": "s2", "status": None, "addresses": [7], "metadata": "x", "flavor": {"vcpus": None}}
    cloud.on("GET", f"{V}/servers/detail", (200, {"servers": [SERVER, broken, {"name": "no id"}]}))
    client = make_client()
    assert [(server.id, server.status) for server in client.list_servers()] == [("s1", "ACTIVE"), ("s2", "UNKNOWN")]
    assert client.remarks()["GET /servers/detail"] == (
        "GET /servers/detail: 1 of 3 servers cannot be read and are ignored (id is missing)"
    )
    cloud.on("GET", f"{V}/servers/detail", (200, {"servers": [SERVER]}))
    client.list_servers()
    assert "GET /servers/detail" not in client.remarks()
