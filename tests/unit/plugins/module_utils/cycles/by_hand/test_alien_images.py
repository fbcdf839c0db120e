# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.by_hand.alien_images import alien_rows
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Image

BUILD = {"nodepool_build_id": "b"}


def test_only_what_a_builder_uploaded_and_no_record_knows():
    images = [
        Image("1", "known", "active", BUILD),
        Image("2", "public", "active"),
        Image("3", "z", "active", BUILD),
        Image("4", "a", "active", {**BUILD, "stackci_site": "here", "nodepool_upload_id": "7"}),
    ]
    rows = alien_rows("west", images, ["1", None], "here")
    assert [(row["image_id"], row["this_tree"], row["upload_id"], row["site"]) for row in rows] == [
        ("4", True, "7", "here"),
        ("3", False, None, None),
    ]


def test_in_a_tree_without_an_id_nothing_is_of_this_tree():
    assert [row["this_tree"] for row in alien_rows("west", [Image("1", "a", "active", BUILD)], [], "")] == [False]
