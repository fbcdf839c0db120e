# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an inventory takes from its cache, and what replaces a source that does not answer."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudUnavailable, NodepoolError
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.gathering import Gathering
from ansible_collections.stackci.nodepool.plugins.module_utils.reporting.hosts import Selection

NOW = 1000.0
OLD = {"listed_at": 900.0, "rows": [{"server_id": "old"}]}
FRESH = [{"server_id": "fresh"}]


def silent() -> dict[str, Any]:
    raise CloudUnavailable("provider east: no answer")


def gathering(fetch: Any, stored: dict[str, Any], on_error: str = "fail", warned: list[str] | None = None) -> Gathering:
    told = warned if warned is not None else []
    return Gathering(
        {"east": fetch}, {"east": frozenset()}, stored,
        selection=Selection(), on_error=on_error, deadline=10.0, warn=told.append, clock=lambda: NOW,
    )  # fmt: skip


@pytest.mark.parametrize(("youngest", "rows"), [(899.0, OLD["rows"]), (901.0, FRESH), (None, FRESH)])
def test_young_parts_come_from_the_cache(youngest, rows):
    made = gathering(lambda: {"rows": FRESH}, {"east": OLD})
    made.gather(youngest)
    assert made.parts["east"]["rows"] == rows


@pytest.mark.parametrize("listed_at", [NOW + 1.0, 1e300, float("nan")])
def test_a_part_of_a_time_to_come_is_listed_again(listed_at):
    made = gathering(lambda: {"rows": FRESH}, {"east": {**OLD, "listed_at": listed_at}})
    made.gather(899.0)
    assert made.parts["east"] == {"listed_at": NOW, "rows": FRESH}


def test_a_source_that_does_not_answer_fails():
    with pytest.raises(NodepoolError, match=r"^east could not be listed: no answer$"):
        gathering(silent, {"east": OLD}).gather(None)
    with pytest.raises(NodepoolError, match=r"no answer; nothing of it was cached$"):
        gathering(silent, {}, "stale").gather(None)


@pytest.mark.parametrize(
    ("on_error", "parts", "sentence"),
    [
        ("stale", {"east": OLD}, "east is shown as it was 100 s ago (on_error: stale): no answer"),
        ("skip", {}, "east is missing from the inventory (on_error: skip): no answer"),
    ],
)
def test_what_replaces_a_source(on_error, parts, sentence):
    warned: list[str] = []
    made = gathering(silent, {"east": OLD}, on_error, warned)
    made.gather(None)
    assert (made.parts, warned) == (parts, [sentence])
