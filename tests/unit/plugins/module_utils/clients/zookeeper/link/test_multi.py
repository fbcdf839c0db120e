# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes in parts that ZooKeeper accepts."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import (
    LARGEST,
    in_parts,
    size_of,
)


class Change(NamedTuple):
    path: str
    data: bytes = b""


@given(st.lists(st.integers(0, 400_000), max_size=60), st.integers(1, 20))
def test_parts_are_bounded_in_number_and_bytes_and_keep_the_order(sizes, most):
    operations = [Change(f"/p{place}", b"x" * size) for place, size in enumerate(sizes)]
    parts = list(in_parts(operations, most))
    assert [item for part in parts for item in part] == operations
    assert all(0 < len(part) <= most for part in parts)
    assert all(sum(map(size_of, part)) <= LARGEST or len(part) == 1 for part in parts)


def test_a_deep_path_counts_with_all_its_bytes():
    deep = Change("/ä" * 100_000)
    assert size_of(deep) > 300_000
    assert [len(part) for part in in_parts([deep] * 4, 1000)] == [3, 1]
