# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images that are deleted in glance behind our back: no request fails for that while there is another one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import IMAGE_BUILD, META_PROVIDER, Image
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudRefused
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import (
    Build,
    BuildState,
    Upload,
    UploadState,
)
from tests.support.check_mode import check_configuration, check_mode
from tests.support.world import (
    World,
    label,
    one_provider,
    provider_document,
    site,
)

CREATE = "POST /servers"


def uploaded(*, more: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    """Providers whose label boots from an image that was built and uploaded."""
    providers = []
    for name in ("east", *more):
        pool = {"name": "main", "labels": [{"name": "small", "flavor-name": "small", "diskimage": "built", **fields}]}
        providers.append(provider_document(name, pool, diskimages=[{"name": "built"}]))
    return site(*providers, diskimages=[{"name": "built", "formats": ["qcow2"]}])


def upload(world: World, number: int, provider: str = "east") -> Upload:
    """One more build, uploaded; a later number is a newer one."""
    build = Build(image="built", id=f"{number:032x}")
    if world.store.images.build("built", build.id) is None:
        build.set_state(BuildState.READY, float(number))
        world.store.images.create_build(build)
    made = Upload(
        image="built", build_id=build.id, provider=provider, external_id=f"{provider}-{number}", username=f"u{number}"
    )
    made.set_state(UploadState.READY, float(number))
    world.store.images.create_upload(made)
    marks = {IMAGE_BUILD: build.id, META_PROVIDER: provider}
    world.clouds[provider].own_images[f"{provider}-{number}"] = Image(
        f"{provider}-{number}", f"built-{number}", "active", marks, created=f"2026-01-0{number}T00:00:00Z"
    )
    return made


def lose(world: World, number: int, provider: str = "east") -> None:
    """Somebody deletes the image in glance."""
    del world.clouds[provider].own_images[f"{provider}-{number}"]


def inactive(world: World, number: int, status: str = "deactivated") -> None:
    """It is there, and nova may not use it."""
    known = world.clouds["east"].own_images
    known[f"east-{number}"] = replace(known[f"east-{number}"], status=status)


def creates(world: World) -> list[float]:
    return [at for client in world.cycles[0].clients for at, kind in client.calls if kind == CREATE]


def untroubled(world: World) -> bool:
    account = world.cycles[0].account
    return not account.failed and not account.declined and not account.launch_failures


@pytest.mark.parametrize("fields", [{}, {"boot-from-volume": True}], ids=["image", "volume"])
@pytest.mark.parametrize("labels", [("small",), ("small", "small")])
def test_the_next_newest_upload_is_taken(fields, labels):
    with World(uploaded(**fields)) as world:
        old, new = upload(world, 1), upload(world, 2)
        lose(world, 2)
        cycle = world.start()
        request = world.request(*labels)
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert untroubled(world)
        assert any("image gone: " in line for _unused, line in cycle.lines)
        assert {(node.image_id, node.username) for node in world.nodes("ready")} == {(old.path, "u1")}
        before = len(creates(world))
        again = world.request("small")
        assert world.run(60, until=lambda: again in world.fulfilled)
        assert len(creates(world)) == before + 1, "the cloud is not asked for the lost one again at once"
        assert new.path not in {node.image_id for node in world.nodes()}


@pytest.mark.parametrize("fields", [{}, {"boot-from-volume": True}], ids=["image", "volume"])
@pytest.mark.parametrize("status", ["deactivated", "saving"])
def test_an_image_that_is_not_active_is_lost_as_long_as_that_lasts(status, fields):
    with World(uploaded(**fields)) as world:
        old, new = upload(world, 1), upload(world, 2)
        inactive(world, 2, status)
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert untroubled(world)
        assert any("image gone: " in line and "is not active" in line for _unused, line in cycle.lines)
        assert {node.image_id for node in world.nodes("ready")} == {old.path}
        inactive(world, 2, "active")
        world.run(300)
        again = world.request("small")
        assert world.run(60, until=lambda: again in world.fulfilled)
        assert new.path in {node.image_id for node in world.nodes("ready")}


def test_many_requests_lose_nothing():
    with World(uploaded()) as world:
        for number in (1, 2, 3):
            upload(world, number)
        lose(world, 2)
        lose(world, 3)
        world.start()
        requests = [world.request("small") for _unused in range(20)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
        assert untroubled(world)
        assert len(creates(world)) <= 60


def test_without_any_the_request_waits_for_the_next_upload_and_says_so():
    with World(uploaded()) as world:
        upload(world, 1)
        lose(world, 1)
        cycle = world.start()
        request = world.request("small")
        world.run(60)
        assert world.state(request) == "requested" and untroubled(world)
        reason = cycle.account.waiting[request]
        assert reason["code"] == "image-gone" and reason["text"] == (
            f"image built of build {1:032x} is no longer in the cloud of east/main, and there is no older one"
        )
        assert world.nodes() == []
        assert len(creates(world)) == 1
        upload(world, 2)
        assert world.run(60, until=lambda: request in world.fulfilled)
        assert untroubled(world)


def test_what_turns_up_again_is_used_some_minutes_later():
    with World(uploaded()) as world:
        upload(world, 1)
        image = world.clouds["east"].own_images.pop("east-1")
        world.start()
        request = world.request("small")
        world.run(60)
        world.clouds["east"].own_images["east-1"] = image
        assert world.run(400, until=lambda: request in world.fulfilled)
        assert untroubled(world) and len(creates(world)) == 2


def test_a_launch_for_min_ready_waits_for_the_next_upload():
    document = uploaded()
    document["labels"] = [{"name": "small", "min-ready": 1}]
    with World(document) as world:
        upload(world, 1)
        lose(world, 1)
        world.start()
        world.run(60)
        assert len(creates(world)) == 1
        upload(world, 2)
        assert world.run(60, until=lambda: len(world.nodes("ready")) == 1)


def test_another_provider_serves_it_meanwhile():
    with World(uploaded(more=("west",))) as world:
        upload(world, 1)
        upload(world, 1, "west")
        lose(world, 1)
        world.start()
        requests = [world.request("small") for _unused in range(4)]
        assert world.run(120, until=lambda: all(request in world.fulfilled for request in requests))
        assert {node.provider for node in world.nodes("ready")} == {"west"} and untroubled(world)


def test_a_set_of_which_one_node_is_there_waits_for_the_next_upload():
    with World(uploaded()) as world:
        upload(world, 1)
        world.start()
        first = world.request("small", "small")
        world.fault("east", CREATE, left=1, skip=1, seconds=5.0, fails=False)
        world.run(2, until=lambda: len(world.clouds["east"].machines) == 1)
        lose(world, 1)
        world.run(60)
        upload(world, 2)
        assert world.run(120, until=lambda: first in world.fulfilled)
        assert untroubled(world)


# -- images that are not ours -----------------------------------------------------------------------------------------


def cloud_image(**names: str) -> dict[str, Any]:
    pool = {"name": "main", "labels": [label("small")]}
    return site(provider_document("east", pool, **{"cloud-images": [{"name": "debian", **names}]}))


@pytest.mark.parametrize("names", [{}, {"image-id": "img-1"}], ids=["name", "id"])
def test_a_cloud_image_that_is_gone_breaks_its_label_at_once(names):
    with World(cloud_image(**names)) as world:
        cycle = world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.clouds["east"].images = (Image("img-2", "other", "active"),)
        request = world.request("small")
        assert world.run(30, until=lambda: world.state(request) == "failed")
        (reason,) = cycle.account.failed[request]
        assert reason["code"] == "label-broken"
        assert "east/main is not usable for label small: " in reason["text"] and "image" in reason["text"]
        assert len(creates(world)) == 2 and cycle.account.launch_failures == {}


def test_a_cloud_image_that_was_replaced_is_looked_up_again():
    with World(cloud_image()) as world:
        world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.clouds["east"].images = (Image("img-9", "debian", "active"),)
        requests = [world.request("small") for _unused in range(3)]
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in requests))
        assert untroubled(world)


@pytest.mark.parametrize("names", [{}, {"image-id": "img-1"}], ids=["name", "id"])
def test_no_request_fails_for_an_image_that_is_back_since_more_than_a_minute(names):
    with World(cloud_image(**names)) as world:
        world.start()
        first = world.request("small")
        assert world.run(60, until=lambda: first in world.fulfilled)
        world.clouds["east"].images = (Image("img-2", "other", "active"),)
        request = world.request("small")
        assert world.run(30, until=lambda: world.state(request) == "failed")
        world.clouds["east"].images = (Image("img-1" if names else "img-9", "debian", "active"),)
        world.run(65)
        again = world.request("small")
        assert world.run(60, until=lambda: again in world.fulfilled)


def test_a_set_whose_cloud_image_is_gone_does_not_wait_with_half_of_its_nodes():
    with World(cloud_image()) as world:
        world.start()
        first = world.request("small", "small")
        world.fault("east", CREATE, left=1, skip=1, seconds=5.0, fails=False)
        assert world.run(20, until=lambda: len(world.clouds["east"].machines) == 1)
        world.clouds["east"].images = ()
        assert world.run(120, until=lambda: world.state(first) == "failed")
        assert {node.state for node in world.nodes()} <= {"ready", "building"}


def refused(text: str) -> CloudRefused:
    return CloudRefused(f"POST /servers was answered with 400: {text}", call=CREATE, status=400)


@pytest.mark.parametrize(
    "text",
    [
        "Can not find requested image",
        "Image east-1 is not active.",
    ],
)
def test_what_is_refused_again_and_again_fails_after_spaced_attempts(text):
    """Also an image that glance shows and nova does not know."""
    with World(one_provider()) as world:
        cycle = world.start()
        world.fault("east", CREATE, error=lambda: refused(text))
        request = world.request("small")
        assert world.run(120, until=lambda: world.state(request) == "failed")
        (reason,) = cycle.account.failed[request]
        assert reason["code"] == "launch-failed"
        assert all(after - before >= 1.0 for before, after in pairwise(creates(world)))
        assert 3 <= len(creates(world)) <= 5


def test_an_image_that_does_not_fit_the_flavor_is_tried_once():
    with World(one_provider()) as world:
        cycle = world.start()
        world.fault("east", CREATE, error=lambda: refused("Flavor's memory is too small for requested image."))
        request = world.request("small")
        assert world.run(60, until=lambda: world.state(request) == "failed")
        assert cycle.account.failed[request][0]["owner"] == "image" and len(creates(world)) == 1


def test_a_deactivated_image_of_a_build_is_told_with_its_status_and_remedy():
    with World(uploaded()) as world:
        upload(world, 1)
        inactive(world, 1)
        cycle = world.start()
        request = world.request("small")
        text = (
            "is deactivated (east-1): reactivate it (openstack image set --activate east-1), and there is no older one"
        )
        world.run(60)
        assert text in cycle.account.waiting[request]["text"]


def test_nothing_is_said_of_an_image_before_the_cloud_has_answered_what_became_of_it():
    with World(uploaded()) as world:
        upload(world, 1)
        inactive(world, 1)
        cycle = world.start()
        request = world.request("small")
        told: set[str] = set()

        def deactivated() -> bool:
            told.add(str(cycle.account.waiting.get(request, {}).get("text", "")))
            return any("is deactivated (east-1)" in text for text in told)

        assert world.run(60, until=deactivated)
        assert not [text for text in told if "no longer" in text]


@pytest.mark.parametrize("fields", [{}, {"boot-from-volume": True}], ids=["image", "volume"])
@pytest.mark.parametrize("status", ["deactivated", "killed"])
def test_an_upload_that_is_not_active_is_named_by_check_mode_and_by_the_check_of_the_configuration(status, fields):
    with World(uploaded(**fields)) as world, check_mode(world) as run:
        upload(world, 1)
        upload(world, 2)
        inactive(world, 2, status)
        request = world.request("small")
        seen = run()
        assert (seen["unusable"], [item["request"] for item in seen["plan"]["admit"]]) == ([], [request])
        assert check_configuration(world)["unusable"] == [], "the older one serves"
        for warnings in (seen["warnings"], check_configuration(world)["warnings"]):
            (text,) = [text for text in warnings if f"is {status} (east-2)" in text]
            assert "until then, nodes boot from 'built-1'" in text
        inactive(world, 1, status)
        seen = run()
        assert [item["request"] for item in seen["plan"]["wait"]] == [request]
        for text in (*seen["unusable"], *check_configuration(world)["unusable"]):
            assert f"is {status} (east-2): " in text and "east/main is not usable for label small: " in text
        assert len(seen["unusable"]) == len(check_configuration(world)["unusable"]) == 1
        world.start()
        world.run(60)
        assert world.state(request) == "requested"
        reason = world.store.own.get(f"waits/{request}")
        assert f"is {status} (east-2): " in str(reason)


def test_an_upload_that_is_gone_or_under_way_is_no_fault_of_the_configuration():
    with World(uploaded()) as world, check_mode(world) as run:
        upload(world, 1)
        inactive(world, 1, "saving")
        assert check_configuration(world)["unusable"] == []
        lose(world, 1)
        request = world.request("small")
        seen = run()
        assert (seen["unusable"], check_configuration(world)["unusable"]) == ([], [])
        assert [item["request"] for item in seen["plan"]["wait"]] == [request]
        assert "is no longer in the cloud of east/main" in seen["plan"]["wait"][0]["reason"]["text"]
