# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world of images as ZooKeeper has it, whatever somebody wrote there."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.builder_identity import Identity
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.context.observe_images import (
    note_builder,
    view_images,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.due_uploads import judge_uploads
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.notes import LISTED_FOR
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.retention import (
    abandoned_builds,
    plan_deletions,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.image_rows import builds_result, images_result
from ansible_collections.stackci.nodepool.plugins.module_utils.sweeping.find import Known, Seen, find
from tests.support.effort import examples
from tests.support.image_views import config, judge_builds
from tests.support.memory_zookeeper import MemoryStore, MemoryZooKeeper
from tests.support.odd_documents import BUILD, Spoiler, documents
from tests.support.virtual_time import START, Agenda

IMAGE = "/nodepool/images/fedora"
UPLOADED = f"{IMAGE}/builds/{BUILD}/providers/east/images/0000000001"
MARKS = {
    "nodepool_build_id": BUILD,
    "nodepool_upload_id": "0000000001",
    "nodepool_provider_name": "east",
    "stackci_site": "s",
}
CLOUD_IMAGE = Image(id="i-1", name="fedora", status="active", properties=MARKS, created="2020-01-01T00:00:00Z")
CONFIG = config(["fedora"], {"east": ["fedora"]}, images_dir="/images")


def stored(found: dict[str, bytes]) -> MemoryStore:
    """A store with these documents in it."""
    keeper = MemoryZooKeeper(Agenda())
    for path, data in found.items():
        keeper.store_raw(path, data)
    return keeper.store()


def whole() -> dict[str, bytes]:
    """Images and what is kept of them."""
    found = documents(START, "p")
    return {path: json.dumps(found[path]).encode() for path in found if "/image" in path}


@given(seed=st.integers(0, 2**30))
@settings(max_examples=examples(60))
def test_plans_and_reports_are_made_whatever_stands_there(seed):
    spoiler, found = Spoiler(seed), whole()
    for path in spoiler.chance.sample(sorted(found), spoiler.chance.randint(1, len(found))):
        found[path] = spoiler.data(json.loads(found[path]))
    store = stored(found)
    note_builder(store, CONFIG, "b2", START)
    view = view_images(store, CONFIG, now=START + 1e5, provider_formats={"east": "qcow2"}, files=(), builder_id="b2")
    judge_builds(view)
    judge_uploads(view)
    plan_deletions(view)
    abandoned_builds(view)
    json.dumps([images_result(view, ["fedora"], ["east"]), builds_result(view, ["fedora"])])


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"a":' * 500 + b"1" + b"}" * 500, b"{}"])
def test_an_upload_that_cannot_be_read_keeps_its_record_its_build_and_its_image(data):
    deleting = json.dumps({"state": "deleting", "state_time": START}).encode()
    store = stored({UPLOADED: data, f"{IMAGE}/builds/{BUILD}": deleting})
    for images in (["fedora"], []):
        configured = config(images, {"east": images}, images_dir="/images")
        view = view_images(store, configured, now=START + 1e6, provider_formats={}, files=(), builder_id="b2")
        assert not plan_deletions(view)
    known = Known("east", site="s", uploads=lambda: store.images.uploads("fedora"))
    assert find(Seen(images=[CLOUD_IMAGE]), known) == []
    told = store.odd_documents()
    assert [line.partition(" is ignored and not changed: ")[0] for line in told] == [UPLOADED]
    assert store.odd_documents() == []


def test_an_upload_without_its_record_is_found_by_the_same_look():
    store = stored({f"{IMAGE}/builds/{BUILD}": b'{"state": "ready"}'})
    known = Known("east", site="s", uploads=lambda: store.images.uploads("fedora"))
    assert [thing.code for thing in find(Seen(images=[CLOUD_IMAGE]), known)] == ["upload-unknown"]


def test_an_upload_in_a_state_that_nobody_knows_is_left_alone():
    store = stored({UPLOADED: b'{"state": "importing"}', f"{IMAGE}/builds/{BUILD}": b'{"state": "ready"}'})
    configured = config([], {"east": []}, images_dir="/images")
    view = view_images(store, configured, now=START + 1e6, provider_formats={}, files=(), builder_id="b2")
    assert plan_deletions(view) == []


def test_other_builders_are_those_that_live_and_those_that_ran_within_a_day():
    store, theirs = stored({}), config(["arch"], {"east": ["arch"]}, images_dir="/others")
    note_builder(store, theirs, "b9", START)
    note_builder(store, CONFIG, "b2", START)

    def lists(now: float) -> bool:
        view = view_images(store, CONFIG, now=now, provider_formats={}, files=(), builder_id="b2")
        return view.lists("arch") and view.lists_at("east", "arch")

    assert lists(START + LISTED_FOR - 1.0)
    assert not lists(START + LISTED_FOR)
    live = Identity(store, theirs, "b9")
    live.begin()
    assert lists(START + 10 * LISTED_FOR)
    live.end()
    assert not lists(START + 10 * LISTED_FOR)


def test_a_builder_of_another_program_is_known_by_its_host():
    document = {"hostname": "stock.example.org", "version": "11.0.0", "kind": "builder"}
    store = stored({"/nodepool/components/builder/stock0000000001": json.dumps(document).encode()})
    view = view_images(store, CONFIG, now=START, provider_formats={}, files=(), builder_id="b2")
    assert view.others.hosts == {"stock"}
