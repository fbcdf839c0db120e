# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's requestor looks at a tree that others change meanwhile."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kazoo.exceptions import NoNodeError

from tests.demo.requestor import NODES, REQUESTS, Requestor

STAYS = b'{"state": "ready"}'


class Tree:
    """Node 1 is listed and gone when it is read; there is no folder of builds."""

    def __init__(self, requests: dict[str, str]) -> None:
        self.requests = requests

    def get_children(self, folder: str) -> list[str]:
        if folder == NODES:
            return ["0000000002", "0000000001", "lock"]
        raise NoNodeError

    def get(self, path: str) -> tuple[bytes, Any]:
        if path == f"{NODES}/0000000002":
            return STAYS, None
        state = self.requests.get(path.removeprefix(f"{REQUESTS}/"))
        if state is None:
            raise NoNodeError
        return json.dumps({"state": state}).encode(), None


@pytest.fixture
def requestor() -> Requestor:
    made = Requestor.__new__(Requestor)
    states = {"200-1": "requested", "200-2": "fulfilled", "200-3": "failed"}
    made.__dict__["_client"] = Tree(states)
    return made


def test_a_node_that_goes_between_the_listing_and_the_reading_is_left_out(requestor: Requestor) -> None:
    assert requestor.nodes() == {"0000000002": {"state": "ready"}}


def test_a_folder_that_is_not_there_is_empty(requestor: Requestor) -> None:
    assert requestor.builds("debian") == {}


def test_only_a_fulfilled_request_can_be_accepted(requestor: Requestor) -> None:
    asked = ["200-1", "200-2", "200-3", "200-4"]
    assert [name for name in asked if requestor.is_fulfilled(name)] == ["200-2"]
