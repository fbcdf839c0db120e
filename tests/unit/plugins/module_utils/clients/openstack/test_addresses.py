# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address rules, compared with openstacksdk's own functions on generated servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from openstack.cloud import meta

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import (
    FloatingIpTarget,
    NetworkRoles,
    external_networks,
    floating_ip_targets,
    internal_networks,
    needs_floating_ip,
    reached_addresses,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Address, Network, Port, Server
from tests.support.effort import examples

EXT = Network("ext-id", "ext", external=True)
NET = Network("net-id", "net")
NETWORKS = [EXT, NET]
PUBLIC = "203.0.114.7"


def server(*addresses: Address, **more: Any) -> Server:
    return Server("s1", "np1", "ACTIVE", addresses=addresses, **more)


def fixed(address: str = "10.0.0.5", network: str = "net", mac: str = "aa") -> Address:
    return Address(network, address, 6 if ":" in address else 4, mac=mac)


def floating(address: str = PUBLIC, network: str = "net", mac: str = "aa") -> Address:
    return Address(network, address, 4, floating=True, mac=mac)


def test_a_floating_ip_is_the_public_address_and_the_one_behind_it_the_private() -> None:
    found = reached_addresses(server(fixed("10.0.0.4", mac="bb"), fixed(), floating()), NETWORKS)
    assert (found.public_ipv4, found.private_ipv4, found.interface_ip) == (PUBLIC, "10.0.0.5", PUBLIC)


def test_an_address_on_an_external_network_goes_before_a_floating_one() -> None:
    found = reached_addresses(server(fixed(), floating(), fixed("198.51.100.9", "ext")), NETWORKS)
    assert found.public_ipv4 == "198.51.100.9"


def test_a_private_cloud_is_talked_to_at_the_private_address() -> None:
    both = server(fixed(), floating())
    assert reached_addresses(both, NETWORKS, private=True).interface_ip == "10.0.0.5"
    assert reached_addresses(server(floating()), NETWORKS, private=True).interface_ip == PUBLIC


def test_ipv6_is_the_interface_only_where_this_machine_has_it() -> None:
    dual = server(fixed("198.51.100.9", "ext"), fixed("2001:db8::9", "ext"))
    assert reached_addresses(dual, NETWORKS).interface_ip == "198.51.100.9"
    assert reached_addresses(dual, NETWORKS, local_ipv6=True).interface_ip == "2001:db8::9"
    forced = reached_addresses(dual, NETWORKS, local_ipv6=True, force_ipv4=True)
    assert (forced.public_ipv6, forced.interface_ip) == ("", "198.51.100.9")


def test_without_word_of_networks_a_globally_routable_address_is_public() -> None:
    found = reached_addresses(server(fixed("10.0.0.1", "x"), fixed("8.8.4.4", "y")), [])
    assert found.public_ipv4 == "8.8.4.4"


def test_the_default_interface_of_clouds_yaml_wins() -> None:
    roles = NetworkRoles(external=("ext",), internal=("net",), default_interface="net")
    found = reached_addresses(server(fixed("198.51.100.9", "ext"), fixed()), NETWORKS, roles=roles)
    assert (found.interface_ip, found.public_ipv4) == ("10.0.0.5", "198.51.100.9")


def test_a_server_without_addresses_has_none() -> None:
    found = reached_addresses(server(), NETWORKS)
    assert (found.public_ipv4, found.private_ipv4, found.public_ipv6, found.interface_ip) == ("", "", "", "")


def test_a_floating_ip_is_needed_only_behind_a_private_address() -> None:
    inside = server(fixed())
    assert needs_floating_ip(inside, NETWORKS)
    assert not needs_floating_ip(inside, NETWORKS, private=True)
    assert not needs_floating_ip(inside, [NET])
    assert not needs_floating_ip(inside, NETWORKS, roles=NetworkRoles(floating_ips=False))
    assert not needs_floating_ip(server(fixed(), floating()), NETWORKS)
    assert not needs_floating_ip(server(fixed("198.51.100.9", "ext")), NETWORKS)
    assert not needs_floating_ip(server(fixed("2001:db8::9")), NETWORKS)
    assert not needs_floating_ip(server(), NETWORKS)


def test_the_floating_ip_goes_to_the_port_inside() -> None:
    ports = [
        Port("p0", "other", "net-id", ("10.0.0.4",)),
        Port("p1", "s1", "ext-id", ("198.51.100.9",)),
        Port("p2", "s1", "net-id", ("2001:db8::9", "10.0.0.5")),
    ]
    target = FloatingIpTarget("ext-id", "p2", "10.0.0.5", "net-id")
    assert floating_ip_targets(server(), NETWORKS, ports) == [target]
    assert floating_ip_targets(server(), NETWORKS, ports[:1]) == []
    assert floating_ip_targets(server(), [NET], ports) == []


def test_nat_source_and_destination_of_clouds_yaml_decide() -> None:
    networks = [EXT, Network("ext2-id", "ext2", external=True), NET, Network("net2-id", "net2")]
    ports = [Port("p1", "s1", "net-id", ("10.0.0.5",)), Port("p2", "s1", "net2-id", ("10.1.0.5",))]
    roles = NetworkRoles(nat_source="ext2", nat_destination="net2")
    decided = FloatingIpTarget("ext2-id", "p2", "10.1.0.5", "net2-id")
    assert floating_ip_targets(server(), networks, ports, roles=roles) == [decided]


def test_without_them_each_choice_has_its_turn_except_dead_ends() -> None:
    bare = Network("bare-id", "bare", external=True, has_subnet=False)
    networks = [bare, EXT, Network("ext2-id", "ext2", external=True), NET, Network("net2-id", "net2")]
    ports = [Port("p2", "s1", "net2-id", ("10.1.0.5",)), Port("p1", "s1", "net-id", ("10.0.0.5",))]

    def chosen(*dead_ends: tuple[str, str]) -> list[tuple[str, str]]:
        found = floating_ip_targets(server(), networks, ports, dead_ends=dead_ends)
        return [(target.network_id, target.port_id) for target in found]

    assert chosen() == [("ext-id", "p1"), ("ext-id", "p2"), ("ext2-id", "p1"), ("ext2-id", "p2")]
    assert chosen(("ext-id", "net-id")) == [("ext-id", "p2"), ("ext2-id", "p1"), ("ext2-id", "p2")]
    assert chosen(("ext-id", ""), ("ext2-id", "net-id")) == [("ext2-id", "p2")]
    assert chosen(("ext-id", ""), ("ext2-id", "")) == []


NAMES = ["alpha", "beta", "public", "private"]
networks_strategy = st.lists(
    st.builds(
        lambda name, external, physical: Network(f"{name}-id", name, external, physical),
        st.sampled_from(NAMES),
        st.booleans(),
        st.booleans(),
    ),
    unique_by=lambda network: network.name,
    max_size=4,
)
addresses_strategy = st.lists(
    st.one_of(
        st.builds(
            Address,
            st.sampled_from(NAMES),
            st.sampled_from(["10.0.0.1", "10.0.0.2", "192.168.3.4", "8.8.8.8", "203.0.114.2"]),
            st.just(4),
            st.booleans(),
            st.sampled_from(["aa", "bb"]),
        ),
        st.builds(Address, st.sampled_from(NAMES), st.sampled_from(["2001:db8::1", "2001:db8::2"]), st.just(6)),
    ),
    max_size=5,
)


@st.composite
def roles_strategy(draw: st.DrawFn) -> NetworkRoles:
    external = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=2))
    internal = draw(
        st.lists(st.sampled_from([name for name in NAMES if name not in external]), unique=True, max_size=1)
    )
    return NetworkRoles(
        external=tuple(external),
        internal=tuple(internal),
        default_interface=draw(st.none() | st.sampled_from(NAMES)),
        use_external=draw(st.sampled_from([True, True, False])),
        use_internal=draw(st.sampled_from([True, True, False])),
    )


class AttributeServer(dict):  # type: ignore[type-arg]
    """As much of the SDK's server as its address functions touch."""

    def __getattr__(self, name: str) -> Any:
        return self.get(name)


def as_sdk_server(ours: Server) -> Any:
    by_network: dict[str, list[dict[str, Any]]] = {}
    for address in ours.addresses:
        by_network.setdefault(address.network, []).append(
            {
                "addr": address.address,
                "version": address.version,
                "OS-EXT-IPS:type": "floating" if address.floating else "fixed",
                "OS-EXT-IPS-MAC:mac_addr": address.mac,
            }
        )

    return AttributeServer(
        addresses=by_network, accessIPv4=ours.access_ipv4, accessIPv6=ours.access_ipv6, status="BUILD", id=ours.id
    )


def as_sdk_cloud(networks: list[Network], roles: NetworkRoles, private: bool, force_ipv4: bool, ipv6: bool) -> Any:
    default = [network for network in networks if roles.default_interface in (network.name, network.id)]
    return SimpleNamespace(
        use_external_network=lambda: roles.use_external,
        use_internal_network=lambda: roles.use_internal,
        get_external_ipv4_networks=lambda: [{"name": net.name} for net in external_networks(networks, roles)],
        get_internal_ipv4_networks=lambda: [{"name": net.name} for net in internal_networks(networks, roles)],
        get_default_network=lambda: {"name": default[0].name} if default else None,
        has_service=lambda _name: False,
        private=private,
        force_ipv4=force_ipv4,
        _local_ipv6=ipv6,
    )


@settings(max_examples=examples(150))
@given(
    addresses_strategy,
    networks_strategy,
    roles_strategy(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "", "198.51.100.77"]),
)
def test_the_fields_are_those_of_the_sdk(
    addresses: list[Address],
    networks: list[Network],
    roles: NetworkRoles,
    private: bool,
    force_ipv4: bool,
    ipv6: bool,
    access: str,
) -> None:
    # The SDK sees the addresses grouped by network, as nova's answer is.
    order = list(dict.fromkeys(address.network for address in addresses))
    ours = server(*sorted(addresses, key=lambda address: order.index(address.network)), access_ipv4=access)
    cloud = as_sdk_cloud(networks, roles, private, force_ipv4, ipv6)
    theirs = as_sdk_server(ours)
    # Several candidates: the SDK would try to connect; it takes the first when none answers, as we do without trying.
    with (
        mock.patch.object(meta.socket, "getaddrinfo", return_value=[]),
        mock.patch.object(meta.utils, "iterate_timeout", return_value=[]),
    ):
        expected = meta.add_server_interfaces(cloud, theirs)
    found = reached_addresses(ours, networks, private=private, force_ipv4=force_ipv4, roles=roles, local_ipv6=ipv6)
    assert found.public_ipv4 == expected["public_v4"]
    assert found.private_ipv4 == expected["private_v4"]
    assert found.public_ipv6 == expected["public_v6"]
    assert found.interface_ip == expected["interface_ip"]


@given(addresses_strategy, networks_strategy, roles_strategy(), st.booleans())
def test_a_server_that_needs_a_floating_ip_has_no_public_address(
    addresses: list[Address], networks: list[Network], roles: NetworkRoles, private: bool
) -> None:
    ours = server(*addresses)
    if needs_floating_ip(ours, networks, private=private, roles=roles):
        assert not private
        assert reached_addresses(ours, networks, roles=roles).public_ipv4 == ""
        with_one = server(*addresses, floating())
        assert not needs_floating_ip(with_one, networks, roles=roles)
