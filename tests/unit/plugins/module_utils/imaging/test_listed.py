# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What builders list survives storing, whatever else stands there."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.imaging import listed
from ansible_collections.stackci.nodepool.plugins.module_utils.imaging.listed import Listed, OtherBuilders
from tests.support.image_views import config

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=8)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(images=st.frozensets(NAMES, max_size=5), uploads=st.frozensets(st.tuples(NAMES, NAMES), max_size=8))
def test_what_is_stored_lists_the_same(images, uploads):
    stored = Listed.from_document(json.loads(json.dumps(Listed(images, uploads).document())))
    assert stored.uploads == uploads
    assert stored.images == images | {image for _provider, image in uploads}


@given(document=st.dictionaries(st.sampled_from(["images", "providers"]), JSON))
def test_any_document_can_be_read(document):
    found = OtherBuilders((Listed.from_document(document),))
    assert found.list_upload("east", "debian") in (True, False)


def test_of_a_configuration():
    found = Listed.of(config(["debian", "fedora"], {"east": ["debian"], "west": []}))
    assert found == Listed(frozenset({"debian", "fedora"}), frozenset({("east", "debian")}))
    others = OtherBuilders((found,), frozenset({"stock"}))
    assert others.list_image("fedora") and not others.list_image("arch")
    assert others.list_upload("east", "debian") and not others.list_upload("west", "debian")
    assert others.has_host("stock.example.org") and not others.has_host("else") and not others.has_host(None)


def test_one_that_lists_too_much_lists_everything(monkeypatch):
    monkeypatch.setattr(listed, "MOST_PAIRS", 1)
    found = Listed.from_document(Listed.of(config(["a", "b"], {"east": ["a", "b"]})).document())
    assert found.uploads is None
    others = OtherBuilders((found,))
    assert others.list_upload("anywhere", "a") and not others.list_upload("east", "c")
