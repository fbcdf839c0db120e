# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's requestor looks at a tree that others change meanwhile."""

from __future__ import annotations

from typing import Any
from unittest import mock

from kazoo.exceptions import NoNodeError

from tests.demo.requestor import Requestor

STAYS = b'{"state": "ready"}'


class Tree:
    """Deletes a node between the listing and the reading of it."""

    def get_children(self, folder: str) -> list[str]:
        if "requests" in folder:
            raise NoNodeError
        return ["0000000002", "0000000001", "lock"]

    def exists(self, _path: str) -> object:
        return object()

    def get(self, path: str) -> tuple[bytes, Any]:
        if path.endswith("1"):
            raise NoNodeError
        return STAYS, None


def test_what_goes_between_two_calls_is_not_there() -> None:
    requestor = Requestor.__new__(Requestor)
    with mock.patch.object(requestor, "_client", Tree(), create=True):
        assert requestor.nodes() == {"0000000002": {"state": "ready"}}
        assert requestor.requests() == {}
        assert not requestor.is_fulfilled("200-0000000001")
