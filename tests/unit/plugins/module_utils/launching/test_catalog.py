# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a label asks for and the cloud does not have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.catalog import (
    Catalog,
    grouped,
    hidden,
    image_misses,
    misses,
    too_large,
    unused_zones,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image, Network, SecurityGroup
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import ImageSettings, Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

LABEL = PoolLabel("small", flavor_name="m1", key_name="ci")
POOL = Pool("main", networks=("private",), availability_zones=("az1", "az2"), security_groups=("ssh",))
FULL = Catalog(
    flavors=[Flavor("f1", "m1", 1, 1024)],
    networks=[Network("n1", "private", False, False)],
    zones=["az1"],
    keypairs=["ci"],
    security_groups=[SecurityGroup("g1", "ssh")],
)


def test_nothing_is_missing():
    assert misses(POOL, LABEL, FULL) == []


def test_of_what_is_not_known_nothing_is_said():
    assert misses(POOL, LABEL, Catalog()) == []


@pytest.mark.parametrize(
    ("less", "words"),
    [
        ({"flavors": [Flavor("f2", "m2", 1, 1024)]}, "m1"),
        ({"networks": [Network("n2", "other", False, False)]}, "no network named 'private'; it offers other"),
        ({"keypairs": []}, "'ci'"),
        ({"security_groups": [SecurityGroup("g2", "web")]}, "no security group named 'ssh'; it offers web"),
    ],
)
def test_one_thing_is_missing(less, words):
    (sentence,) = misses(POOL, LABEL, replace(FULL, **less))
    assert words in sentence


FLAVORS, NETWORKS = ({kind: f"{kind}: 1 of 3"} for kind in ("GET /flavors/detail", "GET /networks"))


@pytest.mark.parametrize(
    ("less", "remarks", "found"),
    [
        ({"flavors": []}, FLAVORS, FLAVORS),
        ({"networks": [Network("n2", "other", False, False)]}, {**FLAVORS, **NETWORKS}, NETWORKS),
        ({"flavors": [], "networks": [Network("n2", "other")]}, {**FLAVORS, **NETWORKS}, {**FLAVORS, **NETWORKS}),
        ({"flavors": [], "networks": [Network("n2", "other")]}, FLAVORS, {}),
        ({"flavors": [], "keypairs": []}, FLAVORS, {}),
        ({"keypairs": []}, FLAVORS, {}),
        ({"flavors": []}, {"GET /servers/detail": "2 of 3", "status of servers": "odd"}, {}),
        ({}, FLAVORS, {}),
    ],
)
def test_what_is_not_found_may_be_what_cannot_be_read(less, remarks, found):
    assert hidden(POOL, LABEL, replace(FULL, **less), remarks) == found


def test_names_and_ids_will_do():
    assert misses(replace(POOL, networks=("n1",), security_groups=("g1",)), LABEL, FULL) == []


def test_one_zone_of_several_is_enough():
    assert misses(POOL, LABEL, replace(FULL, zones=["az2", "az3"])) == []
    assert len(misses(POOL, LABEL, replace(FULL, zones=["az3"]))) == 2
    assert unused_zones(POOL, ["az2", "az3"]) == ["az1"]
    assert unused_zones(POOL, ["az3"]) == []
    assert unused_zones(POOL, None) == []


def settings(image_id: str | None, name: str | None, kind: str = "cloud-image") -> ImageSettings:
    return ImageSettings("debian", image_id, name, kind=kind)


def test_images():
    there = Catalog(images={"deb": [Image("i", "deb", "active", {})]})
    gone = Catalog(images={"deb": []}, image_names=["debian", "rocky"])
    assert list(image_misses(settings(None, "deb"), there)) == []
    assert list(image_misses(settings(None, "deb"), Catalog())) == []
    assert list(image_misses(settings(None, "deb", "diskimage"), gone)) == []
    (by_name,) = image_misses(settings(None, "deb"), gone)
    assert "no image named 'deb'; it offers debian, rocky" in by_name
    lost = Catalog(images={"deb": []}, image_names=["deb", "debian"])
    (since,) = image_misses(settings(None, "deb"), lost)
    assert "no image named 'deb'; it offers debian:" in since, "its name was there when the names were read"
    (by_id,) = image_misses(settings("deb", None), gone)
    assert "no image with the id 'deb'" in by_id


def test_a_node_that_is_larger_than_its_pool_or_the_project():
    need = Resources({"cores": 8, "ram": 4096})
    pool = replace(POOL, limits=Limits({"cores": 4}))
    bounds = Limits({"ram": 2048})
    assert len(list(too_large(need, pool, bounds, "p"))) == 2
    assert len(list(too_large(need, pool, None, "p"))) == 1
    assert len(list(too_large(need, replace(pool, ignore_provider_quota=True), bounds, "p"))) == 1
    assert list(too_large(Resources({"cores": 4}), pool, bounds, "p")) == []


def test_labels_with_the_same_trouble_share_a_sentence():
    rows = [("p/main", "a", "no flavor"), ("p/main", "b", "no flavor"), ("p/main", "c", "no key")]
    assert grouped(rows) == [
        "p/main is not usable for labels a, b: no flavor",
        "p/main is not usable for label c: no key",
    ]
