# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a label costs and boots from, and what is said of a label that the cloud cannot serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.context.launch_templates import (
    ask_about,
    label_template,
    usual_template,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.launcher.passes import readings
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from tests.support.world import World, label, provider_document, site

NAMES = [
    ({"flavor-name": "huge"}, {}, "huge"),
    ({"key-name": "nokey"}, {}, "nokey"),
    ({}, {"security-groups": ["nogroup"]}, "nogroup"),
    ({}, {"networks": ["nonet"]}, "nonet"),
    ({}, {"availability-zones": ["nozone"]}, "nozone"),
]


@pytest.mark.parametrize(("offered", "pool", "missing"), NAMES)
def test_a_label_that_names_what_is_not_there_is_declined_with_that_name(
    offered: dict[str, Any], pool: dict[str, Any], missing: str
):
    labels = [label("good"), {**label("bad"), **offered}]
    with World(site(provider_document("east", {"name": "main", "labels": labels, **pool}))) as world:
        cycle = world.start()
        request = world.request("bad")
        assert world.run(120, until=lambda: world.state(request) == "failed")
        assert missing in str(cycle.account.failed[request])
        assert not world.clouds["east"].machines and not world.nodes(), "nothing was tried"


def test_what_is_missing_is_read_again_before_a_request_is_declined():
    labels = [label("good"), label("bad", "huge")]
    with World(site(provider_document("east", {"name": "main", "labels": labels}))) as world:
        cycle = world.start()
        world.run(300)
        cloud = world.clouds["east"]
        (small, *_more) = cloud.flavors
        cloud.flavors = (*cloud.flavors, type(small)(id="huge", name="huge", ram=small.ram, cores=small.cores))
        request = world.request("bad")
        assert world.run(60, until=lambda: request in world.fulfilled), cycle.account.failed


def asked_for_images(world: World) -> int:
    return sum(kind == "GET /images" for client in world.cycles[0].clients for _at, kind in client.calls)


@pytest.fixture
def declining() -> Iterator[tuple[World, str, tuple[Image, ...]]]:
    """A request that will fail for its image as soon as all names are read, and the images that were there before."""
    with World(site(provider_document("east", {"name": "main", "labels": [label("good")]}))) as world:
        cloud = world.clouds["east"]
        images, cloud.images = cloud.images, ()
        world.start()
        request = world.request("good")
        assert world.run(60, until=lambda: asked_for_images(world) == 2), "its look-up, then all names"
        yield world, request, images


def test_an_image_that_is_back_when_the_names_are_read_is_looked_up_again(declining):
    """Somebody replaces it: it is not there, and a moment later its name is."""
    world, request, images = declining
    world.clouds["east"].images = images
    assert world.run(60, until=lambda: request in world.fulfilled), world.cycles[0].account.failed


def test_two_images_that_have_come_since_are_told(declining):
    world, request, images = declining
    world.clouds["east"].images = (*images, *images)
    assert world.run(60, until=lambda: world.state(request) == "failed"), "it waits for nothing"
    assert "2 images are named" in str(world.cycles[0].account.failed[request])


@pytest.mark.parametrize("trouble", ["none", "GET /images", "GET /networks", "images", "flavors", "networks", "remark"])
def test_a_template_that_is_used_again_is_what_it_would_be_if_it_were_made_anew(monkeypatch, trouble: str):
    """Whatever happens in the cloud: while all is well, and when it is well again, it is used again."""
    used: list[float] = []

    def compared(context: Any, actor: Any, pool: Any, named: Any, now: float, max_age: float | None) -> Any:
        found = usual_template(context, actor, pool, named, now, max_age)
        if found is not None:
            lacks = ask_about(context, actor, pool, named, now, max_age)
            assert found == label_template(context, actor, pool, named, lacks, now)
            used.append(world.agenda.now)
        return found

    monkeypatch.setattr(readings, "usual_template", compared)
    pool = {"name": "main", "labels": [label("good"), label("other", "medium")], "networks": ["public"]}
    with World(site(provider_document("east", pool))) as world:
        cloud = world.clouds["east"]
        world.start()
        for spoilt in (False, True, False):
            kept = cloud.images, cloud.flavors, cloud.nets
            if spoilt and trouble in ("images", "flavors"):
                setattr(cloud, trouble, ())
            elif spoilt and trouble == "networks":
                cloud.nets = ()
            elif spoilt and trouble == "remark":
                cloud.remarks["odd"] = "odd"
            elif spoilt and trouble != "none":
                world.fault("east", trouble, left=5)
            for _unused in range(2):
                world.request("good")
                world.request("other")
                world.run(120)
            cloud.images, cloud.flavors, cloud.nets = kept
            cloud.remarks.clear()
            world.run(400)
            begins = world.agenda.now
        request = world.request("good")
        assert world.run(120, until=lambda: request in world.fulfilled)
        assert used and used[-1] >= begins, "it is used again at the end"
