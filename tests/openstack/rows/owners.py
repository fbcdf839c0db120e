# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose fault it is: what is used up waits, what is forbidden is told, what is not usable is not used."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from tests.openstack.control_plane import wait_for
from tests.openstack.lab import COMPUTE, IMAGE, Lab, one, pool, row, tiny

CREATE = "POST /servers 202"
AWAY = 60.0
"""Seconds without a host: a machine that ironic cleans is away for longer, and the launcher must not count tries."""
MOST_REFUSED = 6
"""Creates in two minutes that a provider may refuse."""


def created(calls: Counter[str]) -> int:
    return calls[CREATE]


@row(
    "no-host-for-a-while",
    "no host takes a server for a minute, with one provider: all wait, few creates, all served, none failed",
    disturbs=COMPUTE,
)
def no_host_for_a_while(lab: Lab) -> str:
    plane, site = lab.plane, lab.site()
    since = plane.mark()
    with plane.without_hosts():
        requests = site.ask_many(4)
        with site.launcher():
            began = time.monotonic()
            wait_for("a reason", site.reasons)
            told = site.reasons()
            time.sleep(max(0.0, AWAY - (time.monotonic() - began)))
            states = Counter(site.requestor.state(ident) for ident in requests)
            tried = created(plane.calls(since))
            plane.with_hosts_again()
            site.wait_served(requests)
    assert "failed" not in states, states
    assert tried <= MOST_REFUSED, f"{tried} creates within {AWAY:.0f} s without a host"
    return f"{tried} creates in vain, told as {sorted(told)}, then 4 served"


@row("subnet-full", "a subnet with three addresses and five requests: three served, two wait for addresses")
def subnet_full(lab: Lab) -> str:
    plane = lab.plane
    since = plane.mark()
    with plane.small_network("narrow", addresses=3):
        site = lab.site(one(pool("main", tiny(), networks=["narrow"])))
        requests = site.ask_many(5)
        with site.launcher():
            wait_for("3 requests served", lambda: site.fulfilled(requests) >= 3)
            wait_for("a reason", site.reasons)
            tried = created(plane.calls(since))
            states = Counter(site.requestor.state(ident) for ident in requests)
            assert "failed" not in states, states
            served = [ident for ident in requests if site.requestor.state(ident) == "fulfilled"]
            site.give_all_back(served)
            site.wait_served([ident for ident in requests if ident not in served])
    return f"{tried} creates until three were served, {states['fulfilled']} at once, all in the end"


@row("limits-forbidden", "a policy forbids the limits (403): served by max-servers, and told with its remedy")
def limits_forbidden(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site(one(pool("main", tiny(), max_servers=2)))
    since = plane.mark()
    with plane.forbidden("os_compute_api:limits", "GET /limits"):
        requests = site.ask_many(2)
        with site.launcher():
            site.wait_served(requests, 180)
            wait_for("the remedy", lambda: "ignore-provider-quota" in site.screen(), 120)
        asked = plane.calls(since)["GET /limits 403"]
    return f"2 served, {asked} readings of the limits were refused"


@row("lists-forbidden", "a policy forbids the list of servers (403): nothing is launched, it is told, then served")
def lists_forbidden(lab: Lab) -> str:
    plane, site = lab.plane, lab.site()
    since = plane.mark()
    with site.launcher():
        with plane.forbidden("os_compute_api:servers:detail", "GET /servers/detail"):
            requests = site.ask_many(2)
            wait_for("a word about it", lambda: "GET /servers/detail" in site.screen(), 120)
            wait_for("a reason", lambda: len(site.waiting(requests)) == len(requests), 120)
            told = site.waiting(requests)
            asked = plane.calls(since)["GET /servers/detail 403"]
        site.wait_served(requests)
    texts = {str(document["text"]) for document in told.values()}
    assert all("403" in text for text in texts), texts
    return f"{asked} lists were refused; told: {min(texts)[:120]}"


@row("image-deactivated", "an older image of the name is deactivated: the active one is used")
def image_deactivated(lab: Lab) -> str:
    plane = lab.plane
    site = lab.site()
    older = plane.image(IMAGE)
    plane.deactivate(older)
    newer: Any = plane.member.image.create_image(
        IMAGE, data=b"image" * 1000, disk_format="raw", container_format="bare", allow_duplicates=True
    )
    try:
        server = site.serve_one()
        assert server.image.id == newer.id, (server.image, older, newer.id)
    finally:
        plane.delete(plane.server_ids())
        plane.member.image.delete_image(newer.id)
        plane.reactivate(older)
    return f"{newer.id[:8]} was used, {older[:8]} is deactivated"


@row("spare-stopped", "the server of a spare is stopped behind our back: the node is not handed out, but replaced")
def spare_stopped(lab: Lab) -> str:
    site = lab.site(labels={"tiny": {"min-ready": 1}})
    site.play("launcher.yml", launcher_duration=180)
    (victim,) = lab.plane.servers()
    lab.plane.member.compute.stop_server(victim.id)
    wait_for("its stop", lambda: [server.status for server in lab.plane.servers()] == ["SHUTOFF"], 60)
    request = site.requestor.ask("tiny")
    site.play("launcher.yml", launcher_duration=240)
    (node,) = site.requestor.nodes_of(request)
    given = site.requestor.node(node)["external_id"]
    assert given != victim.id, "a stopped server was handed out"
    status = {server.id: server.status for server in lab.plane.servers()}
    assert status.get(given) == "ACTIVE", status
    return f"another one was; the servers now: {sorted(status.values())}"
