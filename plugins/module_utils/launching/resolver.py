# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the configuration → the one usable thing of the cloud that each means. No I/O.

The launcher, check mode, the check of a configuration and the modules that show labels all ask here: they agree.
A name that means several things is never resolved: the choice would be arbitrary. The one exception is a flavor with
min-ram, for which Nodepool documents the choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from ..clients.openstack.addresses import DeadEnds, NetworkRoles, floating_networks, lacks_public_network
from ..model.cloud import Flavor, Image, Network, SecurityGroup, ServerGroup
from ..model.config.options import SETTINGS
from ..model.config.types import ImageSettings, Pool, PoolLabel, Provider
from ..model.errors import CloudRefused
from ..model.offered import listed, not_offered
from ..model.resources import (
    CORES,
    FLOATING_IPS,
    INSTANCES,
    PORTS,
    RAM,
    VOLUME_GB,
    VOLUMES,
    Resources,
)


class _Named(Protocol):
    @property
    def id(self) -> str:
        """The id in the cloud."""

    @property
    def name(self) -> str:
        """The name, which need not be unique."""


class Reach(Protocol):
    """What clouds.yaml says about reaching servers: a client of the cloud has it."""

    @property
    def private(self) -> bool:
        """True if servers are reached by private addresses."""

    @property
    def roles(self) -> NetworkRoles:
        """The settings of networks."""


T = TypeVar("T", bound=_Named)

ACTIVE, DEACTIVATED = "active", "deactivated"
ARRIVING = frozenset({"saving", "importing", "uploading"})
"""Statuses of an image that will most likely become active."""
COMING = ARRIVING | {"queued"}
"""Statuses of an image whose upload may be under way."""
_ID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def choose_flavor(flavors: Iterable[Flavor], flavor_name: str | None, min_ram: int = 0) -> Flavor:
    """Return the flavor that Nodepool would choose for a label.

    Without *min_ram* (MiB), *flavor_name* is an exact name or id. With it, *flavor_name* (if any) is a part of
    the name, and the smallest flavor by (ram, name) with at least *min_ram* is chosen.

    :raises CloudRefused: when none fits, or when several have the exact name; the message names what the label asks
        for, what the cloud offers, and what to correct.
    """
    offered = sorted(flavors, key=lambda flavor: (flavor.ram, flavor.name))
    if not min_ram:
        found = _meant(flavor_name or "", offered)
        if len(found) > 1:
            raise _refused(
                "GET /flavors/detail", _several("flavors", flavor_name or "", found, "use an id as flavor-name")
            )
        wanted = f"named {flavor_name!r}"
    else:
        found = [item for item in offered if item.ram >= min_ram and (not flavor_name or flavor_name in item.name)]
        wanted = f"with at least {min_ram} MiB ram" + (f" and {flavor_name!r} in its name" if flavor_name else "")
    if found:
        return found[0]
    shown = {flavor.name: f"{flavor.name} ({flavor.ram} MiB)" for flavor in offered}
    names = listed(flavor_name or "", list(shown), shown)
    raise _refused(
        "GET /flavors/detail",
        f"the cloud has no flavor {wanted}; it offers {names}: correct flavor-name or min-ram of the label",
    )


def names_networks(provider: Provider) -> bool:
    """Return True if some label of a pool that is in use names a network by its name: nova takes only ids."""
    return any(
        not is_id(name)
        for pool in provider.pools.values()
        if pool.max_servers > 0
        for label in pool.labels.values()
        for name in label.networks or pool.networks
    )


def resolve_networks(
    pool: Pool, label: PoolLabel, networks: Sequence[Network] | None
) -> tuple[tuple[str, ...], list[str]]:
    """Return (what the create names as networks, what is wrong).

    With an empty list of networks, nothing is known: the names are returned, and nova judges them.
    """
    own = label.networks != pool.networks
    remedy = f"networks of the {'label' if own else 'pool'}"
    names = label.networks or pool.networks
    if not networks:
        return tuple(names), []
    if not names:
        return (), list(_left_to_nova(networks))
    ids: list[str] = []
    wrong: list[str] = []
    for name in names:
        found = _meant(name, networks)
        usable = [network for network in found if network.has_subnet]
        if len(usable) == 1:
            ids.append(usable[0].id)
        elif usable:
            wrong.append(_several("networks", name, usable, f"use an id in {remedy}"))
        elif found:
            wrong.append(
                f"network {name!r} ({found[0].id}) has no subnet, so nova cannot connect a server to it: create"
                f" a subnet, or correct {remedy}"
            )
        else:
            every = sorted(network.name or network.id for network in networks)
            wrong.append(not_offered("network", name, every, f"correct {remedy}"))
        if len(usable) != 1:
            ids.append(name)
    return tuple(ids), wrong


def _left_to_nova(networks: Sequence[Network]) -> Iterator[str]:
    """Yield a sentence when no server gets an address without networks.

    nova takes the only one of the project's and the shared networks (``_get_available_networks`` of its neutron API).
    It refuses to choose between several with 409, makes a server without a port when there is none, and fails to make
    the port in one that has no subnet.
    """
    choice = [network for network in networks if network.automatic]
    remedy = "add networks to the pool"
    if len(choice) > 1:
        yield (
            f"it has no networks, and nova does not choose between the {len(choice)} that the project may use"
            f" ({', '.join(sorted(f'{network.name} ({network.id})' for network in choice))}): {remedy}"
        )
    elif not choice:
        yield (
            "it has no networks, and the project has neither its own nor a shared one, so a server would get no"
            f" address: {remedy}"
        )
    elif not choice[0].has_subnet:
        yield (
            f"it has no networks, and the only one that the project may use ({_shown(choice)}) has no subnet,"
            f" so nova cannot connect a server to it: create a subnet, or {remedy}"
        )


def group_problems(pool: Pool, groups: Sequence[SecurityGroup] | None) -> Iterator[str]:
    """Yield a sentence for each security group of the pool that is not exactly one group of the cloud.

    As in nova, the groups of the project come first: an administrator also sees those of other projects.
    """
    if not groups:
        return
    for name in pool.security_groups:
        found = _meant(name, groups)
        found = [group for group in found if group.own] or found
        if len(found) > 1:
            yield _several("security groups", name, found, "use an id in security-groups of the pool")
        elif not found:
            names = sorted(group.name or group.id for group in groups)
            yield not_offered("security group", name, names, "correct security-groups of the pool")


def resolve_server_group(label: PoolLabel, groups: Sequence[ServerGroup] | None) -> tuple[str | None, list[str]]:
    """Return (the id of the label's server group, what is wrong); None without a group, or while it is not known.

    :param groups: None when nothing is known: then only an id is taken as it is, and nova judges it.
    """
    wanted = label.launches.server_group
    if wanted is None:
        return None, []
    if groups is None:
        return (wanted if is_id(wanted) else None), []
    found = _meant(wanted, groups)
    remedy = f"server-group of the label in {SETTINGS}"
    if len(found) == 1:
        return found[0].id, []
    if found:
        return None, [_several("server groups", wanted, found, f"use an id in {remedy}")]
    return None, [
        not_offered("server group", wanted, sorted(group.name or group.id for group in groups), f"correct {remedy}")
    ]


def is_id(text: str) -> bool:
    """Return True for what nova takes for the id of a server group or network."""
    return _ID.fullmatch(text) is not None


def choose_image(settings: ImageSettings, images: Sequence[Image]) -> Image | None:
    """Return the usable image that a cloud-image means; None when the cloud has none.

    As in Nodepool, only active images count, and by name only those that glance's list shows.

    :param images: those that have the id or the name.
    :raises CloudRefused: several are usable; or there are some, and none is usable.
    """
    named, meant = settings.image_id is None, _with_the_id(settings, images)
    usable = [image for image in meant if image.status == ACTIVE and not (named and image.unlisted)]
    remedy = f"correct {'image-name' if named else 'image-id'} of cloud-image {settings.name!r}"
    wanted = settings.image_id or settings.image_name or settings.name
    if len(usable) > 1:
        raise _refused("GET /images", _several("images", wanted, usable, "use image-id in the cloud-image"))
    if usable or not images:
        return usable[0] if usable else None
    if not meant:
        ids = ", ".join(sorted(image.id for image in images))
        raise _refused(
            "GET /images", f"{wanted!r} is the name of an image ({ids}), not its id: use image-name, or {remedy}"
        )
    nearest = min(meant, key=lambda image: (image.status not in ARRIVING, image.status != ACTIVE, image.id))
    raise _refused("GET /images", f"image {wanted!r} {unusable_image(nearest)}; or {remedy}")


def _with_the_id(settings: ImageSettings, images: Sequence[Image]) -> list[Image]:
    """Return those of the images that image-id, if it is given, can mean: nova takes no name for it."""
    if settings.image_id is None:
        return list(images)
    wanted = settings.image_id.replace("-", "").lower()
    return [image for image in images if image.id.replace("-", "").lower() == wanted]


def is_arriving(settings: ImageSettings, images: Sequence[Image]) -> bool:
    """Return True if none of the images that a cloud-image can mean is usable yet, and one is on its way."""
    statuses = {image.status for image in _with_the_id(settings, images)}
    return ACTIVE not in statuses and bool(ARRIVING & statuses)


def upload_problem(image: Image | None, where: str = "the cloud") -> str | None:
    """Return why no server is made of the image of an upload, which is named by its id; None if one can be.

    :param image: None when glance does not know the id.
    """
    if image is None:
        return f"is no longer in {where}"
    return None if image.status == ACTIVE else unusable_image(image)


def uploads_problem(images: Sequence[Image]) -> str | None:
    """Return why no server is made of any of the images of a diskimage; None if one can be, or may be soon.

    :param images: those that builders have uploaded for it, in no order.
    """
    if not images or any(image.status == ACTIVE or image.status in COMING for image in images):
        return None
    newest = _newest(images)
    return f"its image {newest.name!r} {unusable_image(newest)}"


def fallback_remark(images: Sequence[Image]) -> str | None:
    """Return why servers are made of an older image of a diskimage than the newest; None if they are not."""
    newest = _newest(images) if images else None
    if newest is None or newest.status == ACTIVE or newest.status in COMING:
        return None
    older = [image for image in images if image.status == ACTIVE]
    if not older:
        return None
    return f"its image {newest.name!r} {unusable_image(newest)}; until then, nodes boot from {_newest(older).name!r}"


def _newest(images: Sequence[Image]) -> Image:
    return max(images, key=lambda image: (image.created or "", image.id))


def unusable_image(image: Image) -> str:
    """Return why no server is made of the image, and the remedy: ``is deactivated (1f…): reactivate it (…)``."""
    if image.status == ACTIVE and image.unlisted == "community":
        return f"is a community image ({image.id}), and glance does not list those by name: use image-id"
    if image.status == ACTIVE and image.unlisted:
        return f"is hidden ({image.id}): use image-id, or unhide it (openstack image set --unhidden {image.id})"
    if image.status == DEACTIVATED:
        return f"is deactivated ({image.id}): reactivate it (openstack image set --activate {image.id})"
    if image.status == "queued":
        return f"is queued ({image.id}) and has no data yet: upload its data"
    if image.status in ARRIVING:
        return f"is {image.status} ({image.id}) and is not complete yet: wait until it is active"
    return f"is {image.status} ({image.id}): upload it again"


def floating_problems(
    pool: Pool, label: PoolLabel, networks: Sequence[Network] | None, reach: Reach, dead_ends: DeadEnds = ()
) -> Iterator[str]:
    """Yield why no floating IP can be had for nodes of the label that need one; the remedy is in clouds.yaml."""
    names, roles = label.networks or pool.networks, reach.roles
    if not networks or not pool.auto_floating_ip:
        return
    if not lacks_public_network(names, networks, private=reach.private, roles=roles):
        return
    if roles.nat_source:
        found, remedy = _meant(roles.nat_source, networks), "correct the network with nat_source in clouds.yaml"
        if not found:
            every = sorted(network.name or network.id for network in networks if network.external)
            yield not_offered("network", roles.nat_source, every, remedy)
        if len(found) > 1:
            yield _several("networks", roles.nat_source, found, "use its id in clouds.yaml")
        elif found and not found[0].external:
            yield f"network {_shown(found)} is not external, so no floating IP can come from it: {remedy}"
        elif found and not found[0].has_subnet:
            yield f"network {_shown(found)} has no subnet, so no floating IP can come from it: {remedy}"
        if len(found) != 1 or not (found[0].external and found[0].has_subnet):
            return
    fixed = [network for name in names for network in _meant(name, networks)]
    fixed = fixed or [network for network in networks if network.automatic and not network.external]
    if roles.nat_destination and len(fixed) > 1:
        chosen = [network for network in fixed if roles.nat_destination in (network.id, network.name)]
        if not chosen:
            yield (
                f"nat_destination of clouds.yaml is {roles.nat_destination!r}, and the networks of the label are"
                f" {_shown(fixed)}: correct nat_destination, or add that network"
            )
            return
        fixed = chosen
    sources = floating_networks(networks, roles)
    refused = set(dead_ends)
    if any(not {(one.id, ""), (one.id, other.id)} & refused for one in sources for other in fixed):
        return
    if sources and fixed:
        yield (
            f"neutron cannot create a floating IP from {_shown(sources)} for a port in {_shown(fixed)}: no"
            f" router connects them,"
            " or the external network has no IPv4 subnet. Connect a router, or name the networks that can be used under"
            " 'networks' of the cloud in clouds.yaml, with nat_source: true (floating IPs come from it) and"
            " nat_destination: true (they lead to it)"
        )


def _shown(networks: Iterable[Network]) -> str:
    return ", ".join(f"{network.name} ({network.id})" for network in networks)


def _meant(wanted: str, items: Iterable[T]) -> list[T]:
    """Return what *wanted* may mean: the one with this id, or else all with this name."""
    known = list(items)
    return [item for item in known if item.id == wanted][:1] or [item for item in known if item.name == wanted]


def _several(what: str, name: str, found: Sequence[_Named], remedy: str) -> str:
    ids = ", ".join(sorted(item.id for item in found))
    return f"{len(found)} {what} are named {name!r} ({ids}): {remedy}"


def _refused(call: str, text: str) -> CloudRefused:
    return CloudRefused(text, call=call)


def resources_of(pool: Pool, label: PoolLabel, flavor: Flavor, *, floats: bool = False) -> Resources:
    """Return the resources that one node of the label uses."""
    amounts = {INSTANCES: 1, CORES: flavor.cores, RAM: flavor.ram, PORTS: max(1, len(label.networks or pool.networks))}
    if label.boot_from_volume:
        amounts |= {VOLUMES: 1, VOLUME_GB: label.volume_size}
    if floats:
        amounts |= {FLOATING_IPS: 1}
    return Resources(amounts)
