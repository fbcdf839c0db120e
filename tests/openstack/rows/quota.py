# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Full clouds: quotas that change, that others fill, and that are checked too late."""

from __future__ import annotations

import threading

import openstack
from tests.openstack.control_plane import PATIENCE, wait_for
from tests.openstack.lab import Lab, one, pool, row, tiny

REFUSED = "POST /servers 403"


@row("quota", "quota of 3, then 1, then 20 instances with 10 requests: at most 2 refusals, all served in the end")
def quota(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site()
    since = plane.mark()
    plane.quota(instances=3)
    requests = site.ask_many(10)
    with site.launcher():
        wait_for("3 requests served", lambda: site.fulfilled(requests) == 3)
        plane.quota(instances=1)
        served = [ident for ident in requests if site.requestor.state(ident) == "fulfilled"]
        site.requestor.wait_gone(site.give_all_back(served), PATIENCE)
        wait_for("one more", lambda: site.fulfilled(set(requests) - set(served)) >= 1)
        # nova checks a quota again after it has made a server, so one too many may stand there for a moment.
        wait_for("no server beyond the quota", lambda: len(plane.server_ids()) <= 1)
        plane.quota(instances=20)
        rest = [ident for ident in requests if ident not in served]
        site.wait_served(rest)
    refused = plane.calls(since)[REFUSED]
    assert refused <= 2, plane.calls(since)
    return f"{refused} refusals; reasons while waiting: {sorted(site.reasons()) or 'all gone'}"


@row("cores", "a quota of cores, with labels of 1 and 4 cores")
def cores(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site(one(pool("main", tiny(), tiny("large", flavor_name="m1.large"))))
    since = plane.mark()
    plane.quota(cores=5)
    large, small = site.ask_many(2, "large"), site.ask_many(1)
    site.launch()
    assert (site.fulfilled(large), site.fulfilled(small)) in ((1, 1), (1, 0)), site.screen()[-2000:]
    assert not plane.calls(since)[REFUSED], plane.calls(since)
    return f"served {site.fulfilled(large)} large and {site.fulfilled(small)} tiny; reasons {sorted(site.reasons())}"


@row("ports", "a quota of ports: kept, and nothing fails")
def ports(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site()
    used = len(list(plane.admin.network.ports(project_id=plane.project_id)))
    since = plane.mark()
    plane.quota(port=used + 2)
    requests = site.ask_many(5)
    with site.launcher():
        wait_for("2 requests served", lambda: site.fulfilled(requests) >= 2)
        wait_for("a reason", lambda: site.reasons() & {"no-room", "frozen"})
        assert "failed" not in {site.requestor.state(ident) for ident in requests}
        plane.quota(port=500)
        site.wait_served(requests)
    return f"{plane.calls(since)[REFUSED]} refusals"


@row("quota-race", "an outsider takes the room while ours are accepted: recognised as quota, no attempt lost")
def quota_race(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site()
    network = plane.member.network.find_network("private").id
    image, flavor = plane.image("base"), plane.member.compute.find_flavor("m1.tiny").id

    refused: list[Exception] = []

    def outsider() -> None:
        for number in range(4):
            try:
                plane.member.compute.create_server(
                    name=f"outsider-{number}", image_id=image, flavor_id=flavor, networks=[{"uuid": network}]
                )
            except openstack.exceptions.HttpException as problem:
                refused.append(problem)

    plane.quota(instances=3)
    requests = site.ask_many(4)
    with site.launcher():
        thread = threading.Thread(target=outsider)
        thread.start()
        thread.join(180)
        wait_for("quota as a reason", lambda: site.reasons() & {"no-room", "frozen"})
        failed = [server for server in plane.servers() if server.status == "ERROR"]
        plane.quota(instances=40)
        site.wait_served(requests)
    assert "failed" not in {site.requestor.state(ident) for ident in requests}
    lost = [line for line in site.screen().splitlines() if "attempt 2" in line]
    assert not lost, lost
    return f"the outsider was refused {len(refused)} times; {len(failed)} servers of the race were in ERROR at one time"
