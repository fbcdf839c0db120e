# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every label of a configuration against its clouds, on virtual time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image, Network
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudRefused, ConfigError
from tests.support.check_mode import check_configuration, check_mode
from tests.support.world import World, label, provider_document, site

NETWORK = "the cloud has no network named 'nonet'; it offers public: correct networks of the pool"
KEY = "the cloud has no keypair named 'cj'; it offers ci: correct key-name of the label"
GROUP = "the cloud has no security group named 'wab'; it offers web, default: correct security-groups of the pool"
ZONE = "the cloud has no availability zone named 'az9'; it offers az2, az1: correct availability-zones of the pool"
FLAVOR = "the cloud has no flavor named 'huge'; it offers small (1024 MiB), medium (4096 MiB), large (16384 MiB)"
IMAGE = "the cloud has no image named 'debain'; it offers debian: correct image-name of cloud-image 'other'"


def pool(*labels: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "main", "labels": list(labels or (label("small"),)), **more}


def document(*pools: dict[str, Any]) -> dict[str, Any]:
    images = [{"name": "debian"}, {"name": "other", "image-name": "debain"}, {"name": "byid", "image-id": "gone"}]
    return site(provider_document("east", *pools, **{"cloud-images": images}))


CASES = [
    (pool(networks=["nonet"]), NETWORK),
    (pool(label("small", **{"key-name": "cj"})), KEY),
    (pool(**{"security-groups": ["wab"]}), GROUP),
    (pool(**{"availability-zones": ["az9"]}), ZONE),
    (pool(label("small", "huge")), FLAVOR),
    (pool(label("small", **{"cloud-image": "other"})), IMAGE),
    (pool(label("small", **{"cloud-image": "byid"})), "the cloud has no image with the id 'gone'"),
    (pool(label("small", "large")), ", east can never hold more than 8000"),
    (pool(label("small", "large"), **{"max-ram": 4000}), ", east/main can never hold more than 4000"),
]


TWINS = (Network("net-1", "private", automatic=True), Network("net-2", "private", automatic=True))
AMBIGUOUS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        pool(**{"security-groups": ["web"]}),
        {"security_groups": ("default", "web", "web")},
        "2 security groups are named 'web' (sg-web, sg-web-2): use an id in security-groups of the pool",
    ),
    (
        pool(networks=["private"]),
        {"nets": TWINS},
        "2 networks are named 'private' (net-1, net-2): use an id in networks of the pool",
    ),
    (pool(), {"nets": TWINS}, "it has no networks, and nova does not choose between the 2 that the project may use"),
    (
        pool(),
        {"flavors": (Flavor("f1", "small", 1, 1024), Flavor("f2", "small", 2, 2048))},
        "2 flavors are named 'small' (f1, f2): use an id as flavor-name",
    ),
    (
        pool(),
        {"images": (Image("a", "debian", "active"), Image("b", "debian", "active"))},
        "2 images are named 'debian' (a, b): use image-id in the cloud-image",
    ),
    (
        pool(),
        {"images": (Image("a", "debian", "deactivated"),)},
        "image 'debian' is deactivated (a): reactivate it (openstack image set --activate a)",
    ),
    (pool(), {"images": (Image("a", "debian", "active", unlisted="community"),)}, "is a community image (a), and"),
]
"""Pool, what its cloud has, what is told."""


@pytest.mark.parametrize(("wrong", "cloud", "said"), AMBIGUOUS)
def test_a_name_that_means_several_things_is_refused_by_all_alike_before_a_create(wrong, cloud, said):
    with World(document(wrong), clouds={"east": cloud}) as world, check_mode(world) as run:
        for told in (run()["unusable"], check_configuration(world)["unusable"]):
            (text,) = [text for text in told if said in text]
            assert text.startswith("east/main is not usable for label small: ")
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "failed")
        (reason,) = cycle.account.failed[request]
        assert said in reason["text"]
        assert not [kind for client in cycle.clients for _when, kind in client.calls if kind == "POST /servers"]


def test_an_old_image_that_was_deactivated_does_not_stand_in_the_way_of_the_new_one():
    images = (Image("old", "debian", "deactivated"), Image("new", "debian", "active"))
    with World(document(pool()), clouds={"east": {"images": images}}) as world, check_mode(world) as run:
        assert run()["unusable"] == check_configuration(world)["unusable"] == []
        world.start()
        request = world.request("small")
        assert world.run(120, until=partial(done, world, request))


def test_an_image_that_is_on_its_way_makes_wait():
    images = [Image("new", "debian", "saving")]
    with World(document(pool()), clouds={"east": {"images": tuple(images)}}) as world:
        world.start()
        request = world.request("small")
        assert not world.run(90, until=partial(done, world, request))
        assert world.state(request) != "failed"
        world.clouds["east"].images = (Image("new", "debian", "active"),)
        assert world.run(120, until=partial(done, world, request))


def done(world: World, request: str) -> bool:
    return world.state(request) == "fulfilled"


@pytest.mark.parametrize(("wrong", "said"), CASES)
def test_what_a_label_asks_for_and_cannot_have_is_told_though_nobody_waits(wrong, said):
    with World(document(wrong), quota={"east": {"ram": 8000}}) as world, check_mode(world) as run:
        for told in (run()["unusable"], check_configuration(world)["unusable"]):
            (text,) = [text for text in told if said in text]
            assert text.startswith("east/main is not usable for label small: ")


@pytest.mark.parametrize(
    ("own", "usable"), [({}, False), ({"max-servers": 5}, True), ({"ignore-provider-quota": True}, True)]
)
def test_limits_that_are_not_told_stop_only_pools_without_limits_of_their_own(own, usable):
    """As in the launcher."""
    with World(document(pool(networks=["nonet"], **own))) as world:
        refusal = CloudRefused("provider east: GET /limits was answered with 403", call="GET /limits", status=403)
        world.fault("east", "GET /limits", error=lambda: refusal)
        told = check_configuration(world)
        assert told["providers"]["east"]["reached"] is usable
        assert any(NETWORK in text for text in told["unusable"]) is usable
        assert any("ignore-provider-quota" in text for text in told["unusable"]) is not usable
        assert any(str(refusal) in text for text in told["unchecked"]) is usable


def test_of_two_pools_the_one_without_a_limit_of_its_own_is_told():
    free = {**pool(label("free")), "name": "free"}
    both = document(pool(**{"max-servers": 5}), free)
    with World({**both, "labels": [*both["labels"], {"name": "free"}]}) as world:
        refusal = CloudRefused("provider east: GET /limits was answered with 403", call="GET /limits", status=403)
        world.fault("east", "GET /limits", error=lambda: refusal)
        (told,) = check_configuration(world)["unusable"]
        assert told.startswith("east/free is not usable for label free: ") and "ignore-provider-quota" in told


def test_what_is_right_is_not_objected_to():
    good = pool(
        label("small", **{"key-name": "ci"}),
        networks=["public"],
        **{"security-groups": ["web"], "availability-zones": ["az2"]},
    )
    with World(document(good)) as world, check_mode(world) as run:
        assert run()["unusable"] == check_configuration(world)["unusable"] == []


def test_one_thing_of_a_pool_is_told_once_for_all_its_labels():
    with World(document(pool(label("small"), label("medium", "medium"), networks=["nonet"]))) as world:
        assert check_configuration(world)["unusable"] == [
            f"east/main is not usable for labels small, medium: {NETWORK}"
        ]


def test_a_pool_without_servers_is_left_out():
    with World(document(pool(networks=["nonet"], **{"max-servers": 0}))) as world, check_mode(world) as run:
        assert run()["unusable"] == check_configuration(world)["unusable"] == []


def test_what_a_cloud_does_not_show_is_not_held_against_anybody():
    refused = CloudRefused("GET /os-keypairs was answered with 403", status=403)
    with World(document(pool(label("small", **{"key-name": "cj"})))) as world, check_mode(world) as run:
        world.fault("east", "GET /os-keypairs", error=lambda: refused)
        result = check_configuration(world)
        assert (result["unusable"], result["unchecked"]) == ([], [str(refused)])
        assert run()["unusable"] == []


def test_offline_asks_nobody():
    with World(document(pool(networks=["nonet"]))) as world:
        world.log_in_by("east", "")
        result = check_configuration(world, offline=True)
        assert (result["providers"], result["unusable"], result["labels"]) == ({}, [], 1)


def test_a_broken_file_is_told_whole():
    with World(document(pool())) as world:
        world.spoil("one", "two")
        with pytest.raises(ConfigError) as caught:
            check_configuration(world, offline=True)
    assert caught.value.problems == ["one", "two"]


@pytest.mark.parametrize(("wrong", "said"), CASES[:7])
def test_the_launcher_does_not_try_what_cannot_exist(wrong, said):
    with World(document(wrong)) as world:
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "failed")
        (reason,) = cycle.account.failed[request]
        assert reason["text"].startswith("east/main is not usable for label small: ") and said in reason["text"]
        assert cycle.account.launched == []
        assert not [kind for client in cycle.clients for _when, kind in client.calls if kind == "POST /servers"]


@pytest.mark.parametrize("kind", ["GET /os-keypairs", "GET /security-groups"])
@pytest.mark.parametrize("hang", [False, True])
def test_a_reading_of_names_that_fails_keeps_nobody_from_launching(kind, hang):
    named = pool(label("small", **{"key-name": "ci"}), **{"security-groups": ["web"]})
    with World(document(named)) as world:
        world.fault("east", kind, hang=hang)
        cycle = world.start()
        request = world.request("small")
        assert world.run(300, until=lambda: world.state(request) == "fulfilled")
        assert cycle.account.launch_failures == {}


def test_names_are_read_only_where_they_are_configured_and_once():
    with World(document(pool(label("small", **{"key-name": "ci"})))) as world:
        cycle = world.start()
        for _unused in range(3):
            request = world.request("small")
            assert world.run(120, until=partial(done, world, request))
        kinds = [kind for client in cycle.clients for _when, kind in client.calls]
        assert kinds.count("GET /os-keypairs") == 1 and "GET /security-groups" not in kinds


def test_nobody_is_turned_away_on_an_old_reading():
    """What was missing is there now: it is read again before a request is declined."""
    with World(document(pool(label("small", **{"key-name": "new"})))) as world:
        world.start()
        assert world.run(600) is False
        world.clouds["east"].keypairs = ("ci", "new")
        request = world.request("small")
        assert world.run(120, until=lambda: world.state(request) in ("fulfilled", "failed"))
        assert world.state(request) == "fulfilled"


def test_a_zone_that_does_not_exist_is_not_used_beside_one_that_does():
    with World(document(pool(**{"availability-zones": ["az9", "az2"]}))) as world:
        world.start()
        requests = [world.request("small") for _unused in range(3)]
        assert world.run(120, until=lambda: all(world.state(request) == "fulfilled" for request in requests))
        assert {node.az for node in world.nodes()} == {"az2"}


def test_what_may_be_among_the_items_that_cannot_be_read_was_not_checked():
    text = "GET /flavors/detail: 1 of 3 flavors cannot be read and are ignored (vcpus is missing)"
    with World(document(pool(label("small", "huge"), networks=["public"]))) as world:
        world.clouds["east"].remarks["GET /flavors/detail"] = text
        told = check_configuration(world)
        assert (told["unusable"], told["unchecked"]) == ([], [text])


def test_what_is_odd_about_an_entry_of_clouds_yaml_is_a_warning():
    text = "entry 'east' is used without a profile"
    with World(document(pool())) as world:
        world.clouds["east"].remarks["profile"] = text
        told = check_configuration(world)
        assert (told["unusable"], told["unchecked"], told["warnings"]) == ([], [], [f"provider east: {text}"])
