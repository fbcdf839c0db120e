# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nova would refuse for certain is found before the create is sent, with the field and its owner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.create_checks import unfit
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import ServerSpec

SPEC = ServerSpec(name="np0000000001", image_id="i", flavor_id="f", metadata={"nodepool_node_id": "0000000001"})


def test_an_ordinary_create_is_fit():
    assert unfit(SPEC, ()) is None
    assert unfit(replace(SPEC, metadata={"k" * 255: "v" * 255}, userdata="x" * 49149), ()) is None


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"metadata": {"tenant": "t" * 256}}, "tenant", "metadata tenant has 256 characters, but nova allows 255"),
        ({"metadata": {"t" * 256: "x"}}, "t" * 256, "has 256 characters"),
        ({"metadata": {"a/b": "x"}}, "a/b", "characters that nova does not allow"),
        ({"metadata": {"": "x"}}, "", "characters that nova does not allow"),
        ({"metadata": {f"k{number}": "x" for number in range(129)}}, "metadata", "129 metadata items, nova allows 128"),
        ({"userdata": "x" * 49150}, "user_data", "userdata has 65536 characters in base64, nova allows 65535"),
        ({"name": "n" * 256}, "name", "has 256 characters"),
        ({"metadata": {"tenant": "a\ud800"}}, "tenant", "metadata tenant has half of a character"),
        ({"userdata": "a\udfff"}, "user_data", "userdata has half of a character"),
    ],
)
def test_each_kind_is_told_with_its_field(changes, field, words):
    problem = unfit(replace(SPEC, **changes), ())
    assert problem is not None and problem.field == field and words in problem.text
    assert problem.owner == owner.LABEL
    mine = unfit(replace(SPEC, **changes), (field,))
    assert mine is not None and mine.owner == owner.REQUEST


@given(st.dictionaries(st.text(max_size=300), st.text(max_size=300), max_size=140), st.text(max_size=300))
def test_whatever_the_metadata_is_it_is_fit_or_has_one_owner(metadata, key):
    problem = unfit(replace(SPEC, metadata=metadata), (key,))
    assert problem is None or problem.owner == (owner.REQUEST if problem.field == key else owner.LABEL)
