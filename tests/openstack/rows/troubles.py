# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services that fail, stop, or say nothing."""

from __future__ import annotations

import re
import time

from tests.openstack.control_plane import wait_for
from tests.openstack.lab import COMPUTE, Lab, one, pool, row, tiny

NOVA = "nova-api"
NO_ANSWER = re.compile(r"provider one: no answer to \w+ /servers\S* for \d+ s")


@row("no-valid-host", "a flavor that no host has room for: the request waits and says 'No valid host'", needs=())
def no_valid_host(lab: Lab) -> str:
    compute = lab.plane.admin.compute
    if compute.find_flavor("huge") is None:
        compute.create_flavor(name="huge", ram=900_000, vcpus=1, disk=1)
    site = lab.site(one(pool("main", tiny("huge", flavor_name="huge")), launch_retries=2))
    request = site.requestor.ask("huge")
    with site.launcher():
        # Before the pool waits for hosts, the request is told of the attempt that failed.
        wait_for("hosts for huge", lambda: "hosts for huge" in str(site.waiting([request])))
        told = str(site.waiting([request]))
        assert site.requestor.state(request) != "failed", told
        assert "No valid host" in told, told
    return told[:160]


@row("no-network", "a network that is not there: the pool says so, no create is sent", needs=())
def no_network(lab: Lab) -> str:
    site = lab.site(one(pool("main", tiny(), networks=["nonet"])))
    site.requestor.ask("tiny")
    since = lab.plane.mark()
    said = site.play("launcher.yml", launcher_duration=60)
    assert "nonet" in said, said[-2000:]
    assert not any("POST /servers " in kind for kind in lab.plane.calls(since)), lab.plane.calls(since)
    return next(line.strip() for line in said.splitlines() if "nonet" in line)[:160]


@row("compute-stopped", "nova-compute is frozen with servers in BUILD, and goes on: all served", disturbs=COMPUTE)
def compute_stopped(lab: Lab) -> str:
    site = lab.site(one(launch_timeout=600))
    requests = site.ask_many(3)
    lab.plane.freeze(COMPUTE)
    try:
        with site.launcher():
            wait_for("servers in BUILD", lambda: len(lab.plane.server_ids()) >= 3)
            time.sleep(10)
            assert site.fulfilled(requests) == 0
            lab.plane.thaw(COMPUTE)
            site.wait_served(requests)
    finally:
        lab.plane.thaw(COMPUTE)
    assert len(lab.plane.server_ids()) == 3, lab.plane.servers()
    return "3 served, 3 servers"


@row("api-stopped", "nova-api is killed with creates under way: all served, no server too many", disturbs=NOVA)
def api_stopped(lab: Lab) -> str:
    site = lab.site()
    requests = site.ask_many(6)
    since = lab.plane.mark()
    with site.launcher():
        wait_for("a first create", lambda: lab.plane.calls(since)["POST /servers 202"], pause=0.1)
        lab.plane.kill(NOVA)
        time.sleep(15)
        lab.plane.start_again()
        site.wait_served(requests)
        wait_for("no server too many", lambda: len(lab.plane.server_ids()) == len(site.requestor.nodes()) == 6)
    return "6 served, 6 servers"


@row("api-frozen", "nova-api is frozen for 45 s: it is told, and everything goes on afterwards", disturbs=NOVA)
def api_frozen(lab: Lab) -> str:
    site = lab.site()
    with site.launcher():
        first = site.ask_many(1)
        site.wait_served(first)
        lab.plane.freeze(NOVA)
        try:
            requests = site.ask_many(3)
            thawed_at = time.monotonic() + 45
            wait_for("the word that nova does not answer", lambda: NO_ANSWER.search(site.screen()))
            told = NO_ANSWER.findall(site.screen())[0]
            time.sleep(max(0.0, thawed_at - time.monotonic()))
        finally:
            lab.plane.thaw(NOVA)
        site.wait_served(requests)
    return f"3 served after it went on; told: {told}"


@row("tokens", "all tokens are revoked: served with a new one")
def tokens(lab: Lab) -> str:
    site = lab.site()
    with site.launcher():
        first = site.ask_many(1)
        site.wait_served(first)
        lab.plane.revoke_tokens()
        requests = site.ask_many(2)
        site.wait_served(requests)
    return "2 served with a new token"


@row("cell-away", "the cell's database is away for a while: no node is taken for gone, no request fails")
def cell_away(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site()
    with site.launcher():
        first = site.ask_many(3)
        site.wait_served(first)
        ids = plane.server_ids()
        # The instances exist and no list shows them, as when a cell does not answer.
        ours = f"project_id = '{plane.project_id}'"
        plane.sql("nova", f"UPDATE instances SET hidden = 1 WHERE deleted = 0 AND {ours}")
        try:
            wait_for("an empty list", lambda: not plane.server_ids())
            requests = site.ask_many(2)
            time.sleep(30)
        finally:
            plane.sql("nova", f"UPDATE instances SET hidden = 0 WHERE hidden = 1 AND {ours}")
        site.wait_served(requests)
        assert ids <= plane.server_ids(), "servers of ready nodes were deleted"
    assert "failed" not in {site.requestor.state(ident) for ident in [*first, *requests]}
    return "3 servers kept, 2 requests served"
