# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A request moves to another pool only for a reason that may not hold there, and only if that pool has room."""

from __future__ import annotations

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.elsewhere import (
    has_room_elsewhere,
    has_room_in_another_zone,
    is_left_alone,
    waits_in_vain,
    wants_another_place,
    zone_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.narrow import Shape
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    LabelOffer,
    PoolState,
    ProviderState,
    Snapshot,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner, reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch, Phase
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

ONE = Resources({"instances": 1})
SHAPE = Shape("m1", "debian")


def launch(whose: str, phase: str, failures: int) -> Launch:
    return Launch("7", "east", "main", "small", phase=phase, owner=whose, failures=["x"] * failures)


@pytest.mark.parametrize("whose", owner.OWNERS)
def test_who_moves(whose):
    may = whose in (owner.IMAGE, owner.UNKNOWN)
    assert wants_another_place(launch(whose, Phase.QUEUED, 2)) == may
    assert wants_another_place(launch(whose, Phase.CLEARING, 3)) == may
    assert not wants_another_place(launch(whose, Phase.QUEUED, 1))
    assert not wants_another_place(launch(whose, Phase.BOOTING, 2)), "what is under way is waited for"


@pytest.mark.parametrize("whose", owner.OWNERS)
def test_whose_creates_its_cloud_has_failed_twice_is_left_alone(whose):
    def tried(phase: str, delays: int) -> Launch:
        return Launch("7", "east", "main", "small", phase=phase, owner=whose, delays=delays)

    assert is_left_alone(tried(Phase.QUEUED, 2)) == (whose == owner.CLOUD)
    assert not is_left_alone(tried(Phase.QUEUED, 1)) and not is_left_alone(tried(Phase.CREATING, 2))


def test_what_was_refused_twice_for_want_of_something_waits_in_vain():
    assert waits_in_vain(Launch("7", "east", "main", "small", phase=Phase.QUEUED, delays=2))
    assert not waits_in_vain(Launch("7", "east", "main", "small", phase=Phase.QUEUED, delays=1))
    assert not waits_in_vain(Launch("7", "east", "main", "small", phase=Phase.BOOTING, delays=3))


def test_a_tenant_does_not_move_to_where_its_own_creates_wait():
    waits = Reason(reasons.BREAKER, {"where": "west/main"})
    seen = snapshot(offers={"small": LabelOffer(ONE, not_for={"a": waits})}, az_load={"z1": 0, "z2": 0})
    assert not has_room_elsewhere(seen, ["small"], None, {"e"}, "a") and has_room_elsewhere(
        seen, ["small"], None, {"e"}, "b"
    )
    assert not has_room_in_another_zone(seen, "w", "z1", ["small"] * 2, (), "a")
    assert has_room_in_another_zone(seen, "w", "z1", ["small"] * 2, (), "b")


def snapshot(**west: object) -> Snapshot:
    offer = {"small": LabelOffer(ONE)}
    bounds = Limits({"instances": 10})
    east = PoolState("e", "east", "main", offers=offer)
    other = PoolState("w", "west", "main", **{"offers": offer, **west})  # type: ignore[arg-type]
    providers = {name: ProviderState(name, bounds=bounds, largest=bounds) for name in ("east", "west")}
    return Snapshot(providers, (east, other))


def test_another_pool_that_could_launch_the_whole_set_is_enough():
    assert has_room_elsewhere(snapshot(), ["small", "small"], None, {"e"})
    assert not has_room_elsewhere(snapshot(), ["small", "small"], None, {"e", "w"})
    assert not has_room_elsewhere(snapshot(limits=Limits({"instances": 1})), ["small", "small"], None, {"e"})


@pytest.mark.parametrize(
    "west",
    [
        {"offers": {}},
        {"blocked": Reason(reasons.FACTS_UNREAD, {"where": "w"})},
        {"offers": {"small": LabelOffer(ONE, not_now=Reason(reasons.BREAKER, {}))}},
        {"offers": {"small": LabelOffer(ONE, never=Reason(reasons.NO_IMAGE, {}))}},
        {"frozen": {"instances": Reason(reasons.FROZEN, {})}},
        {"offers": {"small": LabelOffer(ONE, shape=SHAPE)}, "narrow": frozenset({"hosts for m1 with debian"})},
        {
            "offers": {"small": LabelOffer(ONE, shape=SHAPE)},
            "narrow": frozenset(f"hosts for m1 with debian in zone {zone}" for zone in "ab"),
            "az_load": {"a": 0, "b": 0},
        },
        {"used": Resources({"instances": 4}), "limits": Limits({"instances": 4})},
    ],
)
def test_a_pool_that_cannot_launch_it_now_is_not(west):
    assert not has_room_elsewhere(snapshot(**west), ["small"], None, {"e"})


def test_a_preferred_provider_is_not_left_while_it_has_pools():
    assert not has_room_elsewhere(snapshot(), ["small"], "east", {"e"})
    assert has_room_elsewhere(snapshot(), ["small"], "elsewhere", {"e"})


def test_a_set_may_move_to_a_zone_of_its_pool_that_was_not_tried():
    seen = snapshot(az_load={"a": 0, "b": 3})
    pair = ["small", "small"]
    assert has_room_in_another_zone(seen, "w", "a", pair, set())
    assert not has_room_in_another_zone(seen, "w", "a", ["small"], set()), "a single node changes its zone itself"
    assert not has_room_in_another_zone(seen, "w", "a", pair, {zone_of("w", "b")})
    assert not has_room_in_another_zone(seen, "w", "a", pair, {zone_of("w", "a")}), "it has come back"
    assert not has_room_in_another_zone(seen, "gone", "a", pair, set())
    full = snapshot(az_load={"a": 0, "b": 3}, limits=Limits({"instances": 1}))
    assert not has_room_in_another_zone(full, "w", "a", pair, set())
    blocked = snapshot(az_load={"a": 0, "b": 3}, blocked=Reason(reasons.FACTS_UNREAD, {"where": "w"}))
    assert not has_room_in_another_zone(blocked, "w", "a", pair, set())


def test_a_zone_without_what_the_set_needs_is_no_other_place():
    offers = {"small": LabelOffer(ONE, shape=SHAPE)}
    pair, load = ["small", "small"], {"a": 0, "b": 0, "c": 0}
    lacking = frozenset({"success with creates in zone b", "hosts for m1 with debian in zone a"})
    seen = snapshot(offers=offers, az_load=load, narrow=lacking)
    assert has_room_in_another_zone(seen, "w", "a", pair, set())
    assert not has_room_in_another_zone(seen, "w", "a", pair, {zone_of("w", "c")})
    assert has_room_elsewhere(seen, pair, None, {"e"}), "one zone that has all of it is enough"
