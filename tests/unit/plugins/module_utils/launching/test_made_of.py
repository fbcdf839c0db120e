# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes were made from a build, and which of them stay."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.made_of import MOST_TOLD, made_of
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node

BUILD, OTHER = "a" * 32, "b" * 32


def node(number: int, state: str, *, build: str = BUILD, request: str | None = None, provider: str = "one") -> Node:
    found = Node(id=f"{number:010d}", provider=provider, state=state, allocated_to=request)
    found.image_id = f"/nodepool/images/tiny/builds/{build}/providers/{provider}/images/0000000001"
    return found


@pytest.mark.parametrize(
    ("state", "request_id", "is_unused", "in_use", "text"),
    [
        ("ready", None, True, False, False),
        ("ready", "200-1", False, True, True),
        ("in-use", "200-1", False, True, True),
        ("hold", None, False, True, True),
        ("used", None, False, True, True),
        ("building", "200-1", False, True, False),
        ("deleting", None, False, False, False),
    ],
)
def test_by_state(state: str, request_id: str | None, is_unused: bool, in_use: bool, text: bool) -> None:
    found = made_of([node(1, state, request=request_id)], "tiny", BUILD)
    assert (bool(found.unused), bool(found.in_use), bool(found.text())) == (is_unused, in_use, text)


def test_only_nodes_of_the_build_at_the_provider_are_listed() -> None:
    records = [node(3, "in-use"), node(2, "in-use", build=OTHER), node(1, "in-use", provider="two"), None]
    assert [one.id for one in made_of(records, "tiny", BUILD).in_use] == ["0000000001", "0000000003"]
    assert made_of(records, "tiny", BUILD, "one").text() == "1 node of it stays in use: 0000000003"
    assert made_of(records, "other", BUILD).in_use == []


def test_a_line_names_few_nodes() -> None:
    text = made_of([node(number, "in-use") for number in range(MOST_TOLD + 3)], "tiny", BUILD).text()
    assert text.endswith(" and 3 more") and len(text.partition(": ")[2].split()) == MOST_TOLD + 3
