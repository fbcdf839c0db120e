# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever somebody writes into the tree, every page answers: one value hides no other."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import populated_tree
from tests.support.tree_reading import NOW
from tests.support.web_case import WebCase

VALUES: tuple[Any, ...] = (
    -1e15,
    1e308,
    10**400,
    "-1e15",
    float("nan"),
    None,
    "\x1b[2J\u202e\u0000\ud800",
    [[{}]],
    {"": None},
)
PATHS = (
    "/",
    "/nodes",
    "/requests",
    "/images",
    "/usage",
    "/metrics",
    "/ready",
    "/node-list",
    "/request-list",
    "/image-list",
    "/dib-image-list",
    "/image-status",
    "/label-list",
)


def leaves(value: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values in a document."""
    if where:
        yield where
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from leaves(inner, (*where, key))


def replaced(document: Any, where: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with another value there."""
    if not where:
        return value
    copy = dict(document) if isinstance(document, dict) else list(document)
    copy[where[0]] = replaced(copy[where[0]], where[1:], value)
    return copy


def everywhere(value: Any) -> Iterator[dict[str, Any]]:
    """Trees in which *value* stands in one place of each document, until it has stood in every place."""
    found = populated_tree.documents(NOW)
    ways = {path: list(leaves(document)) for path, document in found.items()}
    for turn in range(max(map(len, ways.values()))):
        yield {
            path: replaced(document, ways[path][turn], value) if turn < len(ways[path]) else document
            for path, document in found.items()
        }


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_no_value_makes_a_page_fail(value, caplog):
    wrong = set()
    for tree in everywhere(value):
        case = WebCase(tree, populated_tree.locks())
        caplog.clear()
        with caplog.at_level(logging.ERROR):
            for path in PATHS:
                if case.get(path).status_code not in (200, 503):
                    told = caplog.records[-1].exc_info
                    wrong.add((path, repr(told[1]) if told else ""))
    assert wrong == set()
