# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cloud made anew under another id costs few creates, in whatever words the old id is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor, Image, Network
from tests.support.owner_case import creates, guard, refusing
from tests.support.virtual_cloud import VirtualCloud
from tests.support.world import World, label, provider_document, site

REQUESTS = 10


def new_flavor(cloud: VirtualCloud) -> None:
    cloud.flavors = (Flavor("new", "small", 1, 1024), *cloud.flavors[1:])


def new_image(cloud: VirtualCloud) -> None:
    cloud.images = (Image("img-9", "debian", "active"),)


def new_network(cloud: VirtualCloud) -> None:
    cloud.nets = (Network("net-new", "private"),)


def refuses_flavor(cloud: VirtualCloud, spec: Any) -> bool:
    return all(flavor.id != spec.flavor_id for flavor in cloud.flavors)


def refuses_image(cloud: VirtualCloud, spec: Any) -> bool:
    return all(image.id != spec.image_id for image in cloud.images)


def refuses_network(cloud: VirtualCloud, spec: Any) -> bool:
    return cloud.nets is not None and not {network.id for network in cloud.nets} >= set(spec.network_ids)


FLAVOR, IMAGE, NETWORK = (new_flavor, refuses_flavor), (new_image, refuses_image), (new_network, refuses_network)


@pytest.mark.parametrize(
    ("kind", "words", "status"),
    [
        (FLAVOR, "The flavor {id} does not exist.", 400),
        (FLAVOR, "Flavor {id} is abandoned or off the shelf.", 400),
        (FLAVOR, "flavorRef {id} is illegal", 404),
        (FLAVOR, "Unknown instance type: {id}", 400),
        (IMAGE, "Image {id} does not exist.", 400),
        (IMAGE, "The image {id} was not found.", 404),
        (IMAGE, "imageRef {id} is invalid", 400),
        (NETWORK, "The network {id} does not exist.", 400),
        (NETWORK, "VPC subnet {id} is unknown", 404),
    ],
)
def test_what_was_made_anew_costs_few_creates_in_whatever_words_it_is_refused(kind: Any, words: str, status: int):
    renew, refuses = kind
    document = site(provider_document("east", {"name": "main", "labels": [label("small", networks=["private"])]}))
    with World(document) as world:
        cloud = world.clouds["east"]
        cloud.nets = (Network("net-old", "private"),)

        def refuse(spec: Any) -> Any:
            named = {refuses_flavor: spec.flavor_id, refuses_image: spec.image_id}.get(refuses, spec.network_ids[0])
            return refusing(words.format(id=named), status)() if refuses(cloud, spec) else None

        guard(world, refuse)
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        renew(cloud)
        before = len(creates(cycle))
        requests = [world.request("small") for _unused in range(REQUESTS)]
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) - before <= REQUESTS + 3
        assert world.store.own.get("breakers/east") in (None, {})
