# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launcher reads of images that builders, ours or Nodepool's, keep."""

from __future__ import annotations

import json

import pytest

from tests.support.fixtures_zookeeper import eventually

HEX = "62ee55d4b3414869b6b292a38d9f6cf0"


@pytest.fixture
def put(store, zk_client):
    def put(path, **document):
        full = f"/nodepool/images/{path}"
        zk_client.ensure_path(full)
        if document:
            data = json.dumps(document).encode()
            zk_client.set(full, data)
            eventually(lambda: (entry := store._session.tree.entry(full)) and entry.data == data)
        return full

    return put


def test_the_newest_ready_upload_of_any_build(store, put):
    put("bionic/builds/lock/abc__lock__0000000000")
    put(f"bionic/builds/{HEX}", state="ready", state_time=1.0)
    put(f"bionic/builds/{HEX}/providers/p/images/lock")
    put(f"bionic/builds/{HEX}/providers/p/images/0000000001", state="ready", state_time=5.0, external_id="five")
    put(f"bionic/builds/{HEX}/providers/p/images/0000000002", state="failed", state_time=9.0, external_id="nine")
    put(f"bionic/builds/{HEX}/providers/q/images/0000000001", state="ready", state_time=8.0, external_id="q")
    newest = put(
        "bionic/builds/0000000007/providers/p/images/0000000001",
        state="ready",
        state_time=7.0,
        external_id="seven",
        username="zuul",
        python_path="auto",
    )
    put("bionic/builds/0000000008/providers/p/images/0000000001", state="ready", state_time=99.0)
    upload = store.images.newest_ready("bionic", "p")
    assert (upload.path, upload.external_id, upload.id) == (newest, "seven", "0000000001")
    assert (upload.image, upload.build_id, upload.provider) == ("bionic", "0000000007", "p")
    assert store.images.newest_ready("bionic", "q").external_id == "q"
    assert store.images.newest_ready("bionic", "r") is None
    assert store.images.newest_ready("none", "p") is None


def test_a_look_for_the_newest_asks_zookeeper_for_nothing(zookeeper, store, put):
    put(f"bionic/builds/{HEX}", state="ready", state_time=1.0)
    put(f"bionic/builds/{HEX}/providers/p/images/0000000001", state="ready", state_time=5.0, external_id="five")
    before = zookeeper.counts()[1]
    assert [store.images.newest_ready("bionic", "p").external_id for _unused in range(50)] == ["five"] * 50
    assert zookeeper.counts()[1] - before < 10


def test_an_upload_of_a_build_that_is_being_deleted_is_not_the_newest(store, put):
    for number, state in ((1, "ready"), (2, "deleting")):
        put(f"bionic/builds/000000000{number}", state=state, state_time=1.0)
        put(
            f"bionic/builds/000000000{number}/providers/p/images/0000000001",
            state="ready",
            state_time=float(number),
            external_id=f"image-{number}",
        )
    assert store.images.newest_ready("bionic", "p").external_id == "image-1"


def test_building(store, put):
    put("lock/builds/lock")
    put(f"lock/builds/{HEX}", state="failed")
    assert not store.images.is_building("lock")
    put(f"lock/builds/{HEX}", state="building")
    assert store.images.is_building("lock")
    put(f"lock/builds/{HEX}", state="ready")
    eventually(lambda: not store.images.is_building("lock"))
    put(f"lock/builds/{HEX}/providers/p/images/0000000001", state="uploading")
    assert store.images.is_building("lock")
    assert not store.images.is_building("other")
