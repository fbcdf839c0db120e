# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many nodes at once, on a control plane that shares its two cores with the launcher."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.openstack.control_plane import ControlPlane, wait_for
from tests.openstack.lab import Lab, RealSite, one, pool, row, tiny

FIXED = (20, 5)
"""Numbers in flight that are tried by hand, the best on most machines first; the launcher is compared with the best."""
BY_HAND = 0.2
"""So large a part of the crowd is made by hand for each of these numbers."""
SHARE = 0.8
QUICK_CREATE = 5.0
CALLS, MORE_CALLS = 2.0, 50
"""A create and a delete for each node, and so many more calls for the whole crowd: 2.5 for each of a hundred."""


class ByHand:
    """Servers made with a fixed number in flight; all stay there.

    For each build nova asks placement for the allocation of every server of the host, so a build costs more the more
    there are. So while the first number is tried, half of the crowd stands there on average, as in the launcher's part.
    """

    def __init__(self, plane: ControlPlane, crowd: int) -> None:
        self._plane = plane
        self._network = plane.member.network.find_network("private").id
        self._image, self._flavor = plane.image("base"), plane.member.compute.find_flavor("m1.tiny").id
        self._number = max(10, round(BY_HAND * crowd))
        self._make(max(0, (crowd - self._number) // 2), self._number)

    def rate(self, in_flight: int) -> float:
        """Servers per minute with so many in flight."""
        return 60 * self._number / self._make(self._number, in_flight)

    def _make(self, number: int, in_flight: int) -> float:
        """The seconds that it takes to make so many, of which each is created and waited for."""
        active: set[str] = set()
        wanted: set[str] = set()
        lock = threading.Lock()
        room = threading.Semaphore(in_flight)

        def create(place: int) -> None:
            room.acquire()
            server = self._plane.member.compute.create_server(
                name=f"hand-{place}", image_id=self._image, flavor_id=self._flavor, networks=[{"uuid": self._network}]
            )
            with lock:
                wanted.add(server.id)

        def look() -> bool:
            # A list with details, as a launcher needs it for the addresses.
            for server in self._plane.servers():
                if server.status == "ACTIVE" and server.id not in active and server.id in wanted:
                    active.add(server.id)
                    room.release()
            return len(active) == number

        began = time.monotonic()
        with ThreadPoolExecutor(in_flight) as pool:
            for place in range(number):
                pool.submit(create, place)
            wait_for(f"{number} servers, {in_flight} at a time", look, 600, 1.0)
        return time.monotonic() - began


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


@row(
    "crowd",
    "many requests at once (--crowd): all served, none thrown away, at least 80 % of the best fixed number in flight",
    alone=True,
)
def crowd(lab: Lab) -> str:
    plane, number = lab.plane, lab.crowd
    hand = ByHand(plane, number)
    best = {in_flight: hand.rate(in_flight) for in_flight in FIXED}
    plane.clean()
    site = lab.site()
    with site.launcher(launcher_duration=1500):
        wait_for("the launcher", lambda: site.requestor.children("/nodepool/components/pool"))
        since, began = plane.mark(), time.time()
        requests = site.ask_many(number)
        while site.fulfilled(requests) < number and time.time() - began < 1200:
            time.sleep(2)
        records = [site.requestor.request(ident) for ident in requests]
        served = sorted(one["state_time"] - began for one in records if one and one["state"] == "fulfilled")
        made = plane.calls(since)
        while_served = sum(kind == "GET /servers/detail" for kind, _status, _seconds in plane.timed_calls(since))
        nodes = len(site.requestor.nodes())
        site.requestor.wait_gone(
            site.give_all_back([r for r in requests if site.requestor.state(r) == "fulfilled"]), 600
        )
    timed = plane.timed_calls(since)
    creates = [seconds for kind, status, seconds in timed if kind == "POST /servers" and status == 202]
    lists = [seconds for kind, _status, seconds in timed if kind == "GET /servers/detail"]
    rate = 60 * len(served) / (served[-1] if served else 1)
    calls = len(timed) / number
    told = (
        f"by hand {', '.join(f'{rate:.0f}/min with {in_flight}' for in_flight, rate in best.items())}; "
        f"the launcher {rate:.0f}/min ({100 * rate / max(best.values()):.0f} %), {len(served)} of {number} served, "
        f"{made['POST /servers 202']} creates, median create {median(creates):.1f} s, "
        f"{while_served} lists until all were served and {len(lists) - while_served} until all were deleted, "
        f"median list {median(lists):.1f} s, "
        f"median wait {median(served):.0f} s, {calls:.2f} calls per life"
    )
    assert len(served) == number, told
    assert made["POST /servers 202"] == number == nodes, f"thrown away: {told}"
    assert rate >= SHARE * max(best.values()), told
    assert calls <= CALLS + MORE_CALLS / number or median(creates) >= QUICK_CREATE, told
    return told


WAVES, IN_WAVE, SPARES = 5, 8, 10
THROWN_AWAY = 0.05


@row(
    "two-providers",
    "two providers of one label, a crowd at once and then waves beside min-ready: all served, hardly a server too many",
    alone=True,
)
def two_providers(lab: Lab) -> str:
    plane, number = lab.plane, lab.crowd // 2
    most = number + SPARES + IN_WAVE
    pools = [one(pool("main", tiny(), max_servers=most), name=name) for name in ("one", "two")]
    site = lab.site(*pools, labels={"tiny": {"min-ready": SPARES}})
    since, began = plane.mark(), time.time()
    with site.launcher(launcher_duration=1500):
        asked = site.ask_many(number)
        site.wait_served(asked, 900)
        crowd_in = time.time() - began
        site.give_all_back(asked)
        waits = []
        for _number in range(WAVES):
            wave_began = time.time()
            wave = site.ask_many(IN_WAVE)
            site.wait_served(wave, 600)
            waits.append(time.time() - wave_began)
            site.give_all_back(wave)
            asked += wave
        wait_for("all spares", lambda: _states(site) == ["ready"] * SPARES, 600, 1.0)
    created, needed = plane.calls(since)["POST /servers 202"], len(asked) + SPARES
    providers = Counter(str(node["provider"]) for node in site.requestor.nodes().values())
    told = (
        f"{len(asked)} served, {created} creates for {needed} nodes; the crowd of {number} in {crowd_in:.0f} s,"
        f" a wave of {IN_WAVE} in {', '.join(f'{seconds:.0f}' for seconds in waits)} s; spares at {dict(providers)}"
    )
    assert created <= (1 + THROWN_AWAY) * needed, f"thrown away: {told}"
    return told


def _states(site: RealSite) -> list[str]:
    return [str(node["state"]) for node in site.requestor.nodes().values()]
