# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One row of nova's list with a value of another type: it is told everywhere, waited for, and stops nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import META_LAUNCH, UNKNOWN, Server
from tests.support.owner_case import creates
from tests.support.world import Cycle, World, one_provider

ODD: dict[str, dict[str, Any]] = {
    "status": {"status": UNKNOWN},
    "addresses": {"addresses": ()},
    "metadata": {"metadata": {}},
    "flavor": {"flavor_id": None, "resources": None},
    "created": {"created": None},
}
"""Key whose value is null → what is left of the server."""
WAITED_FOR = ("status", "addresses")
"""Without these it is not known what becomes of a server."""
SECONDS = 90.0


def spoil(world: World, key: str, until: float) -> None:
    """Have the list show null below *key* of the first server that the launcher makes."""
    cloud, listing = world.clouds["east"], world.clouds["east"].listing
    mine: list[str] = []

    def rows(changes_since: str | None = None) -> list[Server]:
        found = listing(changes_since)
        mine.extend(sorted(one.id for one in found if META_LAUNCH in one.metadata))
        if world.agenda.now >= until:
            return found
        odd = {key: f"{key} is null where something else belongs"}
        return [replace(one, odd=odd, **ODD[key]) if one.id == mine[0] else one for one in found]

    cloud.listing = rows  # type: ignore[method-assign]


def told(world: World, cycle: Cycle) -> list[str]:
    """Return where the oddity stands: the health, its stored record, the lines."""
    health = cycle.context.actors["east"].health.document(world.agenda.now)
    record = (world.store.own.get("providers/east") or {}).get("health", {})
    lines = " ".join(line for _when, line in cycle.lines)
    return [name for name, text in (("health", str(health)), ("record", str(record)), ("lines", lines)) if _odd(text)]


def _odd(text: str) -> bool:
    return "GET /servers/detail: 1 of " in text


@pytest.mark.parametrize("key", ODD)
def test_a_null_in_one_row_is_told_everywhere_and_holds_up_nobody_else(key: str):
    with World(one_provider()) as world:
        spoil(world, key, world.agenda.now + SECONDS)
        cycle = world.start()
        first = world.request("small")
        world.run(5)
        others = [world.request(name) for name in ("small", "medium")]
        assert world.run(40, until=lambda: all(one in world.fulfilled for one in others))
        world.run(30)
        assert told(world, cycle) == ["health", "record", "lines"]
        health = cycle.context.actors["east"].health
        document = health.document(world.agenda.now)
        assert (document["state"], document["owner"]) == ("trouble", "cloud")
        assert (first in world.fulfilled) == (key not in WAITED_FOR)
        if key in WAITED_FOR:
            waits = world.store.own.get(f"waits/{first}") or {}
            assert waits["code"] == "provider-trouble" and _odd(waits["text"])
        assert world.run(90, until=lambda: first in world.fulfilled)
        assert len(creates(cycle)) == 3, "nothing is thrown away for it"
        world.run(SECONDS)
        world.request("small")
        assert world.run(60, until=lambda: health.document(world.agenda.now)["state"] == "ok")


@pytest.mark.parametrize("key", WAITED_FOR)
def test_what_is_never_told_of_a_server_blames_the_cloud_and_no_image(key: str):
    document = one_provider()
    document["providers"][0]["launch-timeout"] = 60
    with World(document) as world:
        spoil(world, key, float("inf"))
        cycle = world.start()
        first = world.request("small")
        assert world.run(300, until=lambda: first in world.fulfilled), "with another server"
        assert world.store.own.get("breakers/east") in (None, {})
        failures = [line for _when, line in cycle.lines if "nova does not report the state of the server" in line]
        assert failures and all("[owner: cloud]" in line for line in failures)


def test_a_server_of_others_whose_cell_is_away_is_no_trouble_of_the_provider():
    with World(one_provider()) as world:
        (theirs,) = world.clouds["east"].add_foreign()
        listing = world.clouds["east"].listing
        world.clouds["east"].listing = lambda since=None: [  # type: ignore[method-assign,assignment]
            replace(one, status=UNKNOWN) if one.id == theirs.id else one for one in listing(since)
        ]
        cycle = world.start()
        request = world.request("small")
        assert world.run(60, until=lambda: request in world.fulfilled)
        world.run(60)
        assert cycle.context.actors["east"].health.document(world.agenda.now)["state"] == "ok"
