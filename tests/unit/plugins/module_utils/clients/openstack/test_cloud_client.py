# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
import threading
from typing import Any

import pytest
import requests

from ansible_collections.stackci.nodepool.plugins.module_utils.model.bounded_text import LONGEST
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import FloatingIp, ServerSpec
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import (
    CloudAuthError,
    CloudNotFound,
    CloudQuotaRefused,
    CloudRefused,
    CloudTokenRefused,
    CloudUnavailable,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Resources

SERVERS = "/v2.1/servers/detail"
IMAGE_ID = "0b1e3a52-7f0d-4c53-9b0e-0d1c2b3a4f5e"


def test_a_start_costs_one_token_and_no_discovery(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    client = make_client()
    assert client.list_servers() == []
    assert client.list_servers() == []
    assert cloud.calls() == ["POST /v3/auth/tokens", f"GET {SERVERS}", f"GET {SERVERS}"]
    assert client.counters.result() == {
        "GET /servers/detail": {"200": 2},
        "POST /auth/tokens": {"201": 1},
    }


def test_every_call_tells_the_cloud_whose_it_is(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    make_client().list_servers()
    agents = [seen.headers["User-Agent"] for seen in cloud.seen]
    assert len(agents) == 2 and all(agent.startswith("stackci.nodepool") for agent in agents), agents


def test_a_start_with_an_unversioned_auth_url_needs_one_discovery(cloud, make_client, clouds_yaml) -> None:
    versions = [{"id": "v3.14", "status": "stable", "links": [{"rel": "self", "href": "http://keystone.invalid/v3/"}]}]
    cloud.on("GET", "/", (300, {"versions": {"values": versions}}))
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    make_client(clouds_yaml().replace("keystone.invalid/v3", "keystone.invalid")).list_servers()
    assert cloud.calls() == ["GET /", "POST /v3/auth/tokens", f"GET {SERVERS}"]


def test_two_regions_of_a_cloud_share_the_token_but_not_the_counters(cloud, make_client, service) -> None:
    cloud.catalog.append(service("compute", "http://nova2.invalid/v2.1", "RegionTwo"))
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    one, two = make_client(region="RegionOne"), make_client(region="RegionTwo")
    one.list_servers()
    two.list_servers()
    assert cloud.tokens == 1
    assert [seen.host for seen in cloud.seen] == ["keystone.invalid", "nova.invalid", "nova2.invalid"]
    assert (one.counters.total, two.counters.total) == (2, 1)


def test_a_rejected_token_is_replaced_once(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    client = make_client()
    client.list_servers()
    cloud.valid.clear()
    assert client.list_servers() == []
    assert cloud.tokens == 2
    assert client.counters.result()["GET /servers/detail"] == {"200": 2, "401": 1}


def test_many_threads_with_a_rejected_token_fetch_one_new_one(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    client = make_client(concurrency=8)
    client.list_servers()
    cloud.valid.clear()
    barrier = threading.Barrier(8)
    results: list[Any] = []

    def work() -> None:
        barrier.wait()
        results.append(client.list_servers())

    threads = [threading.Thread(target=work) for _unused in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == [[]] * 8
    assert cloud.tokens == 2


def test_a_token_that_is_rejected_again_is_an_error(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (401, {"error": {"message": "no"}}))
    with pytest.raises(CloudAuthError, match="GET /servers/detail was answered with 401"):
        make_client().list_servers()
    assert cloud.calls().count(f"GET {SERVERS}") == 2


def test_a_wrong_password_names_entry_and_file_but_not_the_password(cloud, make_client, clouds_yaml, tmp_path) -> None:
    client = make_client(clouds_yaml("wrong-password-1"))
    with pytest.raises(CloudAuthError) as caught:
        client.list_servers()
    text = str(caught.value)
    assert "entry 'east'" in text
    assert str(tmp_path / "clouds.yaml") in text
    assert "wrong-password-1" not in text
    assert cloud.calls() == ["POST /v3/auth/tokens"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("The password is expired and needs to be changed for user: 5c.", "(401: The password is expired and needs"),
        ("The account is locked for user: 5c.", "(401: The account is locked for user: 5c): correct its password"),
        ("The request you have made requires authentication.", "(401): correct its credentials (username, password"),
    ],
)
def test_a_login_that_is_refused_is_told_with_what_keystone_says_of_it(cloud, make_client, words: str, told: str):
    cloud.on("POST", "/v3/auth/tokens", (401, {"error": {"code": 401, "title": "Unauthorized", "message": words}}))
    with pytest.raises(CloudAuthError) as caught:
        make_client().list_servers()
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "retry_after"),
    [((429, "slow down", {"Retry-After": "9"}), 9.0), ((503, "<html><body>Down</body></html>"), None)],
)
def test_an_identity_service_in_trouble_is_unavailable_and_nothing_is_unclear(
    cloud, make_client, answer, retry_after
) -> None:
    cloud.on("POST", "/v3/auth/tokens", answer)
    with pytest.raises(CloudUnavailable) as caught:
        make_client().create_server(ServerSpec("np1", "i", "f", {}))
    assert (caught.value.unclear, caught.value.retry_after) == (False, retry_after)
    assert caught.value.call == "POST /auth/tokens"


def test_those_who_wait_for_a_token_share_its_failure(cloud, make_client) -> None:
    waiting = threading.Barrier(6)

    def fail(_seen: Any) -> Any:
        # All the others are asking by now; the fake answers one request at a time.
        waiting.wait(20)
        release.wait(1)
        return requests.exceptions.ReadTimeout("silence")

    release = threading.Event()
    cloud.on("POST", "/v3/auth/tokens", fail, (401, {}))
    client = make_client(concurrency=8)
    errors: list[Exception] = []

    def work(first: bool) -> None:
        if not first:
            waiting.wait(20)
        try:
            client.list_servers()
        except Exception as problem:
            errors.append(problem)

    threads = [threading.Thread(target=work, args=(number == 0,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert [type(problem) for problem in errors] == [CloudUnavailable] * 6
    assert cloud.calls() == ["POST /v3/auth/tokens"]


def test_a_nova_without_embedded_flavors_is_asked_for_them_once(cloud, make_client) -> None:
    def listing(seen: Any) -> Any:
        if "X-OpenStack-Nova-API-Version" in seen.headers:
            return 406, {"computeFault": {"message": "Version 2.47 is not supported by the API."}}
        return 200, {"servers": [{"id": "1", "flavor": {"id": "f"}}, {"id": "2", "flavor": {"id": "gone"}}]}

    cloud.on("GET", SERVERS, listing)
    flavor = {"id": "f", "name": "m1", "vcpus": 2, "ram": 4096}
    cloud.on("GET", "/v2.1/flavors/detail", (200, {"flavors": [flavor]}))
    client = make_client()
    for _unused in range(3):
        first, second = client.list_servers()
        assert first.resources == Resources({"instances": 1, "cores": 2, "ram": 4096})
        assert second.resources == Resources({"instances": 1})
    assert cloud.calls().count(f"GET {SERVERS}") == 4
    assert cloud.calls().count("GET /v2.1/flavors/detail") == 1


def test_the_listing_asks_for_embedded_flavors_and_for_changes(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (200, {"servers": []}))
    make_client().list_servers("2026-11-20T12:00:00Z")
    assert cloud.seen[-1].headers["OpenStack-API-Version"] == "compute 2.47"
    assert cloud.seen[-1].query == {"changes-since": ["2026-11-20T12:00:00Z"], "limit": ["1000"]}


def test_a_create_carries_no_microversion(cloud, make_client) -> None:
    cloud.on("POST", "/v2.1/servers", (202, {"server": {"id": "s9"}}))
    assert make_client().create_server(ServerSpec("np1", "i", "f", {"a": "b"})) == "s9"
    assert "OpenStack-API-Version" not in cloud.seen[-1].headers
    assert cloud.seen[-1].body["server"]["metadata"] == {"a": "b"}


def test_metadata_may_have_any_key(cloud, make_client) -> None:
    """Keys that are names of methods were an error of an older library."""
    metadata = dict.fromkeys(("key", "delete", "clear", "items", "id", "location", "name", "metadata"), "x")
    cloud.on("POST", "/v2.1/servers", (202, {"server": {"id": "s9"}}))
    cloud.on("GET", SERVERS, (200, {"servers": [{"id": "s9", "metadata": metadata}]}))
    client = make_client()
    client.create_server(ServerSpec("np1", "i", "f", metadata))
    assert cloud.seen[-1].body["server"]["metadata"] == metadata
    (server,) = client.list_servers()
    assert dict(server.metadata) == metadata


@pytest.mark.parametrize(
    ("answer", "kind", "unclear"),
    [
        ((403, {"forbidden": {"message": "Quota exceeded for cores: Requested 1"}}), CloudQuotaRefused, False),
        ((400, {"badRequest": {"message": "no"}}), CloudRefused, False),
        ((500, "<html><body>Oops</body></html>"), CloudUnavailable, True),
        ((202, "{broken"), CloudUnavailable, True),
        ((202, "[]"), CloudUnavailable, True),
        ((202, {"server": {}}), CloudUnavailable, True),
        ((202, {"server": None}), CloudUnavailable, True),
        (requests.exceptions.ReadTimeout("silence"), CloudUnavailable, True),
        (requests.exceptions.ConnectionError("Connection reset by peer"), CloudUnavailable, True),
        (requests.exceptions.ChunkedEncodingError("cut"), CloudUnavailable, True),
        (requests.exceptions.ConnectTimeout("nobody there"), CloudUnavailable, False),
        (requests.exceptions.SSLError("bad certificate"), CloudUnavailable, False),
    ],
)
def test_a_create_that_fails_says_whether_it_may_have_worked(cloud, make_client, answer, kind, unclear) -> None:
    cloud.on("POST", "/v2.1/servers", answer)
    with pytest.raises(kind) as caught:
        make_client().create_server(ServerSpec("np1", "i", "f", {}))
    assert caught.value.unclear is unclear
    assert caught.value.call == "POST /servers"
    assert caught.value.provider == "p1"


def test_calls_without_an_answer_are_counted_by_what_happened(cloud, make_client) -> None:
    cloud.on(
        "GET",
        SERVERS,
        requests.exceptions.ReadTimeout("x"),
        requests.exceptions.ConnectTimeout("x"),
        requests.exceptions.ConnectionError("x"),
        (429, "", {"Retry-After": "3"}),
    )
    client = make_client()
    for _unused in range(4):
        with pytest.raises(CloudUnavailable):
            client.list_servers()
    counted = client.counters.result()["GET /servers/detail"]
    assert counted == {"timeout": 1, "no-connection": 1, "reset": 1, "429": 1}
    assert client.counters.running == 0


def test_deleting_what_is_gone_is_no_error(cloud, make_client) -> None:
    cloud.on("DELETE", "/v2.1/servers/s1", (204, ""), (404, {"itemNotFound": {"message": "gone"}}))
    cloud.on("DELETE", "/v2.0/floatingips/f1", (404, {"NeutronError": {"type": "FloatingIPNotFound"}}))
    client = make_client()
    assert client.delete_server("s1")
    assert not client.delete_server("s1")
    assert not client.delete_floating_ip("f1")


def test_limits_of_all_services_come_together(cloud, make_client) -> None:
    nova = {"maxTotalInstances": 10, "maxTotalCores": -1, "maxTotalRAMSize": 1024, "totalInstancesUsed": 2}
    cinder = {"maxTotalVolumes": 5, "maxTotalVolumeGigabytes": -1, "totalVolumesUsed": 1, "totalGigabytesUsed": 50}
    quota = {"port": {"limit": 7, "used": 3}, "floatingip": {"limit": 2, "used": 1}}
    cloud.on("GET", "/v2.1/limits", (200, {"limits": {"absolute": nova}}))
    cloud.on("GET", "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e/limits", (200, {"limits": {"absolute": cinder}}))
    cloud.on("GET", "/v2.0/quotas/proj/details.json", (200, {"quota": quota}), (404, ""))
    client = make_client()
    limits = client.limits(volumes=True, network=True)
    assert dict(limits.bounds) == {"instances": 10, "ram": 1024, "volumes": 5, "ports": 7, "floating-ips": 2}
    assert limits.bounds["cores"] == math.inf
    assert dict(limits.used) == {"instances": 2, "volumes": 1, "volume-gb": 50, "ports": 3, "floating-ips": 1}
    assert dict(client.limits(network=True).bounds) == {"instances": 10, "ram": 1024}
    assert dict(client.limits().bounds) == {"instances": 10, "ram": 1024}
    assert cloud.calls().count("GET /v2.1/limits") == 3


def test_a_cloud_without_cinder_and_neutron_is_fine(cloud, make_client) -> None:
    cloud.catalog = cloud.catalog[:1]
    cloud.on("GET", "/v2.1/limits", (200, {"limits": {"absolute": {"maxTotalInstances": 1}}}))
    client = make_client()
    limits = client.limits(volumes=True, network=True)
    assert dict(limits.bounds) == {"instances": 1} and not limits.asks_neutron
    assert client.list_networks() == []


def test_servers_without_a_status_are_told_until_they_have_one(cloud, make_client) -> None:
    cloud.on(
        "GET",
        "/v2.1/servers/detail",
        (200, {"servers": [{"id": "1", "status": None}, {"id": "2", "status": "ACTIVE"}]}),
        (200, {"servers": [{"id": "1", "status": "ACTIVE"}]}),
    )
    client = make_client()
    assert [server.status for server in client.list_servers()] == ["UNKNOWN", "ACTIVE"]
    assert any("1 of 2 servers has no status" in text for text in client.remarks().values())
    client.list_servers()
    assert not any("status" in text for text in client.remarks().values())


@pytest.mark.parametrize("body", ["<html>maintenance</html>", '{"flavors": null}', '{"flavors": [{"id": "1"}]}', ""])
def test_an_answer_that_makes_no_sense_is_told_from_none(cloud, make_client, body: str) -> None:
    """What decides how soon the call is made again is that there was an answer."""
    cloud.on("GET", "/v2.1/flavors/detail", (200, body))
    with pytest.raises(CloudUnavailable) as caught:
        make_client().list_flavors()
    assert caught.value.status == 200


def test_a_region_that_the_catalog_does_not_know_is_a_clear_error(make_client) -> None:
    with pytest.raises(CloudAuthError, match="no service 'compute' in region 'Elsewhere'"):
        make_client(region="Elsewhere").list_servers()


@pytest.mark.parametrize(
    ("options", "text", "remedy"),
    [
        ({"region": "Elsewhere"}, {}, "region_name of the entry"),
        ({}, {"region_name": "Elsewhere"}, "region_name of the entry"),
        ({}, {"region_name": "RegionOne", "interface": "privat"}, "interface or region_name of the entry"),
    ],
)
def test_both_places_that_may_name_what_the_catalog_lacks_are_told(
    make_client, clouds_yaml, options, text, remedy
) -> None:
    with pytest.raises(CloudAuthError, match=f": correct region-name of the provider, or {remedy}$") as caught:
        make_client(clouds_yaml(**text), **options).list_servers()
    assert ("and interface 'privat'" in str(caught.value)) == ("interface" in text)


def test_a_login_that_is_answered_with_something_else_is_told_as_such(cloud, make_client) -> None:
    cloud.on("POST", "/v3/auth/tokens", (200, "<html>please log in to the hotel</html>"))
    with pytest.raises(CloudUnavailable) as caught:
        make_client().list_servers()
    assert str(caught.value) == (
        "provider p1: POST /auth/tokens: its answer is not JSON: check that this is the identity service"
    )


def test_a_call_for_want_of_a_token_is_not_blamed(cloud, make_client) -> None:
    broken = requests.exceptions.ConnectionError("it broke")
    cloud.on("POST", "/v3/auth/tokens", broken)
    with pytest.raises(
        CloudUnavailable, match=r"^provider p1: POST /auth/tokens: the connection broke \(it broke\)$"
    ) as caught:
        make_client().delete_server("5")
    assert not caught.value.unclear


@pytest.mark.parametrize(("status", "said"), [(404, "(HTTP 404)"), (401, " it answers 401 without a login")])
def test_an_auth_url_that_leads_elsewhere_is_told_with_its_place(cloud, make_client, clouds_yaml, status, said) -> None:
    cloud.on("GET", "/identity", (status, "<html>nothing here</html>"))
    with pytest.raises(CloudUnavailable) as caught:
        make_client(clouds_yaml().replace("/v3", "/identity")).list_servers()
    text = str(caught.value)
    assert "auth_url of entry 'east' in " in text
    assert "does not lead to an identity service" in text
    assert f"{said}: correct it, or check that the cloud is up" in text
    assert not caught.value.unclear


def test_an_image_is_found_by_id_or_by_exact_name(cloud, make_client) -> None:
    image = {"id": IMAGE_ID, "name": "debian", "status": "active"}
    cloud.on("GET", f"/v2/images/{IMAGE_ID}", (200, image), (404, ""))
    cloud.on("GET", "/v2/images", (200, {"images": [image]}), (200, {"images": []}))
    client = make_client()
    assert [found.name for found in client.images_named(IMAGE_ID)] == ["debian"]
    assert [found.id for found in client.images_named("debian")] == [IMAGE_ID]
    assert cloud.seen[-1].query["name"] == ["debian"]
    assert client.images_named(IMAGE_ID) == []


def test_without_an_active_image_those_that_glance_does_not_list_are_found_too(cloud, make_client) -> None:
    def answer(seen: Any) -> Any:
        if "os_hidden" in seen.query:
            return 200, {"images": [{"id": "b", "name": "debian", "status": "active"}]}
        if "visibility" in seen.query:
            return 400, "unknown filter"
        return 200, {"images": [{"id": "a", "name": "debian", "status": "deactivated"}]}

    cloud.on("GET", "/v2/images", answer)
    found = make_client().images_named("debian")
    assert [(image.id, image.status, image.unlisted) for image in found] == [
        ("a", "deactivated", ""),
        ("b", "active", "hidden"),
    ]


def test_an_image_with_a_name_in_other_case_is_another_image(cloud, make_client) -> None:
    """glance asks its database, which may take no notice of the case of letters."""

    def answer(seen: Any) -> Any:
        if "os_hidden" in seen.query:
            return 200, {"images": [{"id": "b", "name": "debian", "status": "active"}]}
        return 200, {"images": [{"id": "a", "name": "Debian", "status": "active"}]}

    cloud.on("GET", "/v2/images", answer)
    client = make_client()
    assert [(image.id, image.unlisted) for image in client.images_named("debian")] == [("b", "hidden")]
    assert [(image.id, image.unlisted) for image in client.images_named("Debian")] == [("a", "")]


def test_ports_of_many_servers_take_one_call_per_hundred(cloud, make_client) -> None:
    def listing(seen: Any) -> Any:
        made = [{"id": f"p{one}", "device_id": one, "network_id": "n"} for one in seen.query["device_id"]]
        return 200, {"ports": made}

    cloud.on("GET", "/v2.0/ports", listing)
    client = make_client()
    ids = [str(number) for number in range(250)]
    assert [port.server_id for port in client.list_ports(ids)] == ids
    assert cloud.calls().count("GET /v2.0/ports") == 3
    assert client.list_ports([]) == []


def test_a_floating_ip_is_created_bound_and_described(cloud, make_client) -> None:
    made = {"id": "f", "floating_ip_address": "203.0.114.1", "status": "DOWN", "port_id": "p", "description": "mark"}
    cloud.on("POST", "/v2.0/floatingips", (201, {"floatingip": made}))
    found = make_client().create_floating_ip("net", "p", "10.0.0.1", "mark")
    assert found == FloatingIp("f", "203.0.114.1", "DOWN", "p", "mark")
    assert cloud.seen[-1].body == {
        "floatingip": {
            "floating_network_id": "net",
            "port_id": "p",
            "fixed_ip_address": "10.0.0.1",
            "description": "mark",
        }
    }


def test_zones_that_are_not_available_are_left_out(cloud, make_client) -> None:
    zones = [
        {"zoneName": "a", "zoneState": {"available": True}},
        {"zoneName": "b", "zoneState": {"available": False}},
    ]
    cloud.on("GET", "/v2.1/os-availability-zone", (200, {"availabilityZoneInfo": zones}), (403, {}), (500, ""))
    client = make_client()
    assert client.availability_zones() == ["a"]
    assert client.availability_zones() == []
    with pytest.raises(CloudUnavailable):
        client.availability_zones()


def test_the_console_is_asked_for_its_last_lines(cloud, make_client) -> None:
    output = "\x1b[1mboot\x1b[0m\r\n\n" + "x" * 600_000 + " end\n"
    cloud.on("POST", "/v2.1/servers/s/action", (200, {"output": output}), (200, {"output": None}), (404, ""))
    client = make_client()
    first, long = client.console_log("s", 20)
    assert first == "boot"
    assert len(long.encode()) <= LONGEST and long.endswith("x end")
    assert cloud.seen[-1].body == {"os-getConsoleOutput": {"length": 20}}
    assert client.console_log("s") == []
    assert client.console_log("s") is None


def test_a_secret_that_the_cloud_echoes_is_not_in_the_message(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (400, {"badRequest": {"message": "you said sesame-42-open"}}))
    with pytest.raises(CloudRefused) as caught:
        make_client().list_servers()
    assert "sesame-42-open" not in str(caught.value)


def test_not_found_where_something_must_be_is_passed_on(cloud, make_client) -> None:
    cloud.on("GET", SERVERS, (404, "<html><body>Not here</body></html>"))
    with pytest.raises(CloudNotFound, match="Not here"):
        make_client().list_servers()


def test_a_service_that_refuses_a_new_token_is_told_and_not_the_password(cloud, make_client) -> None:
    cloud.on("GET", "/v2.1/limits", (401, {"error": {"code": 401, "message": "requires authentication"}}))
    with pytest.raises(CloudAuthError) as caught:
        make_client().limits()
    assert "keystone accepts the login of entry 'east'" in str(caught.value)
    assert "nova refuses its token" in str(caught.value)
    assert isinstance(caught.value, CloudTokenRefused), "the account is right"
    assert cloud.tokens == 2


def test_what_a_proxy_answers_itself_is_not_the_answer_of_the_cloud(cloud, make_client) -> None:
    page = "<html><body>Access Denied</body></html>"
    cloud.on("GET", "/v2.1/limits", (407, page), (503, page, {"X-Squid-Error": "ERR_CONNECT_FAIL 111"}))
    client = make_client()
    for words in ("407 by the proxy on the way to the cloud", "ERR_CONNECT_FAIL 111"):
        with pytest.raises(CloudUnavailable) as caught:
            client.limits()
        assert words in str(caught.value) and "check http_proxy" in str(caught.value)
