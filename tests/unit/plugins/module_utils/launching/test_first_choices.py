# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a first node is made of: each choice follows a rule, and an arbitrary one is not made."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import NetworkRoles
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.first_choices import (
    first_flavor,
    first_group,
    first_image,
    first_max_servers,
    first_network,
    needs_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image, Network, SecurityGroup
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits


def image(name: str, ident: str = "", status: str = "active", **more: Any) -> Image:
    properties = more.pop("properties", {})
    return Image(ident or name, name, status, properties, **more)


def chosen(*images: Image, **options: str) -> str:
    return first_image(images, **options).image.id


def test_the_newest_of_the_first_known_distribution() -> None:
    images = [
        image("ubuntu-24.04"),
        image("Debian 11"),
        image("debian-12-genericcloud-amd64"),
        image("debian-13", status="queued"),
        image("cirros-0.6.2"),
    ]
    assert chosen(*images) == "debian-12-genericcloud-amd64"
    assert chosen(*images[:1], images[4]) == "ubuntu-24.04"
    assert chosen(images[4]) == "cirros-0.6.2"
    one, other = image("debian-12", "a", created="2026-01-01"), image("debian-12", "b", created="2026-02-01")
    found = first_image([other, one])
    assert found.image.id == "b" and not found.unique


@pytest.mark.parametrize(
    "unusual",
    [
        image("debian-12-arm64"),
        image("debian-12", properties={"architecture": "aarch64"}),
        image("debian-12", properties={"disk_format": "iso"}),
        image("debian-12", properties={"instance_uuid": "1"}),
        image("debian-12", properties={"nodepool_build_id": "1"}),
        image("debian-windows"),
        image("debian-12", properties={"os_type": "windows"}),
    ],
)
def test_what_is_no_disk_of_linux_for_the_usual_machines_is_not_chosen(unusual: Image) -> None:
    assert chosen(unusual, image("cirros", "c")) == "c"


@pytest.mark.parametrize("name", ["archive", "research-7", "windows-2022", "debianlike"])
def test_a_word_that_only_holds_the_name_of_a_distribution_is_none(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"it has {name}: choose one with -e quickstart_image"):
        first_image([image(name)])


@pytest.mark.parametrize(
    ("name", "properties", "user"),
    [
        ("Debian 12", {}, "debian"),
        ("noble", {"os_distro": "ubuntu"}, "ubuntu"),
        ("Rocky-9-GenericCloud", {}, "rocky"),
        ("AlmaLinux 9", {}, "almalinux"),
        ("CentOS-Stream-9", {}, "cloud-user"),
        ("CentOS 7", {}, "centos"),
        ("rhel-9.4", {}, "cloud-user"),
        ("archlinux", {}, "arch"),
        ("debian-12", {"os_admin_user": "admin"}, "admin"),
    ],
)
def test_the_user_is_that_of_the_image_or_of_its_distribution(name: str, properties: dict[str, str], user: str) -> None:
    assert first_image([image(name, properties=properties)]).user == user
    assert first_image([image(name, properties=properties)], user="me").user == "me"


@pytest.mark.parametrize(
    "unusual",
    [
        image("Fedora CoreOS 40"),
        image("stable", properties={"os_distro": "fedora-coreos"}),
        image("debian-12-nocloud-amd64"),
        image("ubuntu-core-24"),
        image("opensuse-microos"),
    ],
)
def test_an_image_without_the_usual_user_of_its_distribution_is_only_taken_with_a_user(unusual: Image) -> None:
    assert chosen(unusual, image("cirros", "c")) == "c"
    with pytest.raises(ConfigError, match="name the user to log in as with -e quickstart_user=NAME"):
        first_image([unusual], wanted=unusual.name)
    assert first_image([unusual], wanted=unusual.name, user="core").user == "core"


def test_a_named_image_needs_a_known_user_and_one_meaning() -> None:
    own = [image("golden", "g1"), image("golden", "g2"), image("plain", "p")]
    assert chosen(*own, wanted="g2", user="ci") == "g2"
    with pytest.raises(ConfigError, match=r"2 images are named 'golden' \(g1, g2\): use an id as quickstart_image"):
        first_image(own, wanted="golden")
    with pytest.raises(ConfigError, match="-e quickstart_user=NAME"):
        first_image(own, wanted="plain")
    with pytest.raises(ConfigError, match="no active image 'plian'; it has plain"):
        first_image(own, wanted="plian")


@pytest.mark.parametrize("wanted", ["", "debian-12"])
def test_a_cloud_that_shows_nothing_is_told_as_that(wanted: str) -> None:
    with pytest.raises(ConfigError, match=r"shows this project no active image .*: upload a cloud image"):
        first_image([image("debian-12", status="deactivated")], wanted=wanted)
    with pytest.raises(ConfigError, match=r"shows this project no flavor: ask its operators"):
        first_flavor([], first_image([image("debian-12")]), Limits({}), wanted=wanted and "m1.small")


FLAVORS = [
    Flavor("1", "m1.large", 4, 8192, 80),
    Flavor("2", "m1.tiny", 1, 512, 1),
    Flavor("3", "m1.small", 1, 2048, 20),
    Flavor("4", "m1.medium", 2, 2048, 40),
    Flavor("5", "volume", 1, 1024, 0),
]


def smallest(chosen_image: Image, left: Limits | None = None, **options: str) -> tuple[str, int]:
    found = first_flavor(FLAVORS, first_image([chosen_image]), left or Limits(), **options)
    return found.flavor.name, found.volume_gb


def test_the_smallest_flavor_on_which_the_image_boots() -> None:
    assert smallest(image("debian-12")) == ("m1.small", 0)
    assert smallest(image("cirros")) == ("m1.tiny", 0)
    assert smallest(image("debian-12", min_disk=30)) == ("m1.medium", 0)
    assert smallest(image("debian-12", min_ram=4096)) == ("m1.large", 0)
    assert smallest(image("debian-12", size=25 << 30)) == ("m1.medium", 0)
    assert smallest(image("debian-12", properties={"virtual_size": str(70 << 30)})) == ("m1.large", 0)
    assert smallest(image("debian-12"), wanted="m1.large") == ("m1.large", 0)


def test_a_flavor_without_a_disk_boots_from_a_volume() -> None:
    assert smallest(image("debian-12", min_disk=100)) == ("volume", 100)
    assert smallest(image("debian-12"), wanted="volume") == ("volume", 10)


def test_no_flavor_is_told_with_what_is_needed_or_left() -> None:
    with pytest.raises(ConfigError, match=r"needs 9000 MiB.*m1\.tiny \(512 MiB, 1 GB\).*quickstart_flavor"):
        smallest(image("debian-12", min_ram=9000))
    with pytest.raises(ConfigError, match=r"no room for one server of flavor m1\.small? ?\(?.*cores: 1 needed, 0 left"):
        first_flavor(FLAVORS[2:4], first_image([image("debian-12")]), Limits({"cores": 0}))
    with pytest.raises(ConfigError, match=r"no flavor 'm1\.smal'; it has m1\.small"):
        smallest(image("debian-12"), wanted="m1.smal")


@given(
    st.lists(st.builds(Flavor, st.uuids().map(str), st.text(min_size=1), *[st.integers(1, 9)] * 3), min_size=1),
    st.dictionaries(st.sampled_from(["instances", "cores", "ram"]), st.integers(0, 9)),
)
def test_a_chosen_flavor_fits_the_quota_and_no_smaller_one_does(flavors: list[Flavor], quota: dict[str, int]) -> None:
    small, left = first_image([image("cirros", min_ram=1)]), Limits(quota)
    fitting = [flavor for flavor in flavors if left.allows(needs_of(flavor))]
    try:
        found = first_flavor(flavors, small, left).flavor
    except ConfigError:
        assert not fitting
    else:
        assert found in fitting and found.ram == min(flavor.ram for flavor in fitting)


def net(name: str, ident: str = "", **more: bool) -> Network:
    return Network(ident or name, name, **{"automatic": True, **more})


PUBLIC = net("public", external=True, automatic=False)


def test_a_network_that_is_reached_from_outside_comes_first() -> None:
    direct = net("ext-net", external=True)
    found = first_network([net("private"), direct, PUBLIC], [("private", "public")], Limits())
    assert found is not None and (found.network.name, found.way, found.floating) == ("ext-net", "direct", False)


def test_a_router_leads_to_the_projects_network() -> None:
    networks = [net("lonely"), net("private"), PUBLIC]
    found = first_network(networks, [("private", "public"), ("lonely", "hidden")], Limits({"floating-ips": 1}))
    assert found is not None and (found.network.name, found.external) == ("private", "public") and found.floating
    with pytest.raises(ConfigError, match="need a floating IP, and the quota"):
        first_network(networks, [("private", "public")], Limits({"floating-ips": 0}))


def test_several_networks_are_told_and_one_is_chosen_by_name_or_id() -> None:
    networks = [net("a"), net("b", "b1"), net("b", "b2"), PUBLIC]
    routes = [(one.id, "public") for one in networks[:3]]
    with pytest.raises(ConfigError, match=r"a \(a\), b \(b1\), b \(b2\): choose one with -e quickstart_network"):
        first_network(networks, routes, Limits())
    assert first_network(networks, routes, Limits(), wanted="a") is not None
    found = first_network(networks, routes, Limits(), wanted="b2")
    assert found is not None and found.network.id == "b2" and not found.unique
    with pytest.raises(ConfigError, match=r"b \(b1\), b \(b2\)"):
        first_network(networks, routes, Limits(), wanted="b")
    with pytest.raises(ConfigError, match="no network 'c'; it has"):
        first_network(networks, routes, Limits(), wanted="c")


def test_without_a_way_to_a_network_the_remedy_is_told() -> None:
    with pytest.raises(ConfigError, match=r"no router connects it.*private: true"):
        first_network([net("private"), PUBLIC], [], Limits())
    found = first_network([net("private"), PUBLIC], [], Limits(), private=True)
    assert found is not None and found.way == "private"
    with pytest.raises(ConfigError, match="create a network with a subnet"):
        first_network([net("private", has_subnet=False), PUBLIC], [], Limits())
    with pytest.raises(ConfigError, match="no router"):
        first_network([net("p"), PUBLIC], [("p", "public")], Limits(), roles=NetworkRoles(floating_ips=False))
    assert first_network([], [], Limits()) is None


def test_a_network_with_ipv6_alone_is_reached_by_ipv6_and_comes_last() -> None:
    networks, leads = [net("four"), net("six"), PUBLIC], [("four", "public"), ("six", "public")]
    found = first_network(networks, leads, Limits(), only_ipv6=["six"], routed_ipv6=True)
    assert found is not None and (found.network.name, found.way, found.version) == ("four", "floating", 4)
    # There is no quota of floating IPs for it, for it needs none.
    none_left = Limits({"floating-ips": 0})
    found = first_network(networks[1:], leads, none_left, only_ipv6=["six"], routed_ipv6=True)
    assert found is not None and (found.way, found.floating, found.version) == ("ipv6", False, 6)
    direct = net("ext", external=True)
    found = first_network([direct, PUBLIC], [], Limits(), only_ipv6=["ext"], routed_ipv6=True)
    assert found is not None and (found.network.name, found.way) == ("ext", "ipv6")


@pytest.mark.parametrize("wanted", ["", "six"])
def test_without_a_way_to_ipv6_it_is_told_that_no_subnet_is_of_ipv4(wanted: str) -> None:
    networks, leads = [net("six"), PUBLIC], [("six", "public")]
    with pytest.raises(ConfigError, match=r"six \(six\): no subnet of IPv4 is there, so no floating IP.*subnet create"):
        first_network(networks, leads, Limits(), only_ipv6=["six"], wanted=wanted)
    with pytest.raises(ConfigError, match="no router connects it to an external network"):
        first_network(networks, [], Limits(), only_ipv6=["six"], routed_ipv6=True, wanted=wanted)


def test_an_external_network_with_ipv6_alone_has_no_floating_ips() -> None:
    with pytest.raises(ConfigError, match="no router connects it"):
        first_network([net("private"), PUBLIC], [("private", "public")], Limits(), only_ipv6=["public"])


def test_a_group_that_lets_ssh_in() -> None:
    closed, opened, other = (SecurityGroup(*words) for words in (("1", "default"), ("2", "a"), ("3", "b")))
    ssh = [SecurityGroup(group.id, group.name, admits_ssh=True) for group in (closed, opened, other)]
    assert first_group([closed, ssh[1]]) == ssh[1]
    assert first_group(ssh) == ssh[0]
    assert first_group([closed, *ssh[1:]]) is None, "two: neither is chosen"
    assert first_group([closed, opened]) is None
    assert first_group([closed, opened], wanted="a") == opened
    with pytest.raises(ConfigError, match="correct quickstart_group"):
        first_group([closed], wanted="c")


def test_max_servers_is_what_the_quota_has_room_for() -> None:
    flavor = FLAVORS[0]
    assert first_max_servers(flavor, None, Limits()) == 4
    assert first_max_servers(flavor, None, Limits({"cores": 9})) == 2
    floating = first_network([net("private"), PUBLIC], [("private", "public")], Limits())
    assert first_max_servers(flavor, floating, Limits({"floating-ips": 3})) == 3
