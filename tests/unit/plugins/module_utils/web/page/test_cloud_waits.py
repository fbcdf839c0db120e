# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The oldest request that waits for each cloud."""

from __future__ import annotations

from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.web.page.cloud_waits import oldest_waits

POOLS = {"east": ["small", "large"], "west": ["small"], "north": ["small"]}


def provider(name: str, registered: bool = True) -> dict[str, Any]:
    pool = {"id": f"{name}-main", "name": "main", "labels": POOLS[name], "registered": registered}
    return {"name": name, "pools": [pool]}


def request(state: str, age: float | None, *labels: str, **more: Any) -> dict[str, Any]:
    found = {"id": "300-1", "state": state, "created_age": age, "labels": list(labels)}
    return {**found, "provider": None, "declined_by": [], **more}


def waits(*requests: dict[str, Any], nodes: tuple[dict[str, Any], ...] = ()) -> dict[str, float]:
    return oldest_waits([provider("east"), provider("west"), provider("north", registered=False)], requests, nodes)


def test_a_request_waits_for_each_provider_that_a_registered_pool_offers_all_its_labels():
    assert waits(request("requested", 9.0, "small")) == {"east": 9.0, "west": 9.0}
    assert waits(request("requested", 9.0, "small", "large")) == {"east": 9.0}
    assert waits(request("requested", 9.0, "huge")) == {}


def test_the_oldest_counts():
    assert waits(request("requested", 9.0, "small"), request("requested", 90.0, "large")) == {"east": 90.0, "west": 9.0}


def test_a_request_without_labels_or_with_an_unknown_age_is_left_out():
    assert waits(request("requested", 9.0), request("requested", None, "large")) == {}


def test_neither_one_that_has_declined_it_nor_one_that_it_does_not_name():
    assert waits(request("requested", 9.0, "small", declined_by=["east-main"])) == {"west": 9.0}
    assert waits(request("requested", 9.0, "small", provider="west")) == {"west": 9.0}
    assert waits(request("requested", 9.0, "large", provider="west")) == {}


def test_a_request_in_work_waits_for_the_providers_of_its_nodes():
    nodes = ({"request": "300-1", "provider": "west"}, {"request": None, "provider": "east"})
    assert waits(request("pending", 9.0, "small"), nodes=nodes) == {"west": 9.0}


def test_what_is_served_or_failed_does_not_wait():
    assert waits(request("fulfilled", 9.0, "small"), request("failed", 9.0, "small")) == {}
