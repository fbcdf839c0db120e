# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of a small, commented nodepool.yaml with one label. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..model.bounded_text import bounded, is_printable, marked
from ..model.cloud import SecurityGroup
from ..model.lines import amount
from .first_choices import FirstFlavor, FirstImage, FirstNetwork

SSH_PORT = 22
BOOT_TIMEOUT = 300
"""Seconds; Nodepool's default of 60 is too short for clouds that copy the image to the hypervisor first."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_. -]*(?<! )")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_LONGEST_LABEL = 40
LONGEST_COMMENT = 100


@dataclass(frozen=True)
class FirstPlan:
    """What the first configuration has.

    :ivar cloud: entry of clouds.yaml; also the name of the provider.
    :ivar servers: hosts and ports of ZooKeeper.
    :ivar chroot: of ZooKeeper; "" for none.
    :ivar servers_from: what is said about the servers in a comment.
    :ivar network: None where the cloud has no networks to choose from.
    """

    cloud: str
    region: str
    image: FirstImage
    flavor: FirstFlavor
    network: FirstNetwork | None
    group: SecurityGroup
    keypair: str
    max_servers: int
    ssh_port: int = SSH_PORT
    servers: tuple[tuple[str, int], ...] = ()
    chroot: str = ""
    servers_from: str = ""

    @property
    def label(self) -> str:
        """The name of the label: that of the image in small letters, digits and dashes."""
        name = re.sub(r"[^a-z0-9.]+", "-", self.image.image.name.lower()).strip("-.")
        return name[:_LONGEST_LABEL].rstrip("-.") or "first"


def first_config(plan: FirstPlan) -> str:
    """Return the text of nodepool.yaml. Equal plans have equal texts."""
    return (
        "# Made by the playbook stackci.nodepool.quickstart. Change it as you like: a file that was changed is used\n"
        "# as it is, and never written again. docs/configuration.md of the collection explains every key.\n"
        "---\n"
        f"{_zookeeper(plan)}\n"
        "labels:\n"
        f"  - name: {scalar(plan.label)}  # what somebody asks for\n"
        "    # min-ready: 1  # nodes that wait ready, so that nobody waits for a boot\n\n"
        "providers:\n"
        f"  - name: {scalar(plan.cloud)}\n"
        f"    cloud: {scalar(plan.cloud)}  # entry of clouds.yaml\n"
        f"{_region(plan)}"
        f"    boot-timeout: {BOOT_TIMEOUT}  # seconds until ssh answers\n"
        f"{_image(plan)}"
        "    pools:\n"
        "      - name: main\n"
        f"        max-servers: {plan.max_servers}  # the quota of the project allows it\n"
        f"{_network(plan)}"
        "        labels:\n"
        f"          - name: {scalar(plan.label)}\n"
        f"            cloud-image: {scalar(plan.label)}\n"
        f"{_flavor(plan)}"
        f"            key-name: {scalar(plan.keypair)}  # keypair in the cloud, for the login\n"
    )


def _zookeeper(plan: FirstPlan) -> str:
    lines = [f"zookeeper-servers:  # {plan.servers_from}"]
    for host, port in plan.servers:
        lines += [f"  - host: {scalar(host)}", f"    port: {port}"]
        lines += [f"    chroot: {scalar(plan.chroot)}"] if plan.chroot else []
    return "".join(f"{line}\n" for line in lines)


def _region(plan: FirstPlan) -> str:
    return f"    region-name: {scalar(plan.region)}\n" if plan.region else ""


def _image(plan: FirstPlan) -> str:
    chosen = plan.image
    which = f"image-name: {scalar(chosen.image.name)}"
    if not chosen.unique or not chosen.image.name:
        which = f"image-id: {scalar(chosen.image.id)}  # {_comment(chosen.image.name)}; several have the name"
    port = f"        connection-port: {plan.ssh_port}\n" if plan.ssh_port != SSH_PORT else ""
    return (
        "    cloud-images:\n"
        f"      - name: {scalar(plan.label)}\n"
        f"        {which}\n"
        f"        username: {scalar(chosen.user)}  # {_comment(chosen.user_from)}\n"
        f"{port}"
        "        config-drive: true  # the key reaches the node also where the cloud has no metadata service\n"
    )


def _network(plan: FirstPlan) -> str:
    found, group = plan.network, plan.group
    text = ""
    if found is not None:
        name = found.network.name if found.unique and found.network.name else found.network.id
        why = {
            "direct": "its addresses can be reached from outside",
            "private": "clouds.yaml says that private addresses can be reached",
            "ipv6": "it has only IPv6, and no floating IPs: its addresses are reached as they are",
            "floating": f"a router leads to {_comment(found.external)}, where floating IPs come from",
        }[found.way]
        text += f"        networks: [{scalar(name)}]  # {why}\n"
        text += f"        auto-floating-ip: {'true' if found.floating else 'false'}\n"
    if group.name != "default":
        text += f"        security-groups: [{scalar(group.name)}]  # lets ssh in; the group default does not\n"
    return text


def _flavor(plan: FirstPlan) -> str:
    flavor, volume = plan.flavor.flavor, plan.flavor.volume_gb
    text = f"            flavor-name: {scalar(flavor.name)}  # {amount(flavor.cores, 'core')}, {flavor.ram} MiB\n"
    if volume:
        text += (
            f"            boot-from-volume: true  # the flavor has no disk\n            volume-size: {volume}  # GB\n"
        )
    return text


def scalar(text: str) -> str:
    """Return a text as a scalar of YAML: plain where that is the same text, or else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if is_printable(character) else f"\\U{ord(character):08x}"


def _comment(text: str) -> str:
    """Return a text of the cloud for a comment, on one line."""
    return marked(bounded(text), LONGEST_COMMENT)
