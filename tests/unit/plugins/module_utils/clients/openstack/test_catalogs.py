# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that the catalog of a token lacks, or has elsewhere, and catalogs that cannot be read."""

from __future__ import annotations

import contextlib

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError, CloudUnavailable


def test_names_of_networks_cannot_be_looked_up_without_neutron(cloud, make_client) -> None:
    cloud.catalog = cloud.catalog[:1]
    with pytest.raises(CloudAuthError, match="no service 'network' in region"):
        make_client().list_networks(needed=True)


def test_a_service_that_the_catalog_gets_later_is_found_with_the_next_token(cloud, make_client, monkeypatch) -> None:
    """A token keeps its catalog, and lives for hours."""
    later, now = cloud.catalog, [1000.0]
    cloud.catalog = later[1:]
    cloud.on("GET", "/v2.1/flavors/detail", (200, {"flavors": []}))
    client = make_client()
    client._rest._login._clock = lambda: now[0]
    for _try in range(10):
        with pytest.raises(CloudAuthError, match="no service 'compute'"):
            client.list_flavors()
    assert cloud.tokens <= 2, "no login for each try"
    cloud.catalog = later
    now[0] += 60.0
    with pytest.raises(CloudAuthError):
        client.list_flavors()
    assert client.list_flavors() == []


@pytest.mark.parametrize("catalog", [None, 5, [{"type": "compute", "endpoints": None}], [None]])
def test_a_catalog_that_cannot_be_read_is_told_in_our_words_and_read_anew(cloud, make_client, catalog) -> None:
    good, now = cloud.catalog, [1000.0]
    cloud.catalog = catalog
    cloud.on("GET", "/v2.1/flavors/detail", (200, {"flavors": []}))
    client = make_client()
    client._rest._login._clock = lambda: now[0]
    with pytest.raises(CloudUnavailable) as caught:
        client.list_flavors()
    assert "Error" not in str(caught.value) and "check auth_url" in str(caught.value)
    cloud.catalog = good
    for _try in range(2):
        now[0] += 60.0
        with contextlib.suppress(CloudUnavailable):
            client.list_flavors()
    assert client.list_flavors() == []


def test_a_service_that_moves_is_called_at_its_new_place_with_the_next_token(cloud, make_client) -> None:
    for path in ("/v2.1", "/new/v2.1"):
        cloud.on("GET", f"{path}/flavors/detail", (200, {"flavors": []}))
    client = make_client()
    client.list_flavors()
    cloud.catalog = [{**cloud.catalog[0]}, *cloud.catalog[1:]]
    cloud.catalog[0]["endpoints"] = [
        {**one, "url": one["url"].replace("/v2.1", "/new/v2.1")} for one in cloud.catalog[0]["endpoints"]
    ]
    client._rest._login._access = None
    client.list_flavors()
    assert [call for call in cloud.calls() if "flavors" in call] == [
        "GET /v2.1/flavors/detail",
        "GET /new/v2.1/flavors/detail",
    ]


@pytest.mark.parametrize("end", ["", "/", "/v2.0", "/v2.0/", "/networking", "/networking/v2.0/"])
def test_each_form_of_an_endpoint_leads_to_the_same_version(cloud, make_client, service, end) -> None:
    folder = "/networking" if "networking" in end else ""
    cloud.catalog = [service("network", f"http://neutron.invalid{end}"), *cloud.catalog[:1]]
    cloud.on("GET", f"{folder}/v2.0/networks", (200, {"networks": []}))
    assert make_client().list_networks(needed=True) == []
    assert cloud.calls() == ["POST /v3/auth/tokens", f"GET {folder}/v2.0/networks"], "versions are not asked for"


@pytest.mark.parametrize("interface", [["internal", "public"], ["public", "internal"], ["admin", "public"]])
def test_an_entry_may_name_several_interfaces(cloud, make_client, clouds_yaml, service, interface) -> None:
    """The first of them that the catalog has is the one to call."""
    internal = service("compute", "http://inside.invalid/v2.1")
    internal["endpoints"][0]["interface"] = "internal"
    nova = {**cloud.catalog[0], "endpoints": [*cloud.catalog[0]["endpoints"], *internal["endpoints"]]}
    cloud.catalog = [nova, *cloud.catalog[1:]]
    cloud.on("GET", "/v2.1/flavors/detail", (200, {"flavors": []}))
    assert make_client(clouds_yaml(interface=interface)).list_flavors() == []
    assert cloud.seen[-1].host == ("inside.invalid" if interface[0] == "internal" else "nova.invalid")


def test_interfaces_that_the_catalog_has_none_of_are_all_told(cloud, make_client, clouds_yaml) -> None:
    with pytest.raises(CloudAuthError, match="and interface 'internal' or 'admin' for"):
        make_client(clouds_yaml(interface=["internal", "admin"])).list_flavors()


def test_an_interface_that_is_no_text_is_told(cloud, make_client, clouds_yaml) -> None:
    with pytest.raises(CloudAuthError, match="'interface' is a number where a text belongs"):
        make_client(clouds_yaml(interface=["internal", 5]))


def test_an_endpoint_of_the_entry_is_called_instead_of_that_of_the_catalog(cloud, make_client, clouds_yaml) -> None:
    cloud.on("GET", "/nova/v2.1/flavors/detail", (200, {"flavors": []}))
    entry = clouds_yaml(compute_endpoint_override="http://gate.invalid/nova/v2.1")
    assert make_client(entry).list_flavors() == []
    assert cloud.seen[-1].host == "gate.invalid"


@pytest.mark.parametrize(
    ("region", "interface", "words"),
    [
        (
            "regionone",
            "public",
            "; it has it in region 'RegionOne', 'RegionTwo': correct region-name of the",
        ),
        (
            "RegionOne",
            "admin",
            "interface 'admin' for .*; it has it there with interface 'public' alone: .* interface",
        ),
        (
            "RegionTwo",
            "public",
            "interface 'public' for .*; it has it there with interface 'internal' alone: .* interf",
        ),
    ],
)
def test_where_the_catalog_has_a_service_that_is_not_found_is_told(
    cloud, make_client, clouds_yaml, service, region, interface, words
) -> None:
    two = service("compute", "http://two.invalid/v2.1", "RegionTwo")["endpoints"][0]
    nova = {**cloud.catalog[0], "endpoints": [*cloud.catalog[0]["endpoints"], {**two, "interface": "internal"}]}
    cloud.catalog = [nova, *cloud.catalog[1:]]
    with pytest.raises(CloudAuthError, match=words):
        make_client(clouds_yaml(interface=interface, region_name=region)).list_flavors()


@pytest.mark.parametrize("region", ["", "RegionTwo"])
def test_an_entry_without_a_region_where_there_are_several_is_told(
    cloud, make_client, clouds_yaml, service, region
) -> None:
    other = service("compute", "http://two.invalid/v2.1", "RegionTwo")["endpoints"]
    cloud.catalog = [{**cloud.catalog[0], "endpoints": [*cloud.catalog[0]["endpoints"], *other]}, *cloud.catalog[1:]]
    cloud.on("GET", "/v2.1/flavors/detail", (200, {"flavors": []}))
    client = make_client(clouds_yaml(**({"region_name": region} if region else {})))
    assert client.list_flavors() == []
    told = client.remarks().get("region of compute", "")
    words = "has service 'compute' in regions 'RegionOne', 'RegionTwo', and entry 'east' in "
    assert (words in told and "so 'RegionOne' is used: set region-name" in told) == (region == "")
