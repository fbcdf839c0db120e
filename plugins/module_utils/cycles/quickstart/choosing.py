# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the cloud offers and chooses what a first node needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from ...launching.first_choices import (
    FirstNetwork,
    first_flavor,
    first_group,
    first_image,
    first_max_servers,
    first_network,
)
from ...launching.first_config import FirstPlan
from ...model.cloud import SecurityGroup
from ...model.config.types import Provider
from ...model.errors import CloudError, wrong
from ...model.resources import Limits
from ..frame.cycle_options import ConfigOptions
from .folder_notes import PREFIX, Notes
from .wish import QuickstartWish

if TYPE_CHECKING:
    from ...clients.openstack.cloud_client import CloudClient

DEFAULT_GROUP = SecurityGroup("", "default")
_WAYS = {
    "direct": "reached directly",
    "private": "reached by its private address",
    "floating": "by a floating IP",
    "ipv6": "by IPv6",
}


def client_of(wish: QuickstartWish) -> CloudClient:
    """Return a client of the cloud.

    :raises CloudAuthError: the entry of clouds.yaml cannot be used.
    """
    options = ConfigOptions(config="", clouds_config=wish.clouds_config, api_timeout=wish.api_timeout)
    return options.client(Provider(name=wish.cloud, cloud=wish.cloud, region_name=wish.region or None))


def decide(
    wish: QuickstartWish, notes: Notes, *, makes: bool = True, say: Callable[[str], None] = lambda line: None
) -> FirstPlan:
    """Read the cloud and choose; make the security group if one is needed.

    :param makes: False: make nothing.
    :return: a plan without servers of ZooKeeper.
    :raises ConfigError: the cloud lacks something, or a choice would be arbitrary.
    """
    say(f"reading what cloud {wish.cloud} offers")
    with closing(client_of(wish)) as client:
        limits = client.limits(network=True)
        left = limits.bounds.less(limits.used)
        image = first_image(client.access.list_images(), wanted=wish.image, user=wish.user)
        flavor = first_flavor(client.list_flavors(), image, left, wanted=wish.flavor)
        network = _network(wish, client, left)
        group = DEFAULT_GROUP
        if network is not None:
            groups = client.access.list_groups(network.version)
            found = first_group(usable_groups(notes, wish, groups), wanted=wish.group)
            made = _made_group(notes, client, network.version, say) if makes and not found else None
            group = found or made or SecurityGroup("", notes.name)
    return FirstPlan(
        cloud=wish.cloud,
        region=wish.region,
        image=image,
        flavor=flavor,
        network=network,
        group=group,
        keypair=notes.name,
        max_servers=first_max_servers(flavor.flavor, network, left),
        ssh_port=wish.ssh_port,
    )


def _network(wish: QuickstartWish, client: CloudClient, left: Limits) -> FirstNetwork | None:
    networks = client.list_networks()
    if not networks and client.access.has_neutron:
        raise wrong(
            "the project sees no network: create one with a subnet, and a router to an external network (openstack"
            " network create, subnet create, router create)"
        )
    try:
        routes = client.access.list_routes()
    except CloudError:
        # Where the policy hides routers, each network may have one; config_validate and the launch tell the rest.
        routes = [(one.id, other.id) for one in networks for other in networks if other.external and not one.external]
    return first_network(
        networks,
        routes,
        left,
        wanted=wish.network,
        private=client.private,
        roles=client.roles,
        only_ipv6=_only_ipv6(client),
        routed_ipv6=client.local_ipv6 and not client.force_ipv4,
    )


def _only_ipv6(client: CloudClient) -> list[str]:
    """Return the ids of the networks whose subnets are all of IPv6; none where the policy hides subnets."""
    try:
        return [network for network, versions in client.access.list_ip_versions().items() if versions == {6}]
    except CloudError:
        return []


def usable_groups(notes: Notes, wish: QuickstartWish, groups: Iterable[SecurityGroup]) -> list[SecurityGroup]:
    """Return the groups without those of other quick starts, which are deleted with them; a named one may be any."""
    return [
        group for group in groups if wish.group or group.name == notes.group or not group.name.startswith(f"{PREFIX}-")
    ]


def _made_group(notes: Notes, client: CloudClient, version: int, say: Callable[[str], None]) -> SecurityGroup:
    """Make the group that lets ssh in. One that a killed run left, perhaps without rules, is replaced."""
    for left in client.access.list_groups(version):
        if notes.group and left.name == notes.group:
            if left.admits_ssh:
                return left
            client.access.delete_group(left.id)
    notes.group = notes.name
    notes.write()
    say(f"creating security group {notes.group}: no group of the project lets ssh in, or several do")
    made = client.access.create_ssh_group(notes.group, "ssh to nodes; made by stackci.nodepool.quickstart", version)
    return SecurityGroup(made, notes.group, admits_ssh=True)


def told(plan: FirstPlan) -> list[str]:
    """Return a part of a sentence for each choice."""
    chosen, network = plan.image, plan.network
    parts = [
        f"image {chosen.image.name}, user {chosen.user} ({chosen.user_from})",
        f"flavor {plan.flavor.flavor.name}, the smallest on which it boots",
    ]
    if network is not None:
        parts.append(f"network {network.network.name}, {_WAYS[network.way]}")
    if plan.group != DEFAULT_GROUP:
        parts.append(f"security group {plan.group.name}")
    return parts
