# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the clouds are asked for: every option of a label, pool and provider as nova, neutron and cinder see it."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest

from tests.simcloud.config import stable_id
from tests.support.fixtures_zookeeper import eventually
from tests.support.launcher_case import Site, label, pool, provider

MARK = re.compile(r"[0-9]{10}-1-[0-9a-f]{12}")


def launch(site: Site, *labels: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The node of the first label and its server."""
    request = site.requestor.ask(*(labels or ("small",)), **more)
    site.run()
    node_id = site.requestor.nodes_of(request)[0]
    return site.requestor.node(node_id), site.cloud.server(node_id)


def test_metadata_exactly(site: Site):
    site.configure(
        provider(
            "one",
            pool(
                "main",
                label(
                    "small",
                    instance_properties={"team": "ci", "nodepool_pool_name": "forged"},
                    dynamic_instance_properties={
                        "who": "{request.tenant_name}",
                        "job": "{request.requestor_data[job_name]}",
                        "labels": "{request.labels}",
                        "wrong": "{request.nothing_of_the_kind}",
                        "event": "{request.event_id}",
                        "reaching": "{request.__class__}",
                    },
                ),
            ),
        )
    )
    node, server = launch(site)
    request = site.requestor.request(node["allocated_to"])
    metadata = dict(server["metadata"])
    node_id = server["name"].removeprefix("np")
    mark = metadata.pop("stackci_launch")
    assert MARK.fullmatch(mark) and mark.startswith(node_id)
    assert metadata.pop("stackci_site") == site.requestor.read("/nodepool/stackci/site")["id"]
    assert metadata == {
        "groups": "one,debian-12,small",
        "nodepool_node_id": node_id,
        "nodepool_provider_name": "one",
        "nodepool_pool_name": "main",
        "nodepool_image_name": "debian-12",
        "nodepool_node_label": "small",
        "team": "ci",
        "who": "tenant-one",
        "job": "tox",
        "labels": "['small']",
        "event": request["event_id"],
    }


def test_the_users_groups_replace_ours(site: Site):
    site.configure(provider("one", pool("main", label("small", instance_properties={"groups": "a,b"}))))
    _node, server = launch(site)
    assert server["metadata"]["groups"] == "a,b"


def test_key_user_data_config_drive_and_security_groups(site: Site):
    userdata = "#cloud-config\npassword: änderung\n"
    site.configure(
        provider(
            "one",
            pool("main", label("small", key_name="ci", userdata=userdata), security_groups=["web", "default"]),
            cloud_images=[{"name": "debian-12", "username": "debian", "config-drive": True, "shell-type": "sh"}],
        )
    )
    node, server = launch(site)
    assert server["key_name"] == "ci"
    assert base64.b64decode(server["user_data"]).decode() == userdata
    assert server["config_drive"] is True
    assert server["security_groups"] == ["web", "default"]
    assert (node["username"], node["shell_type"]) == ("debian", "sh")


def test_nothing_is_asked_for_that_nobody_configured(site: Site):
    site.configure()
    _node, server = launch(site)
    assert (server["key_name"], server["user_data"], server["config_drive"]) == (None, None, False)
    assert (server["security_groups"], server["volumes"]) == (["default"], [])


@pytest.mark.parametrize("by", ["name", "id"])
def test_networks_by_name_and_by_id(site: Site, by: str):
    cloud = site.add_cloud()
    network = "private" if by == "name" else stable_id(cloud.name, "network", "private")
    site.configure(provider("one", pool("main", label("small", networks=[network]), networks=["nowhere"])))
    _node, server = launch(site)
    assert list(server["addresses"]) == ["private"]


def test_an_unknown_network_fails_the_request_with_what_nova_says(site: Site):
    site.configure(provider("one", pool("main", networks=["nowhere"]), launch_retries=2))
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, "failed", seconds=30)
        eventually(lambda: site.requestor.nodes() == {})
        result = cycle.end()
    text = result["requests"]["failed"][0]["reasons"][0]["text"]
    assert "nowhere" in text
    assert site.cloud.servers() == []


def test_availability_zones_are_chosen_from_the_list(site: Site):
    site.configure(provider("one", pool("main", availability_zones=["az2"])))
    requests = [site.requestor.ask("small") for _unused in range(3)]
    site.run()
    assert {site.cloud.server(site.requestor.nodes_of(request)[0])["az"] for request in requests} == {"az2"}
    # That there are such zones is looked up, once.
    assert len(site.cloud.calls("GET /os-availability-zone")) == 1


def test_without_a_list_the_zones_of_the_cloud_are_used_evenly(site: Site):
    site.configure()
    requests = [site.requestor.ask("small") for _unused in range(4)]
    site.run()
    zones = [site.requestor.node(site.requestor.nodes_of(request)[0])["az"] for request in requests]
    assert sorted(zones) == ["az1", "az1", "az2", "az2"]


@pytest.mark.parametrize(
    ("options", "flavor"),
    [
        ({"flavor_name": "medium"}, "medium"),
        ({"min_ram": 1}, "small"),
        ({"min_ram": 1024}, "small"),
        ({"min_ram": 1025}, "medium"),
        ({"min_ram": 5000}, "large"),
        ({"min_ram": 1, "flavor_name": "arg"}, "large"),
    ],
)
def test_flavor_rules(site: Site, options: dict[str, Any], flavor: str):
    site.configure(provider("one", pool("main", label("wanted", **options))))
    node, server = launch(site, "wanted")
    assert server["flavor"] == flavor
    cores, ram = {"small": (1, 1024), "medium": (2, 4096), "large": (8, 8192)}[flavor]
    assert (node["resources"]["cores"], node["resources"]["ram"]) == (cores, ram)


@pytest.mark.parametrize("options", [{"flavor_name": "no-such"}, {"min_ram": 99999}])
def test_a_flavor_that_is_not_there_fails_the_request(site: Site, options: dict[str, Any]):
    site.configure(provider("one", pool("main", label("wanted", **options))))
    request = site.requestor.ask("wanted")
    result = site.run()
    assert site.requestor.state(request) == "failed"
    assert result["requests"]["failed"][0]["reasons"][0]["code"] == "label-broken"


@pytest.mark.parametrize(
    "image",
    [
        {"name": "wanted", "image-name": "ubuntu"},
        {"name": "ubuntu"},
        {"name": "wanted", "image-id": "ID"},
        {"name": "wanted", "image-name": "ID"},
    ],
    ids=["image-name", "name", "image-id", "id-as-name"],
)
def test_cloud_images(site: Site, image: dict[str, str]):
    site.add_cloud()
    ident = next(key for key, known in site.cloud.state()["images"].items() if known["name"] == "ubuntu")
    image = {key: value.replace("ID", ident) for key, value in image.items()}
    site.configure(
        provider("one", pool("main", label("small", cloud_image=image["name"])), cloud_images=[image]),
    )
    node, server = launch(site)
    assert node["image_id"] == image["name"]
    assert server["metadata"]["nodepool_image_name"] == image["name"]
    asked = [call["kind"] for call in site.cloud.calls() if call["kind"].startswith("GET /images")]
    # An id needs no search, but whether there is such an image is looked up.
    assert asked == ["GET /images/{id}"] if "image-id" in image else asked


def test_boot_from_volume(site: Site):
    site.configure(provider("one", pool("main", label("small", boot_from_volume=True, volume_size=7))))
    request = site.requestor.ask("small")
    with site.stay():
        site.requestor.wait_for(request)
        (node_id,) = site.requestor.nodes_of(request)
        node, server = site.requestor.node(node_id), site.cloud.server(node_id)
        assert {key: node["resources"][key] for key in ("volumes", "volume-gb")} == {"volumes": 1, "volume-gb": 7}
        assert len(server["volumes"]) == 1
        assert site.cloud.state()["volumes"] == 1
        site.requestor.give_back(*site.requestor.accept(request))
        site.requestor.wait_gone([node_id])
    assert site.cloud.state()["volumes"] == 0


def test_the_volume_of_one_label_is_not_given_to_the_next(site: Site):
    on_volume = label("small", boot_from_volume=True, volume_size=7)
    site.configure(provider("one", pool("main", on_volume, label("medium"))))
    requests = [site.requestor.ask(name) for name in ("small", "medium", "small", "medium")]
    with site.stay():
        for request in requests:
            site.requestor.wait_for(request)
    volumes = [len(site.cloud.server(site.requestor.nodes_of(request)[0])["volumes"]) for request in requests]
    assert volumes == [1, 0, 1, 0]


# -- floating IPs -------------------------------------------------------------------------------------------------


def floating_ips(site: Site) -> int:
    return int(site.cloud.state()["floating_ips"])


def test_a_floating_ip_is_made_with_our_mark_and_goes_with_its_node(site: Site):
    site.add_cloud(private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small", "small")
        requestor.wait_for(request)
        node_ids = requestor.nodes_of(request)
        for node_id in node_ids:
            node, server = requestor.node(node_id), site.cloud.server(node_id)
            addresses = {
                item["OS-EXT-IPS:type"]: item["addr"] for items in server["addresses"].values() for item in items
            }
            assert node["interface_ip"] == node["public_ipv4"] == addresses["floating"]
            assert node["private_ipv4"] == addresses["fixed"]
            assert requestor.launch(node_id)["floating_ip_id"]
        assert floating_ips(site) == 2
        requestor.give_back(*requestor.accept(request))
        requestor.wait_gone(node_ids)
    assert floating_ips(site) == 0
    assert site.cloud.servers() == []
    assert site.cloud.state()["ports"] == 0


def test_with_auto_floating_ip_off_none_is_made(site: Site):
    site.add_cloud(private=True)
    site.configure(provider("one", pool("main", auto_floating_ip=False)))
    node, _server = launch(site)
    assert floating_ips(site) == 0
    assert node["interface_ip"] == node["private_ipv4"]


def test_a_private_cloud_needs_no_floating_ip(site: Site):
    site.add_cloud(private=True)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    launch(site)
    assert floating_ips(site) == 0


@pytest.mark.long
def test_a_node_without_an_address_that_can_be_used_is_not_handed_out(site: Site):
    """Also where host keys are not checked. The network is to blame, so the request waits."""
    site.configure(provider("one", launch_retries=1))
    site.cloud.fault("POST /servers", "no_address")
    request = site.requestor.ask("small")
    with site.stay():
        told = site.requestor.wait_until_waiting(request, "frozen", seconds=40)
        assert told["owner"] == "network" and "no addresses in private" in told["text"]
        site.cloud.clear_faults()
        site.requestor.wait_for(request, seconds=60)


def test_a_floating_ip_that_cannot_be_had_once_is_no_reason_to_fail(site: Site):
    site.add_cloud(private=False)
    site.configure(provider("one", pool("main", auto_floating_ip=True)))
    site.cloud.fault("POST /floatingips", "status", status=500, count=1)
    requestor = site.requestor
    with site.stay():
        request = requestor.ask("small")
        requestor.wait_for(request, seconds=40)
        assert floating_ips(site) == 1
        node_ids = requestor.accept(request)
        requestor.give_back(*node_ids)
        requestor.wait_gone(node_ids)
        assert floating_ips(site) == 0
    assert site.cloud.servers() == []


# -- reaching -----------------------------------------------------------------------------------------------------


def scanned(site: Site, **image: Any) -> dict[str, Any]:
    """The usual provider with servers that answer ssh."""
    site.add_cloud(kind="guest")
    port = image.pop("port", site.cloud.ssh_port())
    return provider(
        "one",
        pool("main", host_key_checking=True),
        cloud_images=[{"name": "debian-12", "username": "zuul", "connection-port": port, **image}],
    )


@pytest.mark.parametrize("connection", ["ssh", "network_cli"])
def test_the_recorded_host_keys_are_the_guests_own(site: Site, connection: str):
    site.configure(scanned(site, **{"connection-type": connection}))
    requests = [site.requestor.ask("small", "small")]
    site.run()
    seen = set()
    for node_id in site.requestor.nodes_of(requests[0]):
        node, server = site.requestor.node(node_id), site.cloud.server(node_id)
        assert server["host_keys"] and node["host_keys"] == server["host_keys"]
        assert node["connection_type"] == connection
        assert node["connection_port"] == node["ssh_port"] == site.cloud.ssh_port()
        seen.add(tuple(node["host_keys"]))
    assert len(seen) == 2


def test_other_connection_types_are_only_reached(site: Site):
    site.configure(scanned(site, **{"connection-type": "winrm"}))
    node, _server = launch(site)
    assert (node["connection_type"], node["host_keys"]) == ("winrm", [])


def test_winrm_has_its_own_port(site: Site):
    site.configure(provider("one", cloud_images=[{"name": "debian-12", "connection-type": "winrm"}]))
    node, _server = launch(site)
    assert (node["connection_type"], node["connection_port"]) == ("winrm", 5986)


def test_without_host_key_checking_a_node_that_does_not_answer_is_ready(site: Site):
    site.configure(scanned(site, port=1))
    site.configure(provider("one", pool("main", label("small", host_key_checking=False), host_key_checking=True)))
    node, _server = launch(site)
    assert (node["state"], node["host_keys"]) == ("ready", [])


def test_a_node_that_does_not_answer_fails_and_its_server_goes(site: Site):
    site.configure({**scanned(site), "boot-timeout": 1, "launch-retries": 2})
    site.cloud.fault("POST /servers", "unreachable")
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, "failed", seconds=30)
        eventually(lambda: site.requestor.nodes() == {})
        result = cycle.end()
    text = result["requests"]["failed"][0]["reasons"][0]["text"]
    assert "(2 attempts)" in text or text.count("unreachable: ") == 2
    assert len(site.cloud.calls("POST /servers")) == 2
    assert site.cloud.servers() == []


def test_a_node_that_answers_at_the_second_attempt_is_used(site: Site):
    site.configure({**scanned(site), "boot-timeout": 1})
    site.cloud.fault("POST /servers", "unreachable", count=1)
    node, server = launch(site)
    assert node["host_keys"] == server["host_keys"]
    assert len(site.cloud.servers()) == 1


def test_the_console_tells_why_a_node_could_not_be_reached(site: Site):
    changed = {**scanned(site), "boot-timeout": 1, "launch-retries": 1}
    changed["pools"] = [pool("main", label("small", console_log=True), host_key_checking=True)]
    site.configure(changed)
    site.cloud.fault("POST /servers", "unreachable")
    request = site.requestor.ask("small")
    with site.stay() as cycle:
        site.requestor.wait_for(request, "failed", seconds=30)
        result = cycle.end()
    assert "login:" in result["requests"]["failed"][0]["reasons"][0]["text"]
