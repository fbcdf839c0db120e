# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which providers can be used."""

from __future__ import annotations

from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.frame.provider_reach import (
    reach,
    reach_document,
    unreached,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudAuthError


def ask(client: str) -> None:
    if client == "refuses":
        raise CloudAuthError("provider b: 401", provider="b")


def test_each_provider_is_asked_and_the_problem_of_one_leaves_the_others_alone():
    answers = reach({"a": "answers", "b": "refuses", "c": "answers"}, ask)
    assert answers == {"a": None, "b": "provider b: 401", "c": None}
    rows = {name: reach_document(answers[name]) for name in ("c", "b", "a")}
    assert rows["a"] == {"reached": True}
    assert rows["b"] == {"reached": False, "text": "provider b: 401"}
    assert unreached(rows) == ["provider b: 401"]


def test_problems_are_in_the_order_of_the_names():
    rows = {name: reach_document(f"{name} is away") for name in ("z", "a", "m")}
    assert unreached(rows) == ["a is away", "m is away", "z is away"]
