# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the configuration against what a cloud offers: one usable thing, or a refusal."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.openstack.addresses import NetworkRoles
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.resolver import (
    choose_flavor,
    choose_image,
    fallback_remark,
    floating_problems,
    group_problems,
    resolve_networks,
    resolve_server_group,
    upload_problem,
    uploads_problem,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    Flavor,
    Image,
    Network,
    SecurityGroup,
    ServerGroup,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.launch_settings import LaunchSettings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ImageSettings, Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudRefused

FLAVORS = [
    Flavor("1", "m1.large", 4, 8192),
    Flavor("2", "m1.small", 1, 2048),
    Flavor("3", "ssd-b", 2, 4096),
    Flavor("4", "ssd-a", 2, 4096),
    Flavor("5", "small", 1, 1024),
]


@pytest.mark.parametrize(
    ("name", "min_ram", "found"),
    [
        ("m1.small", 0, "2"),
        ("small", 0, "5"),
        ("3", 0, "3"),
        (None, 2000, "2"),
        (None, 2049, "4"),
        ("ssd", 1, "4"),
        ("ssd-b", 1, "3"),
        ("small", 1025, "2"),
    ],
)
def test_exact_name_or_smallest_with_enough_ram(name: str | None, min_ram: int, found: str) -> None:
    assert choose_flavor(FLAVORS, name, min_ram).id == found


@pytest.mark.parametrize(("name", "min_ram"), [("m1", 0), ("SSD", 1), (None, 8193), ("ssd", 5000)])
def test_none_that_fits_is_an_error_that_shows_what_there_is(name: str | None, min_ram: int) -> None:
    with pytest.raises(CloudRefused, match=r"m1\.small \(2048 MiB\)") as caught:
        choose_flavor(FLAVORS, name, min_ram)
    assert str(name or min_ram) in str(caught.value)


@given(st.permutations(FLAVORS), st.integers(1, 9000))
def test_the_order_of_the_list_does_not_matter(flavors: list[Flavor], min_ram: int) -> None:
    fitting = [flavor for flavor in FLAVORS if flavor.ram >= min_ram]
    if fitting:
        assert choose_flavor(flavors, None, min_ram) == min(fitting, key=lambda flavor: (flavor.ram, flavor.name))
    else:
        with pytest.raises(CloudRefused):
            choose_flavor(flavors, None, min_ram)


def test_two_flavors_of_one_name_are_refused_and_an_id_is_exact():
    twins = [*FLAVORS, Flavor("6", "small", 8, 512)]
    with pytest.raises(CloudRefused, match=r"2 flavors are named 'small' \(5, 6\): use an id as flavor-name"):
        choose_flavor(twins, "small")
    assert choose_flavor(twins, "6").ram == 512
    assert choose_flavor(twins, "small", 1).id == "6", "for min-ram Nodepool documents the choice"


LABEL = PoolLabel("small")
A = Network("id-a", "a", automatic=True)
TWIN = Network("id-twin", "a", automatic=True)
EXTERNAL = Network("id-ext", "ext", external=True)
OTHER = Network("id-c", "c", automatic=True, has_subnet=False)
BARE = Network("id-bare", "bare", has_subnet=False)


@pytest.mark.parametrize(
    ("names", "known", "ids", "words"),
    [
        (("a",), [A, EXTERNAL], ("id-a",), []),
        (("id-twin",), [A, TWIN], ("id-twin",), []),
        (("a", "ext"), [A, EXTERNAL], ("id-a", "id-ext"), []),
        (("a",), [], ("a",), []),
        ((), [A, EXTERNAL], (), []),
        ((), [EXTERNAL], (), ["nor a shared one, so a server would get no address: add networks to the pool"]),
        ((), [OTHER, EXTERNAL], (), ["the only one that the project may use (c (id-c)) has no subnet"]),
        (("a",), [A, TWIN], ("a",), ["2 networks are named 'a' (id-a, id-twin): use an id in networks of the pool"]),
        (("bare",), [BARE], ("bare",), ["network 'bare' (id-bare) has no subnet"]),
        (("b",), [A], ("b",), ["the cloud has no network named 'b'; it offers a: correct networks of the pool"]),
        ((), [A, TWIN], (), ["does not choose between the 2 that the project may use (a (id-a), a (id-twin))"]),
    ],
)
def test_networks(names, known, ids, words):
    found, wrong = resolve_networks(Pool("main", networks=names), PoolLabel("small", networks=names), known)
    assert found == ids
    assert len(wrong) == len(words) and all(word in text for word, text in zip(words, wrong, strict=True))


def test_of_two_networks_of_a_name_the_one_that_can_be_used_is_meant():
    without = Network("id-old", "a", has_subnet=False)
    assert resolve_networks(Pool("main", networks=("a",)), LABEL, [without, A]) == (("id-a",), [])


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([SecurityGroup("1", "web")], None),
        ([SecurityGroup("web", "x"), SecurityGroup("2", "web")], None),
        ([SecurityGroup("1", "web"), SecurityGroup("2", "web", own=False)], None),
        ([SecurityGroup("2", "web", own=False)], None),
        ([SecurityGroup("1", "web"), SecurityGroup("2", "web")], "2 security groups are named 'web' (1, 2): use an id"),
        ([SecurityGroup("1", "ssh")], "no security group named 'web'; it offers ssh"),
    ],
)
def test_security_groups(groups, words):
    told = list(group_problems(Pool("main", security_groups=("web",)), groups))
    assert told == [] if words is None else words in told[0]


NAMED = st.builds(
    Network,
    st.uuids().map(str),
    st.sampled_from("abc"),
    automatic=st.booleans(),
    has_subnet=st.booleans(),
)


@given(st.lists(NAMED, unique_by=lambda network: network.id), st.lists(st.sampled_from("abcd"), max_size=3))
def test_a_network_that_is_resolved_is_the_only_usable_one_of_its_name(networks, names):
    pool = Pool("main", networks=tuple(names))
    ids, wrong = resolve_networks(pool, PoolLabel("small"), networks)
    if not networks:
        return
    for name, found in zip(names, ids, strict=True):
        usable = [network.id for network in networks if network.name == name and network.has_subnet]
        assert usable == [found] or (found == name and wrong)
    assert bool(wrong) is any(found == name for name, found in zip(names, ids, strict=True)) or not names


GROUPS = st.lists(
    st.builds(SecurityGroup, st.uuids().map(str), st.sampled_from("ab"), st.booleans()),
    unique_by=lambda group: group.id,
)


@given(GROUPS, st.randoms())
def test_whether_a_group_is_refused_does_not_depend_on_the_order(groups, random):
    pool = Pool("main", security_groups=("a",))
    mixed = list(groups)
    random.shuffle(mixed)
    told = list(group_problems(pool, groups))
    assert told == list(group_problems(pool, mixed))
    own = [group for group in groups if group.name == "a" and group.own]
    foreign = [group for group in groups if group.name == "a"]
    assert bool(told) is (bool(groups) and len(own or foreign) != 1)


NAMED_IMAGE = ImageSettings("debian", None, "deb", kind="cloud-image")
IMAGE_BY_ID = ImageSettings("debian", "i1", None, kind="cloud-image")
GOOD = Image("i1", "deb", "active")
HIDDEN = Image("i1", "deb", "active", unlisted="hidden")
OLD = Image("i0", "deb", "deactivated")


@pytest.mark.parametrize(
    ("settings", "images", "found"),
    [
        (NAMED_IMAGE, [], None),
        (NAMED_IMAGE, [GOOD], GOOD),
        (NAMED_IMAGE, [OLD, GOOD], GOOD),
        (NAMED_IMAGE, [Image("i2", "deb", "queued"), GOOD], GOOD),
        (
            IMAGE_BY_ID,
            [Image("i1", "deb", "active", unlisted="hidden")],
            Image("i1", "deb", "active", unlisted="hidden"),
        ),
    ],
)
def test_only_an_active_image_is_meant(settings, images, found):
    assert choose_image(settings, images) == found


@pytest.mark.parametrize(
    ("settings", "images", "words"),
    [
        (NAMED_IMAGE, [GOOD, Image("i2", "deb", "active")], "2 images are named 'deb' (i1, i2): use image-id"),
        (
            NAMED_IMAGE,
            [OLD],
            "is deactivated (i0): reactivate it (openstack image set --activate i0); or correct",
        ),
        (NAMED_IMAGE, [Image("i2", "deb", "queued")], "is queued (i2) and has no data yet"),
        (NAMED_IMAGE, [OLD, Image("i2", "deb", "saving")], "is saving (i2) and is not complete yet"),
        (NAMED_IMAGE, [OLD, Image("i2", "deb", "active", unlisted="hidden")], "is hidden (i2): use image-id"),
        (NAMED_IMAGE, [Image("i2", "deb", "active", unlisted="community")], "is a community image (i2), and glance"),
        (NAMED_IMAGE, [Image("i2", "deb", "killed")], "is killed (i2): upload it again"),
        (IMAGE_BY_ID, [Image("i1", "deb", "deactivated")], "or correct image-id of cloud-image 'debian'"),
        (IMAGE_BY_ID, [Image("i2", "i1", "active")], "'i1' is the name of an image (i2), not its id: use image-name"),
        (IMAGE_BY_ID, [Image("i2", "i1", "saving")], "'i1' is the name of an image (i2), not its id: use image-name"),
    ],
)
def test_images_that_are_not_usable_are_named_with_status_and_remedy(settings, images, words):
    with pytest.raises(CloudRefused) as caught:
        choose_image(settings, images)
    assert words in str(caught.value)


IMAGES = st.lists(
    st.builds(
        Image,
        st.uuids().map(str),
        st.just("deb"),
        st.sampled_from(["active", "queued", "saving", "deactivated", "killed"]),
        unlisted=st.sampled_from(["", "hidden", "community"]),
    ),
    unique_by=lambda image: image.id,
    max_size=5,
)


@given(IMAGES)
def test_an_image_that_is_resolved_is_the_only_usable_one(images):
    usable = [image for image in images if image.status == "active" and not image.unlisted]
    if images and len(usable) != 1:
        with pytest.raises(CloudRefused) as caught:
            choose_image(NAMED_IMAGE, images)
        assert all(image.id in str(caught.value) for image in usable)
    else:
        assert [choose_image(NAMED_IMAGE, images)] == (usable or [None])


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (None, "is no longer in the cloud"),
        (GOOD, None),
        (HIDDEN, None),
        (OLD, "is deactivated (i0): reactivate it"),
        (Image("i2", "deb", "pending_delete"), "is pending_delete (i2): upload it again"),
    ],
)
def test_an_upload_is_named_by_its_id(image, words):
    told = upload_problem(image)
    assert told is None if words is None else words in str(told)


@given(IMAGES)
def test_a_diskimage_is_usable_while_one_upload_is_or_may_become_so(images):
    told = uploads_problem(images)
    bad = [image for image in images if image.status in ("deactivated", "killed")]
    assert (told is not None) is (bool(images) and len(bad) == len(images))
    if told is not None:
        newest = max(images, key=lambda image: image.id)
        assert newest.id in told and newest.status in told


@given(IMAGES)
def test_an_older_image_is_used_only_where_the_newest_is_not_usable(images):
    told = fallback_remark(images)
    newest = max(images, key=lambda image: image.id, default=None)
    unusable = newest is not None and newest.status in ("deactivated", "killed")
    assert (told is not None) is (unusable and any(image.status == "active" for image in images))
    assert told is None or uploads_problem(images) is None


OUT = [Network("ext1", "out", external=True), Network("ext2", "wan", external=True)]
INSIDE = [Network("in1", "a", automatic=True), Network("in2", "b", automatic=True)]
TWIN_OUT = Network("e", "out")
BLIND = [("ext1", ""), ("ext2", "in1")]


def told(names=("a",), *, dead_ends=(), private=False, networks=(*OUT, *INSIDE), floats=True, **roles) -> list[str]:
    pool = Pool("main", networks=names, auto_floating_ip=floats)
    reach = SimpleNamespace(private=private, roles=NetworkRoles(**roles))
    return list(floating_problems(pool, PoolLabel("small", networks=names), networks, reach, dead_ends))


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ({}, None),
        ({"nat_source": "wan"}, None),
        ({"nat_source": "wna"}, "no network named 'wna'; it offers wan, out: correct the network with nat_source"),
        ({"nat_source": "wna", "private": True}, None),
        ({"nat_source": "wna", "floats": False}, None),
        ({"nat_source": "wna", "names": ("out",)}, None),
        (
            {"nat_source": "out", "networks": (*OUT, *INSIDE, Network("e", "out"))},
            "2 networks are named 'out' (e, ext1)",
        ),
        (
            {"nat_source": "b"},
            "network b (in2) is not external, so no floating IP can come from it: correct the network",
        ),
        (
            {"nat_source": "dry", "networks": (*OUT, *INSIDE, Network("e", "dry", external=True, has_subnet=False))},
            "network dry (e) has no subnet, so no floating IP can come from it: correct the network with nat_source",
        ),
        ({"names": ("a", "b"), "nat_destination": "b"}, None),
        ({"names": ("a", "b"), "nat_destination": "c"}, "nat_destination of clouds.yaml is 'c'"),
        ({"nat_destination": "c"}, None),
        ({"dead_ends": [("ext1", "")]}, None),
        ({"dead_ends": BLIND}, "cannot create a floating IP from out (ext1), wan (ext2) for a port in a (in1)"),
        ({"dead_ends": BLIND, "names": ("a", "b")}, None),
        ({"dead_ends": BLIND, "names": ("a", "b"), "nat_destination": "a"}, "nat_source: true"),
        ({"dead_ends": [("ext2", "")], "nat_source": "wan"}, "cannot create a floating IP from wan (ext2)"),
        ({"dead_ends": BLIND, "networks": ()}, None),
    ],
)
def test_floating_ips_that_cannot_be_had(case, words):
    assert told(**case) == [] if words is None else words in told(**case)[0]


PAIRS = st.sets(st.tuples(st.sampled_from(["ext1", "ext2"]), st.sampled_from(["", "in1", "in2"])))


@given(PAIRS, st.sampled_from([("a",), ("b",), ("a", "b")]))
def test_a_label_is_refused_only_when_every_pair_of_its_networks_is_a_dead_end(dead_ends, names):
    fixed = [network.id for network in INSIDE if network.name in names]
    left = [(out.id, one) for out in OUT for one in fixed if not {(out.id, ""), (out.id, one)} & dead_ends]
    assert bool(told(names, dead_ends=dead_ends)) is not bool(left)


GROUP_ID = "0a7c5c1e-5b5d-4a0e-9a51-6d4a1f0a9b11"
SERVER_GROUPS = [ServerGroup(GROUP_ID, "spread"), ServerGroup("2", "twice"), ServerGroup("3", "twice")]


@pytest.mark.parametrize(
    ("wanted", "groups", "found", "words"),
    [
        (None, SERVER_GROUPS, None, ""),
        ("spread", SERVER_GROUPS, GROUP_ID, ""),
        (GROUP_ID, SERVER_GROUPS, GROUP_ID, ""),
        (GROUP_ID, None, GROUP_ID, ""),
        ("spread", None, None, ""),
        ("twice", SERVER_GROUPS, None, "2 server groups are named 'twice' (2, 3): use an id in server-group"),
        ("spred", SERVER_GROUPS, None, "spread"),
        ("any", [], None, "correct server-group of the label in nodepool-settings.yaml"),
    ],
)
def test_a_server_group_is_one_of_that_id_or_name(wanted, groups, found, words):
    group, wrong = resolve_server_group(PoolLabel("a", launches=LaunchSettings(server_group=wanted)), groups)
    assert group == found
    assert [words in text for text in wrong] == ([True] if words else [])
