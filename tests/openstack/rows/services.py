# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One service at a time is stopped, started again, and frozen, while nodes are asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.openstack.control_plane import ControlPlane, wait_for
from tests.openstack.lab import COMPUTE, VOLUMES, Lab, RealSite, one, pool, row, tiny

AWAY_SECONDS = 15.0
ATTEMPTS = 100
"""More than a node can have meanwhile: without placement nova accepts a create and says soon that no host is valid."""
TOLD = re.compile(r"^\[node_launch\] (.*)$", re.MULTILINE)
ROUTINE = re.compile(r": (?:acting$|launching |accepted |fulfilled |ready after )")
"""What the launcher says when all is well."""
SERVICES: dict[str, dict[str, Any]] = {
    "keystone": {},
    "glance-api": {},
    "neutron-server": {},
    "placement": {},
    VOLUMES: {"boot_from_volume": True, "volume_size": 1},
}
"""Service → options of a label that needs it."""


@contextmanager
def stopped(plane: ControlPlane, service: str) -> Iterator[None]:
    """SIGKILL; started again at the end."""
    plane.kill(service)
    try:
        yield
    finally:
        plane.start_again()


@contextmanager
def frozen(plane: ControlPlane, service: str) -> Iterator[None]:
    """SIGSTOP; SIGCONT at the end."""
    plane.freeze(service)
    try:
        yield
    finally:
        plane.thaw(service)


def meanwhile(site: RealSite, lab: Lab, service: str, how: Callable[[ControlPlane, str], Any]) -> str:
    """Ask for a node while the service is away; it comes back, and the node is served. What was told meanwhile."""
    before = len(site.screen())
    with how(lab.plane, service):
        requests = site.ask_many(1)
        time.sleep(AWAY_SECONDS)
        served, reasons = site.fulfilled(requests), sorted(site.reasons())
        said = [line for line in TOLD.findall(site.screen()[before:]) if not ROUTINE.search(line)]
    site.wait_served(requests)
    told = "; ".join([*reasons, *list(dict.fromkeys(said))[:2]])[:240] or "nothing"
    return f"{how.__name__}: {'served' if served else 'not served'} meanwhile, told {told}"


def away(service: str) -> Callable[[Lab], str]:
    """The row of a service."""

    def work(lab: Lab) -> str:
        site = lab.site(one(pool("main", tiny(**SERVICES[service])), launch_retries=ATTEMPTS))
        with site.launcher():
            first = site.ask_many(1)
            site.wait_served(first)
            seen = [meanwhile(site, lab, service, how) for how in (stopped, frozen)]
            nodes = site.requestor.nodes()
            wait_for("no server too many", lambda: len(lab.plane.server_ids()) == len(site.requestor.nodes()) == 3)
        assert {node["state"] for node in nodes.values()} == {"ready"}, nodes
        return "\n".join(seen)

    return work


for _service in SERVICES:
    row(
        f"{_service}-away",
        f"{_service} is killed and started again, then frozen, for {AWAY_SECONDS:.0f} s each: all served afterwards",
        disturbs=_service,
        needs=(COMPUTE, VOLUMES),
    )(away(_service))
