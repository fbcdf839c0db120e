# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two lives are compared key by key."""

from __future__ import annotations

from typing import Any

from tests.interop.documents import Life, differences

THEIRS = [{"state": "building", "az": "az1"}, {"state": "ready", "az": "az1", "pool": "main"}]


def found(*documents: dict[str, Any], gone: bool = True, allowed: dict[str, str] | None = None) -> list[str]:
    ours = Life(list(documents), gone)
    return [about for about, _text in differences("node", Life(THEIRS, True), ours, allowed or {})]


def test_the_same_life_has_no_difference_whatever_values_are_its_own():
    assert found({"state": "building", "az": "az2"}, {"state": "ready", "az": "az2", "pool": "main"}) == []


def test_states_keys_values_and_the_end_are_compared():
    assert found({"state": "ready", "az": "az2", "pool": "main"}) == ["node.states"]
    assert found(*THEIRS, gone=False) == ["node.gone"]
    assert found(THEIRS[0], {"state": "ready", "az": "az1"}) == ["node.pool@ready"]
    assert found(THEIRS[0], {**THEIRS[1], "extra": None}) == ["node.extra@ready"]
    assert found(THEIRS[0], {**THEIRS[1], "pool": "other"}) == ["node.pool@ready"]
    assert found({"state": "building", "az": None}, THEIRS[1]) == ["node.az@building"]


def test_what_is_allowed_is_left_out():
    ours = {"state": "building", "az": None}
    assert found(ours, THEIRS[1], allowed={"node.az@building": "why"}) == []
    assert found(ours, THEIRS[1], allowed={"node.az": "why"}) == []
