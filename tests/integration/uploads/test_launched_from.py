# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New nodes are made from the newest upload; when that goes, from the one before it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.builder.uploads.delete_upload import delete_one
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import ConfigError
from ansible_collections.stackci.nodepool.plugins.module_utils.model.image import BuildState
from tests.support.image_case import IMAGE, Builder


def launched_from(builder: Builder) -> str:
    """The id of the cloud image of the next node."""
    site = builder.site
    site.requestor.ask("small")
    (row,) = [site.run()["nodes"]["ready"]]
    return str(site.cloud.server(row[0])["image"]) if row else ""


def test_the_newest_and_after_its_deletion_the_previous(builder: Builder) -> None:
    builder.configure()
    first, second = builder.build(), None
    builder.run()
    second = builder.build()
    builder.run()
    old, new = builder.uploads()
    assert (old.build_id, new.build_id) == (first.id, second.id)
    assert launched_from(builder) == new.external_id
    marked = builder.store.images.build(IMAGE, second.id)
    marked.set_state(BuildState.DELETING, 1.0)
    builder.store.images.write_build(marked)
    builder.run()
    assert launched_from(builder) == old.external_id


def test_an_upload_that_was_never_there_is_told_by_its_deletion(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    (upload,) = builder.uploads()
    named: dict[str, Any] = {"image": IMAGE, "provider": "one", "build_id": upload.build_id}
    assert delete_one(builder.options(**named), "0000000009")["changed"] is False
    with pytest.raises(ConfigError, match="'debain' is not a diskimage"):
        delete_one(builder.options(**{**named, "image": "debain"}), upload.id)
    assert len(builder.in_cloud()) == 1


def test_one_upload_is_deleted_by_hand(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    builder.build()
    builder.run()
    old, new = builder.uploads()
    options: dict[str, Any] = {"image": IMAGE, "provider": "one", "build_id": new.build_id}
    shown = delete_one(builder.options(**options), new.id, check=True)
    assert shown["changed"] and new.path in shown["diff"]["before"]
    assert len(builder.uploads()) == 2
    result = delete_one(builder.options(**options), str(int(new.id)))
    assert [row["external_id"] for row in result["uploads"]["deleted"]] == [new.external_id]
    assert list(builder.in_cloud()) == [old.external_id]
    assert launched_from(builder) == old.external_id
    assert delete_one(builder.options(**options), new.id)["changed"] is False
    # It is uploaded again, and then it is the newest once more.
    (row,) = builder.run()["uploads"]["done"]
    assert row["build_id"] == new.build_id
    assert launched_from(builder) == row["external_id"]


def test_the_previous_when_somebody_has_deleted_the_newest_in_the_cloud(builder: Builder) -> None:
    builder.configure()
    builder.build()
    builder.run()
    builder.build()
    builder.run()
    old, new = builder.uploads()
    options = builder.options()
    assert options.client(options.load().providers["one"]).images.delete(new.external_id or "")
    assert launched_from(builder) == old.external_id
