# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as jobs ask for them."""

from __future__ import annotations

import base64

from tests.openstack.lab import FLAVOR, Lab, label, one, pool, row, tiny

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl judge"


@row("single", "a request for one node: served, used, deleted")
def single(lab: Lab) -> str:
    site = lab.site()
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=120)
    assert site.fulfilled([request]) == 1, site.screen()[-2000:]
    (server,) = lab.plane.servers()
    assert server.status == "ACTIVE" and server.metadata["nodepool_provider_name"] == "one", server
    since = lab.plane.mark()
    nodes = site.give_all_back([request])
    site.play("launcher.yml", launcher_duration=120)
    site.requestor.wait_gone(nodes, 5)
    assert not lab.plane.servers()
    return f"deleted with {dict(lab.plane.calls(since))}"


@row("multi", "a request for three nodes of two labels: one pool, one zone")
def multi(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), tiny("small", flavor_name="m1.small"))))
    request = site.requestor.ask("tiny", "small", "tiny")
    site.play("launcher.yml", launcher_duration=180)
    nodes = [site.requestor.node(ident) for ident in site.requestor.nodes_of(request)]
    assert [node["type"] for node in nodes] == [["tiny"], ["small"], ["tiny"]], nodes
    assert len({(node["pool"], node["az"]) for node in nodes}) == 1, nodes
    return f"zone {nodes[0]['az']}"


@row("floating-ip", "a pool with floating IPs: one each, given back with the node")
def floating_ip(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), auto_floating_ip=True)))
    site.add_cloud("one", private=False)
    requests = site.ask_many(3)
    with site.stay():
        site.wait_served(requests)
        addresses = {
            site.requestor.node(node)["interface_ip"] for ident in requests for node in site.requestor.nodes_of(ident)
        }
        assert addresses == {ip.floating_ip_address for ip in lab.plane.member.network.ips()}, addresses
        site.requestor.wait_gone(site.give_all_back(requests), 180)
    assert not list(lab.plane.member.network.ips())
    return f"{len(addresses)} addresses, all given back"


@row("min-ram", "a label with min-ram: the smallest flavor that has it")
def min_ram(lab: Lab) -> str:
    site = lab.site(one(pool("main", label("ram", min_ram=1024, cloud_image="base"))))
    request = site.requestor.ask("ram")
    site.play("launcher.yml", launcher_duration=120)
    assert site.fulfilled([request]) == 1, site.screen()[-2000:]
    (server,) = lab.plane.servers()
    assert server.flavor.name == "m1.small" or server.flavor.get("original_name") == "m1.small", server.flavor
    return "m1.small"


@row("options", "config drive, key, security group, user data, properties, host name")
def options(lab: Lab) -> str:
    plane = lab.plane
    if plane.member.compute.find_keypair("judge") is None:
        plane.member.compute.create_keypair(name="judge", public_key=KEY)
    if plane.member.network.find_security_group("judge") is None:
        plane.member.network.create_security_group(name="judge")
    wanted = tiny(
        key_name="judge", userdata="#cloud-config\n{}\n", instance_properties={"purpose": "judge"}, networks=None
    )
    images = [{"name": "base", "username": "zuul", "config-drive": True}]
    site = lab.site(one(pool("main", wanted, security_groups=["judge"]), cloud_images=images))
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=120)
    assert site.fulfilled([request]) == 1, site.screen()[-2000:]
    (server,) = plane.servers()
    assert server.key_name == "judge" and server.has_config_drive, server
    assert [group["name"] for group in server.security_groups] == ["judge"], server.security_groups
    assert server.metadata["purpose"] == "judge", server.metadata
    seen = plane.admin.compute.get_server(server.id)
    data = base64.b64decode(seen.user_data or "").decode() if seen.user_data else "not shown"
    return f"user data {data!r}"


@row("min-ready", "two spare nodes are kept, one of them is handed out at once")
def min_ready(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 2}})
    site.play("launcher.yml", launcher_duration=180)
    ready = [node for node, document in site.requestor.nodes().items() if document["state"] == "ready"]
    assert len(ready) == 2, site.requestor.nodes()
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=180)
    assert set(site.requestor.nodes_of(request)) < set(ready)
    assert len(lab.plane.servers()) == 3
    return f"flavor {FLAVOR}"


@row("two-pools", "a pool's max-servers is kept while requests wait")
def two_pools(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), max_servers=2)))
    requests = site.ask_many(5)
    site.play("launcher.yml", launcher_duration=180)
    assert site.fulfilled(requests) == 2 and len(lab.plane.servers()) == 2
    return f"reasons: {sorted(site.reasons())}"
