# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators do: check a configuration, keep and delete nodes, restore image records, remove a provider."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from tests.openstack.control_plane import PATIENCE, ids, wait_for
from tests.openstack.lab import COMPUTE, VOLUMES, Lab, RealSite, one, pool, row, tiny
from tests.openstack.rows.images import built, in_glance
from tests.support.ansible_run import run_module

USE_SECONDS = 120.0
NOTICED_SECONDS = 20.0
"""Seconds after which a launcher sees that a server is gone, on a control plane of two cores."""


def act(site: RealSite, module: str, **options: Any) -> dict[str, Any]:
    """The result of a module, which must not fail."""
    ran = run_module(module, {"config": str(site.config), **options}, site.folder, timeout=PATIENCE)
    assert not ran.result["failed"], ran.screen[-3000:]
    return ran.result


def drain(site: RealSite, *, fails: bool) -> str:
    """The playbook that removes the provider; what it said, in one line."""
    said = site.play("drain_provider.yml", fails=fails, drain_provider="one", drain_wait=0, drain_pause=1)
    return " ".join(said.split())


@row("config-check", "config_validate.yml names what the cloud lacks, and accepts what it has", needs=(VOLUMES,))
def config_check(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), tiny("lost", flavor_name="m9.lost", key_name="lost-key"))))
    said = site.play("config_validate.yml", fails=True)
    assert "m9.lost" in said and "lost-key" in said, said[-3000:]
    site.configure(one())
    said = site.play("config_validate.yml")
    assert "is valid" in said, said[-3000:]
    return "2 mistakes named"


@row("node-by-hand", "a spare node is held: not handed out, not deleted; released and deleted by hand: its server goes")
def node_by_hand(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 1}})
    site.launch()
    (held,) = site.requestor.nodes()
    kept = site.requestor.node(held)["external_id"]
    assert act(site, "node", ids=[held], state="held", comment="judge")["changed"]
    site.configure(one())
    request = site.requestor.ask("tiny")
    site.launch()
    (given,) = site.requestor.nodes_of(request)
    assert given != held and kept in lab.plane.server_ids(), site.screen()[-3000:]
    act(site, "node", ids=[held], state="released")
    site.requestor.give_back(*site.requestor.accept(request))
    site.launch()
    assert not site.requestor.nodes() and not lab.plane.server_ids(), site.screen()[-3000:]
    return f"{held} kept, then gone"


@row("node-hours", "usage_info has the hours of nova's os-simple-tenant-usage and those of the launches")
def node_hours(lab: Lab) -> str:
    """Nova counts a server from ACTIVE, the launcher from the create; both see its end a little later than it is."""
    site, began, count = lab.site(), time.time(), 3
    with site.launcher():
        requests = site.ask_many(count)
        site.wait_served(requests)
        nodes = [node for request in requests for node in site.requestor.accept(request)]
        servers = {site.requestor.node(node)["external_id"] for node in nodes}
        wait_for("two minutes of use", lambda: time.time() - began > USE_SECONDS, 2 * USE_SECONDS)
        site.requestor.give_back(*nodes)
        wait_for("their end", lambda: not site.requestor.nodes())
    moments = {"start": began - 3600, "end": time.time() + 60}
    query = {name: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) for name, moment in moments.items()}
    member = lab.plane.member
    answer = member.compute.get(f"/os-simple-tenant-usage/{lab.plane.project_id}?{urlencode(query)}")
    counted = {one["instance_id"]: 3600 * one["hours"] for one in answer.json()["tenant_usage"]["server_usages"]}
    by_nova = sum(counted[server] for server in servers)
    told = act(site, "usage_info", group_by=["label"])["total"]
    ours, boots = 3600 * told["hours"], 3600 * told["building_hours"]
    assert told["nodes"] == count and by_nova > 0, (told, counted)
    assert 0.99 * by_nova <= ours <= 1.01 * by_nova + boots + count * NOTICED_SECONDS, (ours, boots, by_nova)
    return f"{ours:.0f} s, of which {boots:.0f} s of launches; nova {by_nova:.0f} s"


@row("usage", "provider_info shows nova's limits, and what others use of them", needs=(COMPUTE, VOLUMES))
def usage(lab: Lab) -> str:
    plane = lab.plane
    plane.quota(instances=7)
    network = plane.member.network.find_network("private").id
    plane.member.compute.create_server(
        name="somebody-else",
        image_id=plane.image("base"),
        flavor_id=plane.member.compute.find_flavor("m1.tiny").id,
        networks=[{"uuid": network}],
    )
    site = lab.site()
    requests = site.ask_many(1)
    site.launch()
    assert site.fulfilled(requests) == 1, site.screen()[-3000:]
    (provider,) = act(site, "provider_info")["providers"]
    (shown,) = [used for used in provider["resources"] if used["resource"] == "instances"]
    figures = {name: shown[name] for name in ("used", "others", "limit", "left")}
    assert figures == {"used": 1, "others": 1, "limit": 7, "left": 5}, provider
    return str(figures)


@row("image-data", "image records are lost, seen as aliens, restored: nothing is uploaded again, a node from them")
def image_data(lab: Lab) -> str:
    site = built(lab, 1)
    (image,) = in_glance(lab)
    file = str(site.folder / "images.json")
    act(site, "image_data", path=file, state="exported")
    site.requestor.client.delete("/nodepool/images", recursive=True)
    aliens = act(site, "alien_image_info", clouds_config=str(site.clouds_yaml))["images"]
    assert [alien["image_id"] for alien in aliens] == [image.id], aliens
    act(site, "image_data", path=file, state="imported")
    site.play("uploads.yml")
    assert ids(in_glance(lab)) == {image.id}, site.screen()[-3000:]
    assert site.serve_one().image.id == image.id
    return "1 image, kept"


@row("drain", "a provider is drained: its nodes, its images and its records go", needs=(COMPUTE, VOLUMES))
def drained(lab: Lab) -> str:
    site = built(lab, 1)
    site.serve_one("tiny")
    (request,) = site.requestor.children("/nodepool/requests")
    images: dict[str, Any] = {"cloud_images": [], "diskimages": [{"name": "fake"}]}
    label = tiny(diskimage="fake", cloud_image=None)
    assert "set max-servers to 0" in drain(site, fails=True)
    site.configure(one(pool("main", label, max_servers=0), **images))
    assert "1 left" in drain(site, fails=True)
    site.give_all_back([request])
    site.launch()
    assert not lab.plane.server_ids(), site.screen()[-3000:]
    site.configure(one(pool("main", labels=[], max_servers=0), **{**images, "diskimages": []}))
    site.play("uploads.yml")
    assert not in_glance(lab), site.screen()[-3000:]
    site.configure(one(pool("main", tiny()), name="two"))
    said = drain(site, fails=False)
    assert "provider one is removed" in said, said[-3000:]
    left = [path for path in site.requestor.tree() if "one" in path.split("/")]
    assert not left, left
    return "0 servers, 0 images, 0 records left"
