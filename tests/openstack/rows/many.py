# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hundred nodes at once, on a control plane that shares its two cores with the launcher."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from tests.openstack.control_plane import ControlPlane, wait_for
from tests.openstack.lab import Lab, row

FIXED = (5, 20)
"""Numbers in flight that are tried by hand; the best of them is what the launcher is compared with."""
BY_HAND = 30
NODES = 100
SHARE = 0.8
QUICK_CREATE = 5.0
MOST_CALLS = 2.5


def by_hand(plane: ControlPlane, in_flight: int) -> float:
    """Servers per minute with so many in flight: each is created, waited for, and left."""
    network = plane.member.network.find_network("private").id
    image, flavor = plane.image("base"), plane.member.compute.find_flavor("m1.tiny").id
    active: set[str] = set()
    wanted: set[str] = set()
    lock = threading.Lock()
    room = threading.Semaphore(in_flight)

    def create(number: int) -> None:
        room.acquire()
        server = plane.member.compute.create_server(
            name=f"hand-{in_flight}-{number}", image_id=image, flavor_id=flavor, networks=[{"uuid": network}]
        )
        with lock:
            wanted.add(server.id)

    def look() -> bool:
        for server in plane.servers():
            if server.status == "ACTIVE" and server.id not in active and server.id in wanted:
                active.add(server.id)
                room.release()
        return len(active) == BY_HAND

    began = time.monotonic()
    with ThreadPoolExecutor(in_flight) as pool:
        for number in range(BY_HAND):
            pool.submit(create, number)
        wait_for(f"{BY_HAND} servers, {in_flight} at a time", look, 600, 1.0)
    seconds = time.monotonic() - began
    plane.clean()
    return 60 * BY_HAND / seconds


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


@row(
    "hundred",
    "100 requests at once: all served, none thrown away, at least 80 % of the best fixed number in flight",
    alone=True,
)
def hundred(lab: Lab) -> str:
    plane = lab.plane
    best = {number: by_hand(plane, number) for number in FIXED}
    site = lab.site()
    since = plane.mark()
    requests = site.ask_many(NODES)
    served: list[float] = []
    began = time.monotonic()
    with site.launcher(launcher_duration=1500):
        while len(served) < NODES and time.monotonic() - began < 1200:
            done = site.fulfilled(requests)
            served += [time.monotonic() - began] * (done - len(served))
            time.sleep(2)
        made = plane.calls(since)
        nodes = len(site.requestor.nodes())
        site.requestor.wait_gone(
            site.give_all_back([r for r in requests if site.requestor.state(r) == "fulfilled"]), 600
        )
    creates = [
        seconds for kind, status, seconds in plane.timed_calls(since) if kind == "POST /servers" and status == 202
    ]
    rate = 60 * len(served) / (served[-1] if served else 1)
    calls = sum(plane.calls(since).values()) / NODES
    told = (
        f"by hand {', '.join(f'{rate:.0f}/min with {number}' for number, rate in best.items())}; "
        f"the launcher {rate:.0f}/min ({100 * rate / max(best.values()):.0f} %), {len(served)} served, "
        f"{made['POST /servers 202']} creates, median create {median(creates):.1f} s, "
        f"median wait {median(served):.0f} s, {calls:.2f} calls per life"
    )
    assert len(served) == NODES, told
    assert made["POST /servers 202"] == NODES == nodes, f"thrown away: {told}"
    assert rate >= SHARE * max(best.values()), told
    assert calls <= MOST_CALLS or median(creates) >= QUICK_CREATE, told
    return told
