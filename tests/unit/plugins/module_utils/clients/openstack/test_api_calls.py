# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who wants to know hears of each call of a service, and can harm none."""

from __future__ import annotations

import pytest
import requests

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.api_names import ApiCall
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.call_counters import CallCounters
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.ratelimit import RateLimiter
from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.transport import Transport
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable

SERVERS = "/v2.1/servers/detail"
NONE: tuple[int, dict[str, list[str]]] = (200, {"servers": []})


@pytest.fixture(autouse=True)
def no_prefix(monkeypatch):
    monkeypatch.delenv("STATSD_PREFIX", raising=False)


def heard(make_client, text=None):
    calls: list[ApiCall] = []
    return make_client(text, told=calls.append), calls


def test_calls_of_services_are_told_and_tokens_are_not(cloud, make_client):
    cloud.on("GET", SERVERS, NONE)
    cloud.on("DELETE", "/v2.1/servers/s", (204, ""))
    cloud.on("GET", "/v3/0b1e3a527f0d4c539b0e0d1c2b3a4f5e/volumes/detail", (200, {"volumes": []}))
    client, calls = heard(make_client)
    client.list_servers()
    client.delete_server("s")
    client.list_volumes()
    assert cloud.tokens == 1
    assert [(call.name, call.status) for call in calls] == [
        ("openstack.api.compute.GET.servers_detail", 200),
        ("openstack.api.compute.DELETE.server", 204),
        ("openstack.api.block-storage.GET.volumes_detail", 200),
    ]
    assert all(call.seconds >= 0 for call in calls)


def test_what_failed_is_told_with_its_status_or_with_none(cloud, make_client):
    cloud.on("GET", SERVERS, (500, ""), requests.exceptions.ConnectionError("gone"))
    client, calls = heard(make_client)
    for _turn in range(2):
        with pytest.raises(CloudUnavailable):
            client.list_servers()
    assert [call.status for call in calls] == [500, None]


def test_each_token_that_was_not_accepted_cost_a_call(cloud, make_client):
    cloud.on("GET", SERVERS, NONE)
    client, calls = heard(make_client)
    client.list_servers()
    cloud.valid.clear()
    client.list_servers()
    assert [call.status for call in calls] == [200, 401, 200]


def test_a_call_without_an_answer_is_named_without_the_folders_of_its_service(cloud, make_client, service):
    """As openstacksdk does: it has the whole URL from the answer only."""
    cloud.catalog = [service("compute", "http://cloud.invalid/compute/v2.1")]
    cloud.on("DELETE", "/compute/v2.1/servers/s", (204, ""), requests.exceptions.ConnectionError("gone"))
    client, calls = heard(make_client)
    client.delete_server("s")
    with pytest.raises(CloudUnavailable):
        client.delete_server("s")
    assert [call.name for call in calls] == [
        "openstack.api.compute.DELETE.compute_server",
        "openstack.api.compute.DELETE.server",
    ]


def test_the_project_of_the_token_is_no_part_of_a_name(cloud, make_client, service):
    cloud.catalog = [service("compute", "http://nova.invalid/v2.1/proj")]
    cloud.on("GET", "/v2.1/proj/limits", (200, {"limits": {"absolute": {}}}))
    client, calls = heard(make_client)
    client.limits()
    assert [call.name for call in calls] == ["openstack.api.compute.GET.limits"]


def test_the_longer_of_two_endpoints_tells_the_service(cloud, make_client, service):
    cloud.catalog = [service("compute", "http://one.invalid/v2.1"), service("image", "http://one.invalid/v2.1/x/v2")]
    cloud.on("GET", SERVERS, NONE)
    cloud.on("DELETE", "/v2.1/x/v2/images/i", (204, ""))
    client, calls = heard(make_client)
    client.list_servers()
    client.delete_image("i")
    assert [call.name.split(".")[2] for call in calls] == ["compute", "image"]


def test_whoever_listens_and_fails_harms_no_call(cloud, make_client):
    def fail(call):
        raise RuntimeError(call.name)

    cloud.on("GET", SERVERS, NONE, (500, ""))
    client = make_client(told=fail)
    assert client.list_servers() == []
    with pytest.raises(CloudUnavailable):
        client.list_servers()
    assert client.counters.result()["GET /servers/detail"] == {"200": 1, "500": 1}


def test_waiting_for_the_rate_is_not_counted():
    now = [100.0]
    told = []

    def wait(seconds):
        now[0] += seconds

    class Quick(Transport):
        def _exchange(self, request, options, silence):
            now[0] += 0.25
            response = requests.Response()
            response.status_code = 200
            return response

    transport = Quick(RateLimiter(10.0, clock=lambda: now[0], sleeper=wait), CallCounters(), clock=lambda: now[0])
    transport.on_call = lambda *call: told.append(call)
    request = requests.Request("GET", "http://nova.invalid/v2.1/limits").prepare()
    for _turn in range(2):
        transport.send(request)
    assert now[0] > 109.0
    assert told == [("GET", "http://nova.invalid/v2.1/limits", 200, 0.25)] * 2


@pytest.mark.parametrize(
    ("entry", "of_file", "of_environment", "prefix"),
    [
        ("", "", "", "openstack.api"),
        ("", "", "site-a", "site-a"),
        ("east.api", "", "", "east.api"),
        ("east.api", "all", "site-a", "east.api"),
        ("", "all", "site-a", "site-a"),
        ("", "all", "", "all"),
    ],
)
def test_the_prefix_is_the_one_that_the_library_takes(
    cloud, make_client, clouds_yaml, monkeypatch, entry, of_file, of_environment, prefix
):
    text = clouds_yaml(**({"metrics": {"statsd": {"prefix": entry}}} if entry else {}))
    if of_file:
        text = text[:-1] + ', "metrics": {"statsd": {"prefix": "' + of_file + '"}}}'
    if of_environment:
        monkeypatch.setenv("STATSD_PREFIX", of_environment)
    cloud.on("GET", SERVERS, NONE)
    client, calls = heard(make_client, text)
    client.list_servers()
    assert [call.name for call in calls] == [f"{prefix}.compute.GET.servers_detail"]
