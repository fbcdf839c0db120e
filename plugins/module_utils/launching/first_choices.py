# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Chooses what a first node needs from what a cloud offers: image, user, flavor, network. No I/O.

A choice that would be arbitrary is not made: the error has the candidates and the option that chooses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ..clients.openstack.addresses import DEFAULT_ROLES, NetworkRoles, external_networks
from ..model.cloud import IMAGE_BUILD, Flavor, Image, Network, SecurityGroup
from ..model.errors import wrong
from ..model.lines import amount
from ..model.offered import listed
from ..model.resources import CORES, FLOATING_IPS, INSTANCES, RAM, Limits, Resources

GIB = 1 << 30
LEAST_RAM = 1024
"""MiB of memory with which the known distributions boot."""
SMALL_RAM = 256
"""The same for those that are made to be small."""
LEAST_DISK = 10
"""GB of a volume to boot from, where an image does not say what it needs."""
MOST_NODES = 4
"""Largest ``max-servers`` that is written into a first configuration."""

DISTRIBUTIONS = (
    ("debian", "debian"),
    ("ubuntu", "ubuntu"),
    ("fedora", "fedora"),
    ("rocky", "rocky"),
    ("almalinux", "almalinux"),
    ("centos", "cloud-user"),
    ("rhel", "cloud-user"),
    ("opensuse", "opensuse"),
    ("arch", "arch"),
    ("alpine", "alpine"),
    ("cirros", "cirros"),
)
"""Known distributions, the first choice first, and the user that their published cloud images have. Sources: the
OpenStack virtual machine image guide ("Get images") and the distributions' own pages."""
_SMALL = frozenset({"alpine", "cirros"})
_ALIASES = {"alma": "almalinux", "redhat": "rhel", "red hat": "rhel", "suse": "opensuse"}
_NO_DISK = frozenset({"iso", "aki", "ari", "ami"})
_OTHER_MACHINES = re.compile(r"aarch64|arm64|armhf|ppc64|s390x|riscv|windows|baremetal|netboot", re.IGNORECASE)
_USUAL_MACHINES = ("", "x86_64", "amd64")
_OTHER_USERS = re.compile(r"coreos|microos|nocloud|ubuntu[ _-]?core", re.IGNORECASE)
"""Variants of distributions that lack the usual user: they have another one, or take no key from the cloud."""
_OLD_CENTOS = re.compile(r"centos\D{0,8}[678]\b", re.IGNORECASE)


@dataclass(frozen=True)
class FirstImage:
    """An image with the user to log in as. *user_from*: where the name of the user comes from, for a comment.

    *unique*: no other usable image has the name.
    """

    image: Image
    distribution: str
    user: str
    user_from: str
    unique: bool


@dataclass(frozen=True)
class FirstFlavor:
    """A flavor. *volume_gb*: size of the volume to boot from, 0 to boot from the disk of the flavor."""

    flavor: Flavor
    volume_gb: int = 0


@dataclass(frozen=True)
class FirstNetwork:
    """A network and how its servers are reached.

    :ivar way: ``direct``, ``floating`` (a router leads to *external*), ``private`` (clouds.yaml says so) or ``ipv6``
        (its subnets are all of IPv6, and so is this machine's way to it).
    :ivar external: name of the network that floating IPs come from; "" without floating IP.
    """

    network: Network
    way: str
    external: str = ""
    unique: bool = True

    @property
    def floating(self) -> bool:
        """True when a server needs a floating IP."""
        return self.way == "floating"

    @property
    def version(self) -> int:
        """The version of IP by which ssh reaches a server."""
        return 6 if self.way == "ipv6" else 4


def first_image(images: Iterable[Image], *, wanted: str = "", user: str = "") -> FirstImage:
    """Return the image of a first node: the named one, or the newest of the first known distribution.

    :param wanted: name or id of the image; "" to choose.
    :param user: user to log in as; "" for the usual user of the image.
    :raises ConfigError: there is no such image, several have the name, or nobody knows the user.
    """
    active = [image for image in images if image.status == "active"]
    if not active:
        raise wrong(
            "the cloud shows this project no active image (images of others that are community or hidden are not"
            " listed): upload a cloud image with openstack image create"
        )
    if wanted:
        return _named_image(active, wanted, user)
    known = [image for image in active if _is_usual(image) and distribution_of(image)]
    if not known:
        names = listed("", sorted(image.name for image in active if image.name))
        raise wrong(
            f"the cloud has no active image of a distribution that is known here; it has {names}: choose one with"
            " -e quickstart_image=NAME, and name its user with -e quickstart_user=NAME; or upload a cloud image"
        )
    order = [name for name, _user in DISTRIBUTIONS]
    best = min(order.index(distribution_of(image)) for image in known)
    newest = max(
        (image for image in known if distribution_of(image) == order[best]),
        key=lambda image: (_version(image), image.created or "", image.id),
    )
    return _with_user(newest, active, user)


def _named_image(active: Sequence[Image], wanted: str, user: str) -> FirstImage:
    found = [image for image in active if image.id == wanted] or [image for image in active if image.name == wanted]
    if len(found) > 1:
        ids = ", ".join(sorted(image.id for image in found))
        raise wrong(f"{amount(len(found), 'image')} are named {wanted!r} ({ids}): use an id as quickstart_image")
    if not found:
        names = listed(wanted, sorted(image.name for image in active if image.name))
        raise wrong(f"the cloud has no active image {wanted!r}; it has {names}: correct quickstart_image")
    return _with_user(found[0], active, user)


def _with_user(image: Image, active: Sequence[Image], user: str) -> FirstImage:
    unique = sum(1 for other in active if other.name == image.name) == 1
    distribution = distribution_of(image)
    if user:
        return FirstImage(image, distribution, user, "quickstart_user", unique)
    said = image.properties.get("os_admin_user", "")
    if said:
        return FirstImage(image, distribution, said, "the property os_admin_user of the image", unique)
    usual = dict(DISTRIBUTIONS).get(distribution, "")
    if usual and distribution == "centos" and _OLD_CENTOS.search(_texts(image)):
        usual = "centos"
    if not usual:
        raise wrong(
            f"image {image.name!r} has no property os_admin_user and is of no known distribution: name the user to"
            " log in as with -e quickstart_user=NAME"
        )
    return FirstImage(image, distribution, usual, f"the usual user of {distribution} images", unique)


def distribution_of(image: Image) -> str:
    """Return the distribution of an image by its property os_distro, or else by its name; "" when it is unknown.

    Also "" for a variant without the usual user of its distribution.
    """
    names = {name: name for name, _user in DISTRIBUTIONS} | _ALIASES
    if any(_OTHER_USERS.search(text) for text in (image.properties.get("os_distro", ""), image.name)):
        return ""
    for text in (image.properties.get("os_distro", ""), image.name):
        for word, name in names.items():
            if re.search(rf"(?<![a-z]){word}(?:linux)?(?![a-z])", text.lower()):
                return name
    return ""


def _texts(image: Image) -> str:
    properties = image.properties
    return f"{image.name} {properties.get('os_distro', '')} {properties.get('os_version', '')}"


def _is_usual(image: Image) -> bool:
    """Return True for a whole disk of Linux for the usual machines, which no builder and no snapshot made."""
    properties = image.properties
    return (
        not image.is_snapshot
        and IMAGE_BUILD not in properties
        and properties.get("disk_format", "") not in _NO_DISK
        and properties.get("os_type", "linux").lower() == "linux"
        and (properties.get("architecture") or properties.get("hw_architecture") or "").lower() in _USUAL_MACHINES
        and not _OTHER_MACHINES.search(image.name)
    )


def _version(image: Image) -> tuple[int, ...]:
    said = image.properties.get("os_version") or image.name
    return tuple(int(part) for part in re.findall(r"\d+", said)[:2])


def first_flavor(flavors: Iterable[Flavor], chosen: FirstImage, left: Limits, *, wanted: str = "") -> FirstFlavor:
    """Return the smallest flavor, by (ram, cores, disk, name), on which the image boots and that the quota allows.

    :param left: what is left of the quota of the project.
    :param wanted: name or id of the flavor; "" to choose.
    :raises ConfigError: no flavor fits, the named one is not there or does not fit.
    """
    offered = sorted(flavors, key=lambda flavor: (flavor.ram, flavor.cores, flavor.disk, flavor.name))
    if not offered:
        raise wrong("the cloud shows this project no flavor: ask its operators for access to one")
    if wanted:
        found = [flavor for flavor in offered if wanted in (flavor.id, flavor.name)]
        if not found:
            names = listed(wanted, [flavor.name for flavor in offered])
            raise wrong(f"the cloud has no flavor {wanted!r}; it has {names}: correct quickstart_flavor")
        offered = found[:1]
    image, name = chosen.image, f"image {chosen.image.name!r}"
    least_ram = image.min_ram or (SMALL_RAM if chosen.distribution in _SMALL else 0 if wanted else LEAST_RAM)
    least_disk = _least_disk(image)
    roomy = [flavor for flavor in offered if flavor.ram >= least_ram and (not flavor.disk or flavor.disk >= least_disk)]
    if not roomy:
        shown = listed("", [f"{flavor.name} ({flavor.ram} MiB, {flavor.disk} GB)" for flavor in offered])
        raise wrong(
            f"{name} needs {least_ram} MiB of memory and a disk of {least_disk} GB; the flavors are {shown}: choose"
            " another image with -e quickstart_image=NAME, or a flavor with -e quickstart_flavor=NAME"
        )
    affordable = [flavor for flavor in roomy if left.allows(needs_of(flavor))]
    if not affordable:
        short = "; ".join(
            f"{resource}: {needed:g} needed, {rest:g} left"
            for resource, (needed, rest) in left.short_of(needs_of(roomy[0])).items()
        )
        raise wrong(
            f"the quota of the project has no room for one server of flavor {roomy[0].name} ({short}): delete"
            " servers, have the quota raised, or choose a flavor with -e quickstart_flavor=NAME"
        )
    # By default nova boots flavors without a disk from volumes only (policy zero-disk-flavor).
    with_disk = [flavor for flavor in affordable if flavor.disk]
    flavor = (with_disk or affordable)[0]
    return FirstFlavor(flavor, 0 if flavor.disk else max(least_disk, LEAST_DISK))


def needs_of(flavor: Flavor) -> Resources:
    """Return what one server of the flavor takes of nova's quota."""
    return Resources({INSTANCES: 1, CORES: flavor.cores, RAM: flavor.ram})


def _least_disk(image: Image) -> int:
    """Return the GB of disk that the image needs: nova refuses a flavor below min_disk or below the image's size."""
    said = image.properties.get("virtual_size", "")
    size = int(said) if said.isdigit() else image.size or 0
    return max(image.min_disk, math.ceil(size / GIB), 1)


def first_network(
    networks: Sequence[Network],
    routes: Iterable[tuple[str, str]],
    left: Limits,
    *,
    wanted: str = "",
    private: bool = False,
    roles: NetworkRoles = DEFAULT_ROLES,
    only_ipv6: Collection[str] = (),
    routed_ipv6: bool = False,
) -> FirstNetwork | None:
    """Return the network in which ssh reaches a server; None when the cloud has no networks to choose from.

    A network whose addresses are reached from outside comes first, then one whose router leads to an external network,
    then one that has only IPv6: there are no floating IPs of IPv6.
    Of the kind that is taken there must be one network only.

    :param routes: pairs (network, external network) of ids that routers connect.
    :param left: what is left of the quota of the project.
    :param wanted: name or id of the network; "" to choose.
    :param private: clouds.yaml says that servers are reached by private addresses.
    :param only_ipv6: ids of networks without a subnet of IPv4.
    :param routed_ipv6: this machine reaches addresses of IPv6.
    :raises ConfigError: no network can work, several can, or no floating IP is left.
    """
    if not networks:
        return None
    candidates = [network for network in networks if network.has_subnet and network.automatic]
    if wanted:
        candidates = [network for network in networks if network.id == wanted]
        candidates = candidates or [network for network in networks if network.name == wanted]
        if not candidates:
            offered = listed(wanted, sorted(network.name for network in networks))
            raise wrong(f"the cloud has no network {wanted!r}; it has {offered}: correct quickstart_network")
    direct = {network.id for network in external_networks(networks, roles)}
    names = {network.id: network.name for network in networks}
    leads = {network: external for network, external in reversed(list(routes)) if external in names}
    kinds: list[list[FirstNetwork]] = [[], [], []]
    for network in candidates:
        if network.id in only_ipv6:
            if routed_ipv6 and (private or network.id in direct or network.id in leads):
                kinds[2].append(FirstNetwork(network, "ipv6"))
        elif network.id in direct:
            kinds[0].append(FirstNetwork(network, "direct"))
        elif private:
            kinds[1].append(FirstNetwork(network, "private"))
        elif leads.get(network.id, "") not in ("", *only_ipv6) and roles.floating_ips:
            kinds[1].append(FirstNetwork(network, "floating", names[leads[network.id]]))
    found = next((kind for kind in kinds if kind), [])
    if not found:
        raise wrong(_no_way(candidates, networks, only_ipv6, routed_ipv6))
    if len(found) > 1:
        shown = ", ".join(f"{one.network.name} ({one.network.id})" for one in found)
        raise wrong(
            f"several networks can be used: {shown}: choose one with -e quickstart_network=NAME (a name or an id)"
        )
    if found[0].floating and left[FLOATING_IPS] < 1:
        raise wrong(
            f"servers in network {found[0].network.name} need a floating IP, and the quota of the project has none"
            " left: delete one that is not used (openstack floating ip list), or have the quota raised"
        )
    return _unique(found[0], networks)


def _unique(found: FirstNetwork, networks: Sequence[Network]) -> FirstNetwork:
    same = [network for network in networks if network.name == found.network.name]
    return FirstNetwork(found.network, found.way, found.external, unique=len(same) == 1)


def _no_way(
    candidates: Sequence[Network], networks: Sequence[Network], only_ipv6: Collection[str], routed_ipv6: bool
) -> str:
    if not candidates:
        names = listed("", sorted(network.name for network in networks))
        return (
            f"no network of the cloud is the project's own or shared and has a subnet (there are {names}): create a"
            " network with a subnet, and a router to an external network"
        )
    names = ", ".join(f"{network.name} ({network.id})" for network in candidates)
    if not routed_ipv6 and all(network.id in only_ipv6 for network in candidates):
        return (
            f"{names}: no subnet of IPv4 is there, so no floating IP leads to a server, and this machine reaches no"
            " address of IPv6: add a subnet of IPv4 (openstack subnet create) and a router to an external network, or"
            " run this where IPv6 is routed (and without force_ipv4 in the entry of clouds.yaml)"
        )
    return (
        f"nothing leads from outside to a server in {names}: no router connects it to an external network. Connect one"
        " (openstack router create, set --external-gateway, add subnet); or, if this machine reaches private addresses,"
        " write private: true into the entry of clouds.yaml"
    )


def first_group(groups: Sequence[SecurityGroup], *, wanted: str = "") -> SecurityGroup | None:
    """Return the security group for a first node; None when one has to be made.

    The project's default group if it lets ssh in, or else the only one that does.

    :param wanted: name or id of the group; "" to choose.
    :raises ConfigError: there is no such group.
    """
    if wanted:
        found = [group for group in groups if wanted in (group.id, group.name)]
        if not found:
            names = listed(wanted, sorted(group.name for group in groups))
            raise wrong(f"the project has no security group {wanted!r}; it has {names}: correct quickstart_group")
        return found[0]
    open_groups = [group for group in groups if group.admits_ssh]
    default = [group for group in open_groups if group.name == "default"]
    if default or len(open_groups) == 1:
        return (default or open_groups)[0]
    return None


def first_max_servers(flavor: Flavor, network: FirstNetwork | None, left: Limits) -> int:
    """Return how many nodes the quota has room for, at most MOST_NODES."""
    need = needs_of(flavor)
    if network is not None and network.floating:
        need = need + Resources({FLOATING_IPS: 1})
    room = [left[name] // amount for name, amount in need.items() if left[name] != math.inf]
    return int(max(1, min([MOST_NODES, *room])))
