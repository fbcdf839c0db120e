# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose a server's addresses for Nodepool's address fields, and tell whether it lacks a floating IP. Pure.

The rules are openstacksdk's: Nodepool writes the address fields of openstacksdk into its nodes. Two steps of
openstacksdk are left out because they cost calls: connecting to the addresses when there are several candidates (the
first in openstacksdk's order is taken) and asking neutron for floating IPs that nova does not show.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ...model.cloud import (
    Address,
    Network,
    Port,
    ReachedAddresses,
    Server,
)


@dataclass(frozen=True)
class NetworkRoles:
    """The settings for networks (names or ids) in clouds.yaml.

    :param external: networks that clouds.yaml lists as routing IPv4 to the outside.
    :param internal: networks that it lists as not doing so.
    :param floating_ips: the cloud has floating IPs (``floating_ip_source``).
    """

    external: tuple[str, ...] = ()
    internal: tuple[str, ...] = ()
    default_interface: str | None = None
    nat_source: str | None = None
    nat_destination: str | None = None
    use_external: bool = True
    use_internal: bool = True
    floating_ips: bool = True


@dataclass(frozen=True)
class FloatingIpTarget:
    """The network, port and fixed address for which create_floating_ip creates a server's floating IP."""

    network_id: str
    port_id: str
    fixed_address: str
    fixed_network_id: str = ""


DEFAULT_ROLES = NetworkRoles()


def _named(network: Network, names: Iterable[str]) -> bool:
    return network.name in names or network.id in names


def external_networks(networks: Sequence[Network], roles: NetworkRoles = DEFAULT_ROLES) -> list[Network]:
    """Return the networks whose IPv4 addresses are reachable from outside."""
    return [
        network
        for network in networks
        if _named(network, roles.external)
        or ((network.external or network.physical) and not _named(network, roles.internal))
    ]


def internal_networks(networks: Sequence[Network], roles: NetworkRoles = DEFAULT_ROLES) -> list[Network]:
    """Return the networks whose IPv4 addresses are not reachable from outside."""
    return [
        network
        for network in networks
        if _named(network, roles.internal)
        or (not network.external and not network.physical and not _named(network, roles.external))
    ]


def _first(
    server: Server,
    *,
    network: str | None = None,
    floating: bool | None = None,
    mac: str = "",
    version: int = 4,
) -> str:
    """Return the first address that matches, floating ones before fixed ones; "" when there is none."""
    matching = [
        address
        for address in server.addresses
        if address.version == version
        and network in (None, address.network)
        and floating in (None, address.floating)
        and mac in ("", address.mac)
    ]
    return next((address.address for address in sorted(matching, key=lambda address: not address.floating)), "")


def _public_ipv4(server: Server, networks: Sequence[Network], roles: NetworkRoles) -> str:
    if not roles.use_external:
        return ""
    if server.access_ipv4:
        return server.access_ipv4
    for network in external_networks(networks, roles):
        if found := _first(server, network=network.name):
            return found
    return _first(server, floating=True) or _first(server, network="public") or _globally_routable(server.addresses)


def _globally_routable(addresses: Iterable[Address]) -> str:
    for address in addresses:
        try:
            parsed = ipaddress.ip_address(address.address)
        except ValueError:
            continue
        if parsed.version == 4 and not parsed.is_private:
            return str(parsed)
    return ""


def _private_ipv4(server: Server, networks: Sequence[Network], roles: NetworkRoles) -> str:
    if not roles.use_internal:
        return ""
    # The private address of a server with a floating IP is the one behind the floating IP: same port, same MAC.
    mac = next((address.mac for address in server.addresses if address.floating and address.version == 4), "")
    internal = internal_networks(networks, roles)
    for floating in (False, None):
        for network in internal:
            if found := _first(server, network=network.name, floating=floating, mac=mac):
                return found
    return _first(server, network="private", floating=False, mac=mac) or _first(server, network="private")


def reached_addresses(
    server: Server,
    networks: Sequence[Network],
    *,
    private: bool = False,
    force_ipv4: bool = False,
    roles: NetworkRoles = DEFAULT_ROLES,
    local_ipv6: bool = False,
) -> ReachedAddresses:
    """Return Nodepool's address fields for *server*.

    :param private: ``private`` of clouds.yaml: without a default interface, interface_ip is the private address.
    :param force_ipv4: ``force_ipv4`` of clouds.yaml: IPv6 addresses are left out.
    :param local_ipv6: this machine has a routed IPv6 address: a public IPv6 address is preferred as interface_ip.
    """
    public_ipv4 = _public_ipv4(server, networks, roles)
    private_ipv4 = _private_ipv4(server, networks, roles)
    public_ipv6 = "" if force_ipv4 else server.access_ipv6 or _first(server, version=6)
    use_ipv6 = local_ipv6 and not force_ipv4
    interface_ip = _default_interface(server, networks, roles, use_ipv6)
    if not interface_ip and private:
        interface_ip = private_ipv4
    if not interface_ip:
        interface_ip = public_ipv6 if public_ipv6 and use_ipv6 else public_ipv4
    return ReachedAddresses(
        public_ipv4=public_ipv4, private_ipv4=private_ipv4, public_ipv6=public_ipv6, interface_ip=interface_ip
    )


def _default_interface(server: Server, networks: Sequence[Network], roles: NetworkRoles, use_ipv6: bool) -> str:
    if not roles.default_interface:
        return ""
    for network in networks:
        if _named(network, (roles.default_interface,)):
            sixth = _first(server, network=network.name, version=6) if use_ipv6 else ""
            return sixth or _first(server, network=network.name)
    return ""


def floating_networks(networks: Sequence[Network], roles: NetworkRoles = DEFAULT_ROLES) -> list[Network]:
    """Return the networks that floating IPs can be taken from, the first choice first.

    With nat_source of clouds.yaml only that one. A network without a subnet has no address to give.
    """
    return [
        network
        for network in networks
        if network.has_subnet and (_named(network, (roles.nat_source,)) if roles.nat_source else network.external)
    ]


def needs_floating_ip(
    server: Server, networks: Sequence[Network], *, private: bool = False, roles: NetworkRoles = DEFAULT_ROLES
) -> bool:
    """Return True when *server* is reachable from outside only with a floating IP, and the cloud has floating IPs."""
    if private or not roles.floating_ips or any(address.floating for address in server.addresses):
        return False
    if not any(address.version == 4 for address in server.addresses):
        return False
    return not _public_ipv4(server, networks, roles) and bool(floating_networks(networks, roles))


def will_need_floating_ip(
    names: Sequence[str],
    networks: Sequence[Network],
    *,
    private: bool = False,
    roles: NetworkRoles = DEFAULT_ROLES,
) -> bool:
    """Return what :func:`needs_floating_ip` will most likely return for a server on the networks *names*.

    :param names: empty: the networks that nova chooses when the request names none.
    """
    if not floating_networks(networks, roles):
        return False
    return lacks_public_network(names, networks, private=private, roles=roles)


def lacks_public_network(
    names: Sequence[str],
    networks: Sequence[Network],
    *,
    private: bool = False,
    roles: NetworkRoles = DEFAULT_ROLES,
) -> bool:
    """Return True if only a floating IP would make a server on the networks *names* reachable from outside.

    :param names: empty: the networks that nova chooses when the request names none.
    """
    if private or not roles.floating_ips:
        return False
    named = [item for item in networks if item.name in names or item.id in names]
    chosen = named if names else [item for item in networks if not item.external]
    internal = internal_networks(networks, roles)
    return bool(chosen) and all(item in internal for item in chosen)


DeadEnds = Collection[tuple[str, str]]
"""Pairs (id of an external network, id of a fixed network, "" for any) that no floating IP can connect."""


def floating_ip_targets(
    server: Server,
    networks: Sequence[Network],
    ports: Sequence[Port],
    *,
    roles: NetworkRoles = DEFAULT_ROLES,
    dead_ends: DeadEnds = (),
) -> list[FloatingIpTarget]:
    """Return what a floating IP for *server* can connect, the first choice first, without *dead_ends*.

    nat_source of clouds.yaml chooses the external network, or else the first one comes first. With several ports,
    nat_destination chooses the port, or else the port on the first internal network comes first.
    """
    candidates = [port for port in ports if port.server_id == server.id]
    if len(candidates) > 1:
        if roles.nat_destination:
            ids = [network.id for network in networks if _named(network, (roles.nat_destination,))]
        else:
            ids = [network.id for network in internal_networks(networks, roles)]
        candidates = [port for network_id in ids for port in candidates if port.network_id == network_id]
    fixed = [
        (port, address)
        for port in candidates
        if (address := next((one for one in port.fixed_addresses if _is_ipv4(one)), None)) is not None
    ]
    return [
        FloatingIpTarget(source.id, port.id, address, port.network_id)
        for source in floating_networks(networks, roles)
        for port, address in fixed
        if not {(source.id, ""), (source.id, port.network_id)} & set(dead_ends)
    ]


def _is_ipv4(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).version == 4
    except ValueError:
        return False
