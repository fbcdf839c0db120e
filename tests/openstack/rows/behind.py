# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What others do behind the launcher's back."""

from __future__ import annotations

from tests.openstack.control_plane import wait_for
from tests.openstack.lab import COMPUTE, Lab, one, row

DIRECT = "/nodepool/images/base/builds"


@row("server-gone", "the server of a ready node is deleted by hand: the node is not handed out")
def server_gone(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 2}})
    site.play("launcher.yml", launcher_duration=180)
    before = site.requestor.nodes()
    ready = {document["external_id"]: ident for ident, document in before.items() if document["state"] == "ready"}
    victim = lab.plane.servers()[0]
    lab.plane.member.compute.delete_server(victim.id)
    wait_for("its end", lambda: victim.id not in lab.plane.server_ids(), 60)
    requests = site.ask_many(2)
    site.play("launcher.yml", launcher_duration=240)
    given = [node for ident in requests for node in site.requestor.nodes_of(ident)]
    alive = lab.plane.server_ids()
    assert {site.requestor.node(node)["external_id"] for node in given} <= alive, (given, ready)
    return f"node {ready[victim.id]} was not given to anybody"


@row("server-error", "the server of a ready node goes into ERROR: the node is not handed out")
def server_error(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 1}})
    site.play("launcher.yml", launcher_duration=180)
    (victim,) = lab.plane.servers()
    lab.plane.admin.compute.reset_server_state(victim.id, "error")
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=240)
    (node,) = site.requestor.nodes_of(request)
    assert site.requestor.node(node)["external_id"] != victim.id
    return "another one was"


@row(
    "server-gone-booting",
    "a server is deleted by hand while it boots: its request is served all the same",
    disturbs=COMPUTE,
)
def server_gone_booting(lab: Lab) -> str:
    site = lab.site(one(launch_retries=3))
    lab.plane.freeze(COMPUTE)
    try:
        request = site.requestor.ask("tiny")
        with site.launcher():
            wait_for("a server", lab.plane.servers)
            lab.plane.member.compute.delete_server(lab.plane.servers()[0].id)
            lab.plane.thaw(COMPUTE)
            site.wait_served([request])
    finally:
        lab.plane.thaw(COMPUTE)
    return "served"
