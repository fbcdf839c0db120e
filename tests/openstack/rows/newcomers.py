# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The quick start: what it reads, makes and removes in a project."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.folder_notes import Notes
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.quickstart.prepare import private_zookeeper
from tests.openstack.control_plane import ControlPlane
from tests.openstack.lab import Lab, row

IMAGE = "debian-12-genericcloud"
SECONDS = 40
"""No server of the control plane answers by ssh."""


def things(plane: ControlPlane) -> dict[str, list[str]]:
    """Names of everything in the project that the quick start may make."""
    member = plane.member
    found: dict[str, Any] = {
        "keypairs": member.compute.keypairs(),
        "groups": member.network.security_groups(project_id=plane.project_id),
        "servers": member.compute.servers(),
    }
    named = {kind: sorted(str(item.name) for item in items) for kind, items in found.items()}
    ips = sorted(str(ip.floating_ip_address) for ip in member.network.ips())
    return {**named, "ips": ips, "ports": sorted(str(port.id) for port in _ports(plane))}


def _ports(plane: ControlPlane) -> list[Any]:
    """Ports of servers; DHCP and routers have some of their own."""
    ports = plane.member.network.ports(project_id=plane.project_id)
    return [port for port in ports if port.device_owner.startswith("compute:")]


def end_zookeeper(folder: Path) -> None:
    """End what a row that went wrong has left."""
    notes = Notes.read(str(folder))
    if notes.port:
        private_zookeeper(notes).remove()


@row("first-hour", "quick start: check mode makes nothing, a lease in vain leaves no server, absent leaves nothing")
def first_hour(lab: Lab) -> str:
    plane = lab.plane
    plane.image(IMAGE, {"os_distro": "debian", "os_version": "12"})
    before = things(plane)
    site = lab.site()
    site.add_cloud("one", private=False)
    folder = site.folder / "quickstart"
    given: dict[str, Any] = {"cloud": "one", "quickstart_folder": str(folder), "quickstart_timeout": SECONDS}
    with ExitStack() as stack:
        stack.callback(end_zookeeper, folder)
        shown = site.play("quickstart.yml", "--check", **given)
        assert f"image-name: {IMAGE}" in shown and "networks: [private]" in shown, shown[-3000:]
        assert not folder.exists() and things(plane) == before, shown[-3000:]

        said = site.play("quickstart.yml", fails=True, **given)
        assert f"is not complete after {SECONDS} s" in said and "of node 0000000000" in said, said[-3000:]
        made = things(plane)
        name = Notes.read(str(folder)).name
        assert {kind: set(made[kind]) - set(before[kind]) for kind in made} == {
            "keypairs": {name}, "groups": {name}, "servers": set(), "ips": set(), "ports": set()
        }, said[-3000:]  # fmt: skip

        again = site.play("quickstart.yml", fails=True, **given)
        assert f"is not complete after {SECONDS} s" in again and things(plane) == made, again[-3000:]

        gone = site.play("quickstart.yml", state="absent", **given)
        assert name in gone and not folder.exists() and things(plane) == before, gone[-3000:]
        site.play("quickstart.yml", state="absent", **given)
    return f"made and removed: keypair and security group {name}"
