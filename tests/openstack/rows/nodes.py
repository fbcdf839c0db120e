# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as jobs ask for them."""

from __future__ import annotations

import base64

from tests.openstack.control_plane import PATIENCE, ids, wait_for
from tests.openstack.lab import COMPUTE, FLAVOR, VOLUMES, Lab, label, one, pool, row, tiny

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl judge"
USER_DATA = "#cloud-config\n{}\n"


@row("single", "a request for one node: served, used, deleted")
def single(lab: Lab) -> str:
    site = lab.site()
    server = site.serve_one()
    assert server.status == "ACTIVE" and server.metadata["nodepool_provider_name"] == "one", server
    since = lab.plane.mark()
    nodes = site.give_all_back(site.requestor.children("/nodepool/requests"))
    site.launch()
    site.requestor.wait_gone(nodes, PATIENCE)
    assert not lab.plane.server_ids()
    return f"deleted with {dict(sorted(lab.plane.calls(since).items()))}"


@row("multi", "a request for three nodes of two labels: one pool, one zone")
def multi(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), tiny("small", flavor_name="m1.small"))))
    request = site.requestor.ask("tiny", "small", "tiny")
    site.launch()
    nodes = [site.requestor.node(ident) for ident in site.requestor.nodes_of(request)]
    assert [node["type"] for node in nodes] == [["tiny"], ["small"], ["tiny"]], nodes
    assert len({(node["pool"], node["az"]) for node in nodes}) == 1, nodes
    return f"zone {nodes[0]['az']}"


@row("floating-ip", "a pool with floating IPs: one each, given back with the node", needs=(COMPUTE, VOLUMES))
def floating_ip(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), auto_floating_ip=True)))
    site.add_cloud("one", private=False)
    requests = site.ask_many(3)
    with site.launcher():
        site.wait_served(requests)
        addresses = {
            site.requestor.node(node)["interface_ip"] for ident in requests for node in site.requestor.nodes_of(ident)
        }
        assert addresses == {ip.floating_ip_address for ip in lab.plane.member.network.ips()}, addresses
        site.requestor.wait_gone(site.give_all_back(requests), PATIENCE)
    # A neutron that answers a POST after minutes makes an address for a node that is gone by then: a leak, and swept.
    late = ids(lab.plane.member.network.ips())
    if late:
        site.sweep(lambda: not ids(lab.plane.member.network.ips()))
    return f"{len(addresses)} addresses, all given back; {len(late)} made too late and swept"


@row("min-ram", "a label with min-ram: the smallest flavor that has it")
def min_ram(lab: Lab) -> str:
    site = lab.site(one(pool("main", label("ram", min_ram=1024, cloud_image="base"))))
    server = site.serve_one("ram")
    assert server.flavor.name == "m1.small" or server.flavor.get("original_name") == "m1.small", server.flavor
    return "m1.small"


@row("options", "config drive, key, security group, user data, properties, host name")
def options(lab: Lab) -> str:
    plane = lab.plane
    if plane.member.compute.find_keypair("judge") is None:
        plane.member.compute.create_keypair(name="judge", public_key=KEY)
    if plane.member.network.find_security_group("judge") is None:
        plane.member.network.create_security_group(name="judge")
    wanted = tiny(key_name="judge", userdata=USER_DATA, instance_properties={"purpose": "judge"})
    images = [{"name": "base", "username": "zuul", "config-drive": True}]
    site = lab.site(one(pool("main", wanted, security_groups=["judge"]), cloud_images=images))
    server = site.serve_one()
    # User data are shown to administrators only, from this microversion on.
    seen = plane.admin.compute.get(f"/servers/{server.id}", microversion="2.3").json()["server"]
    assert seen["key_name"] == "judge" and seen["config_drive"], seen
    assert [group["name"] for group in seen["security_groups"]] == ["judge"], seen
    assert seen["metadata"]["purpose"] == "judge", seen
    assert base64.b64decode(seen["OS-EXT-SRV-ATTR:user_data"]).decode() == USER_DATA, seen
    assert seen["name"] == f"np{server.metadata['nodepool_node_id']}", seen
    return f"host name {seen['name']}"


@row(
    "volume",
    "boot from volume: a volume each, gone with its node; the one that nova leaves behind is swept",
    needs=(COMPUTE, VOLUMES),
)
def volume(lab: Lab) -> str:
    storage, compute = lab.plane.member.block_storage, lab.plane.admin.compute
    for stale in storage.volumes():
        storage.delete_volume(stale.id)
    site = lab.site(one(pool("main", tiny(boot_from_volume=True, volume_size=1))))
    requests = site.ask_many(2)
    with site.launcher():
        site.wait_served(requests)
        made = {
            server.id: [attached.volume_id for attached in compute.volume_attachments(server)]
            for server in lab.plane.servers()
        }
        assert [len(volumes) for volumes in made.values()] == [1, 1], made
        server_id, (leaked,) = next(iter(made.items()))
        kept = {"volumeAttachment": {"volumeId": leaked, "delete_on_termination": False}}
        compute.put(f"/servers/{server_id}/os-volume_attachments/{leaked}", json=kept, microversion="2.85")
        foreign = storage.create_volume(size=1, name="somebody-else").id
        site.requestor.wait_gone(site.give_all_back(requests), PATIENCE)
        wait_for("the end of the other volume", lambda: ids(storage.volumes()) == {leaked, foreign})
    site.sweep(lambda: ids(storage.volumes()) == {foreign})
    storage.delete_volume(foreign)
    return "2 nodes; 1 volume gone with its node, 1 swept, 1 of somebody else left alone"


@row("min-ready", "two spare nodes are kept, one of them is handed out at once")
def min_ready(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 2}})
    site.launch()
    ready = [node for node, document in site.requestor.nodes().items() if document["state"] == "ready"]
    assert len(ready) == 2, site.requestor.nodes()
    request = site.requestor.ask("tiny")
    site.launch()
    assert set(site.requestor.nodes_of(request)) < set(ready)
    assert len(lab.plane.server_ids()) == 3
    return f"flavor {FLAVOR}"


@row("two-pools", "a pool's max-servers is kept while requests wait")
def two_pools(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), max_servers=2)))
    requests = site.ask_many(5)
    site.launch()
    assert site.fulfilled(requests) == 2 and len(lab.plane.server_ids()) == 2
    return f"reasons: {sorted(site.reasons())}"
