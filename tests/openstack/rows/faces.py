# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweep, inventory, leases, and the contract of the simulated cloud."""

from __future__ import annotations

import json

from tests.integration.contract.observe import RECORDED, differences, observe
from tests.openstack.control_plane import PATIENCE, ids
from tests.openstack.lab import COMPUTE, VOLUMES, Lab, one, pool, row, tiny
from tests.support.ansible_run import command, run_module


@row(
    "leaks",
    "a server and a floating IP of ours without a record go; what others have there stays",
    needs=(COMPUTE, VOLUMES),
)
def leaks(lab: Lab) -> str:
    plane = lab.plane
    net = plane.member.network
    site = lab.site(one(pool("main", tiny(), auto_floating_ip=True)))
    site.add_cloud("one", private=False)
    ours = site.serve_one()
    (our_ip,) = ids(net.ips())
    node = ours.metadata["nodepool_node_id"]
    network = net.find_network("private").id
    server = plane.member.compute.create_server(
        name="somebody-else",
        image_id=plane.image("base"),
        flavor_id=plane.member.compute.find_flavor("m1.tiny").id,
        networks=[{"uuid": network}],
        metadata={"nodepool_provider_name": "another", "nodepool_node_id": "0000000001"},
    )
    port = net.create_port(network_id=network, name="somebody-else").id
    ip = net.create_ip(floating_network_id=net.find_network("public").id).id
    # The node's record is lost; its server is told by its metadata.
    site.requestor.client.delete(f"/nodepool/nodes/{node}", recursive=True)
    site.requestor.client.delete(f"/nodepool/stackci/launches/{node}", recursive=True)
    site.sweep(lambda: ours.id not in plane.server_ids() and our_ip not in ids(net.ips()))
    left = plane.server_ids(), ids(net.ips()), ids(net.ports(name="somebody-else"))
    net.delete_port(port)
    assert left == ({server.id}, {ip}, {port}), (left, site.screen()[-4000:])
    return "a server and a floating IP deleted; a server, a floating IP and a port of others left alone"


@row("inventory", "the inventory shows the nodes")
def inventory(lab: Lab) -> str:
    site = lab.site()
    requests = site.ask_many(2)
    site.launch()
    file = site.folder / "judge.nodepool.yml"
    options = {
        "plugin": "stackci.nodepool.nodepool",
        "nodepool_config": str(site.config),
        "clouds_config": str(site.clouds_yaml),
        "zookeeper": True,
    }
    file.write_text(json.dumps(options), encoding="utf-8")
    done = command("ansible-inventory", "-i", file, "--list", folder=site.folder)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    nodes = {f"np{node}" for ident in requests for node in site.requestor.nodes_of(ident)}
    assert set(shown["_meta"]["hostvars"]) == nodes, shown
    assert set(shown["label_tiny"]["hosts"]) == nodes, shown
    return f"{len(nodes)} hosts"


@row("metadata-filter", "nova filters servers by metadata for nobody, so the inventory lists all and selects")
def metadata_filter(lab: Lab) -> str:
    site = lab.site()
    ours = site.serve_one()
    query = {"metadata": json.dumps({"nodepool_provider_name": "another"})}
    shown = lab.plane.member.compute.get("/servers/detail", params=query)
    assert [server["id"] for server in shown.json()["servers"]] == [ours.id], shown.text[:2000]
    refused = lab.plane.admin.compute.get("/servers/detail", params=query)
    assert (refused.status_code, "Invalid filter field: metadata" in refused.text) == (400, True), refused.text[:2000]
    return "ignored for a member of the project, 400 for an administrator"


@row("request-launch", "nodepool_request with launch: asked, launched, held, given back, without any launcher")
def request_launch(lab: Lab) -> str:
    site = lab.site()
    options = {
        "name": "judge",
        "config": str(site.config),
        "clouds_config": str(site.clouds_yaml),
        "launch": True,
        "timeout": PATIENCE - 60,
    }
    first = run_module("nodepool_request", {**options, "labels": ["tiny", "tiny"]}, site.folder, timeout=PATIENCE)
    assert first.result.get("complete"), first.screen[-3000:]
    again = run_module("nodepool_request", {**options, "labels": ["tiny", "tiny"]}, site.folder, timeout=PATIENCE)
    assert again.result["changed"] is False, again.result
    gone = run_module("nodepool_request", {**options, "state": "absent"}, site.folder, timeout=PATIENCE)
    assert not gone.result["failed"] and not lab.plane.server_ids(), gone.screen[-3000:]
    return "2 nodes, unchanged when repeated, 0 servers left"


@row("check-mode", "check mode tells the plan and changes nothing", needs=())
def check_mode(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny())))
    site.requestor.ask("tiny")
    before = site.requestor.tree("/nodepool")
    said = site.play("launcher.yml", "--check", "--diff")
    assert site.requestor.tree("/nodepool") == before and not lab.plane.server_ids()
    assert "1 request" in said, said[-2000:]
    return next(line.strip() for line in said.splitlines() if "1 request" in line)[:160]


@row("contract", "the control plane answers as the simulated cloud has it on record", needs=(COMPUTE, VOLUMES))
def contract(lab: Lab) -> str:
    lab.plane.quota(instances=10, cores=20, ram=51200, port=500)
    expected = json.loads(RECORDED.read_text(encoding="utf-8"))
    found = observe("one", str(lab.site().clouds_yaml))
    told = differences(expected, found)
    assert not told, "\n".join(told)
    return f"{len(found)} observations agree"
