# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodepool's rules of who may serve, room, and options."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.capacity import Rooms, worst_shortage
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.placement import Placing, place
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.serving_options import Stock
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    LabelOffer,
    OpenRequest,
    OtherPool,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.verdict import (
    never,
    not_now,
    others_able,
    preferred,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources

ONE = Resources({"instances": 1, "cores": 2, "ram": 1024})
WIDE = Limits({"instances": 10})


def pool(provider: str = "east", priority: int = 100, limits: Limits = WIDE, labels: str = "a", **more) -> PoolState:
    offers = {label: LabelOffer(ONE) for label in labels}
    return PoolState(f"id-{provider}", provider, "main", priority, offers, limits, **more)


def other(key: str = "x", provider: str = "far", priority: int = 100, **more) -> OtherPool:
    return OtherPool(key, provider, "main", frozenset(more.pop("labels", "a")), priority, **more)


def request(*labels: str, **more) -> OpenRequest:
    return OpenRequest("r", ("100", 0, "1"), labels or ("a",), **more)


def world(*pools: PoolState, foreign: tuple[OtherPool, ...] = (), **provider) -> Snapshot:
    states = {item.provider: ProviderState(item.provider, **{"bounds": Limits(), **provider}) for item in pools}
    return Snapshot(states, pools, foreign, (request(),))


@pytest.mark.parametrize(
    ("mine", "theirs", "allowed"),
    [
        (100, other(priority=50), False),
        (100, other(priority=100), True),
        (100, other(priority=150), True),
        (100, other(priority=50, paused=True), True),
        (100, other(priority=50, present=False), True),
    ],
)
def test_a_foreign_pool_with_a_smaller_number_goes_first_unless_it_is_paused(mine, theirs, allowed):
    assert bool(preferred(request(), [pool(priority=mine)], [theirs])) is allowed


@pytest.mark.parametrize(
    ("wanted", "others", "allowed"),
    [
        ("east", (), ["east"]),
        ("west", (), ["west"]),
        ("nowhere", (), ["east", "west"]),
        ("far", (other(),), []),
        ("far", (other(present=False),), ["east", "west"]),
        ("east", (other(priority=1),), ["east"]),
    ],
)
def test_a_preferred_provider_is_honoured_while_it_has_an_able_pool(wanted, others, allowed):
    mine = [pool("east"), pool("west")]
    assert [item.provider for item in preferred(request(provider=wanted), mine, others)] == allowed


def test_others_are_able_when_they_have_every_label_and_have_not_declined():
    pools = [other("x", labels="ab"), other("y", labels="a"), other("z", labels="ab")]
    assert [item.id for item in others_able(request("a", "b", declined_by=frozenset("z")), pools)] == ["x"]


@pytest.mark.parametrize(
    ("changes", "provider", "code"),
    [
        ({}, {}, None),
        ({"limits": Limits({"instances": 0})}, {}, reasons.POOL_DISABLED),
        ({"limits": Limits({"instances": -1})}, {}, reasons.POOL_DISABLED),
        ({"labels": "b"}, {}, reasons.LABEL_UNKNOWN),
        ({"limits": Limits({"cores": 1})}, {}, reasons.TOO_LARGE_FOR_POOL),
        ({"limits": Limits({"cores": 2})}, {}, None),
        ({}, {"largest": Limits({"ram": 1000})}, reasons.TOO_LARGE_FOR_CLOUD),
        ({"ignore_provider_quota": True}, {"largest": Limits({"ram": 1000})}, None),
        ({}, {"bounds": Limits({"ram": 1000})}, None),
        ({"used": Resources({"instances": 10})}, {}, None),
    ],
)
def test_what_can_never_be(changes, provider, code):
    mine = pool(**changes)
    found = never(mine, request(), world(mine, **provider))
    assert (found.code if found else None) == code


def test_an_offer_that_is_broken_says_so_itself():
    broken = Reason(reasons.NO_IMAGE, {"where": "w", "label": "a", "image": "i"})
    mine = PoolState("id", "east", "main", offers={"a": LabelOffer(never=broken)}, limits=WIDE)
    assert never(mine, request(), world(mine)) is broken


TROUBLE = Reason(reasons.PROVIDER_TROUBLE, {"where": "east", "text": "503"})


@pytest.mark.parametrize(
    ("changes", "provider", "code"),
    [
        ({}, {}, None),
        ({}, {"blocked": TROUBLE}, reasons.PROVIDER_TROUBLE),
        ({"blocked": TROUBLE}, {}, reasons.PROVIDER_TROUBLE),
        ({}, {"bounds": None}, reasons.FACTS_UNREAD),
        ({"ignore_provider_quota": True}, {"bounds": None}, None),
    ],
)
def test_what_cannot_be_now(changes, provider, code):
    mine = pool(**changes)
    found = not_now(mine, ["a"], world(mine, **provider))
    assert (found.code if found else None) == code


def test_a_pool_that_lacks_a_label_stays_silent_while_somebody_else_is_able():
    snapshot = world(pool(labels="b"), foreign=(other(labels="a"),))
    plan = place(snapshot)
    assert plan.decline == () and [wait.reason.code for wait in plan.wait] == [reasons.NOT_ACTING]
    able = other(labels="a")
    assert plan.wait[0].reason.figures == {"where": f"{able.provider}/{able.name}"}
    (decline,) = place(world(pool(labels="b"))).decline
    assert decline.fail and decline.reasons["id-east"].code == reasons.LABEL_UNKNOWN


def test_a_known_pool_that_is_not_there_keeps_a_request_alive():
    snapshot = world(pool(labels="b"), foreign=(other(labels="a", present=False),))
    assert place(snapshot).decline == ()


def test_a_foreign_pool_that_could_only_decline_is_waited_for_while_it_is_registered():
    (decline,) = place(world(pool(labels="b"), foreign=(other(labels="c"),))).decline
    assert not decline.fail
    (decline,) = place(world(pool(labels="b"), foreign=(other(labels="c", present=False),))).decline
    assert decline.fail


def test_the_same_shortage_is_not_described_twice():
    assert worst_shortage({"cores": (4, 3), "ram": (100, 10)}) == ("ram", 100, 10)
    assert worst_shortage({"cores": (4, -4), "ram": (100, 0)}) == ("cores", 4, -4)


def test_room_is_that_of_the_pool_and_of_the_provider():
    mine = pool(limits=Limits({"instances": 3}), used=Resources({"instances": 1}))
    snapshot = world(mine, bounds=Limits({"instances": 9, "cores": 9}), others=Resources({"cores": 4}), used=ONE)
    assert dict(Rooms(snapshot).in_pool(mine)) == {"instances": 2, "cores": 3}
    free = pool(limits=Limits({"instances": 3}), ignore_provider_quota=True)
    assert dict(Rooms(world(free, bounds=Limits({"cores": 1}))).in_pool(free)) == {"instances": 3}


def test_reuse_takes_the_oldest_and_stays_in_one_zone():
    mine = pool(az_load={"z1": 5, "z2": 0})
    ready = tuple(
        ReadyNode(key, mine.id, ("a",), zone, ONE, since)
        for key, zone, since in (("n1", "z1", 9.0), ("n2", "z1", 1.0), ("n3", "z2", 5.0))
    )
    snapshot = Snapshot({"east": ProviderState("east", Limits())}, (mine,), requests=(request("a", "a"),), ready=ready)
    (admit,) = place(snapshot).admit
    assert ([slot.node_id for slot in admit.slots], admit.az) == (["n2", "n1"], "z1")


def test_new_nodes_go_to_the_quietest_zone():
    mine = pool(az_load={"z1": 2, "z2": 1, "z3": 1})
    assert Stock(world(mine)).quietest_az(mine) == "z2"
    assert Stock(world(pool())).quietest_az(pool()) is None


def test_priority_goes_before_reuse_and_reuse_before_room():
    near, far = pool("east", 50), pool("west", 100)
    idle = ReadyNode("n1", far.id, ("a",), None, ONE, 0.0)
    providers = {name: ProviderState(name, Limits()) for name in ("east", "west")}
    (admit,) = place(Snapshot(providers, (near, far), requests=(request(),), ready=(idle,))).admit
    assert admit.pool_id == near.id
    near = pool("east", 100)
    (admit,) = place(Snapshot(providers, (near, far), requests=(request(),), ready=(idle,))).admit
    assert admit.pool_id == far.id and admit.reason.code == reasons.REUSE
    small = pool("west", limits=Limits({"instances": 2}))
    (admit,) = place(Snapshot(providers, (small, near), requests=(request(),))).admit
    assert admit.pool_id == near.id


def test_requests_are_looked_at_by_priority_then_relative_priority_then_age():
    mine = pool(limits=Limits({"instances": 2}))
    orders = {"late": ("100", 0, "9"), "soon": ("100", -1, "8"), "first": ("050", 9, "7"), "old": ("100", 0, "1")}
    queue = tuple(OpenRequest(key, order, ("a",)) for key, order in orders.items())
    plan = place(Snapshot({"east": ProviderState("east", Limits())}, (mine,), requests=queue))
    assert [admit.request_id for admit in plan.admit] == ["first", "soon"]
    assert [wait.request_id for wait in plan.wait] == ["old", "late"]
    assert plan.wait[1].reason.text().endswith("behind earlier requests")


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"instances": 3}, "2 instances needed, tenant t has 0 left of its limit of 3"),
        ({"instances": 3, "cores": 3}, "4 cores needed, tenant t can never have more than its limit of 3"),
    ],
)
def test_of_the_limits_of_a_tenant_one_that_can_never_be_kept_is_told_first(limits, text):
    asked = request("a", "a", tenant="t")
    bounds = Limits(limits)
    left = bounds.less(Resources({"instances": 3}))
    snapshot = replace(world(pool()), requests=(asked,), tenant_room={"t": left}, tenant_limits={"t": bounds})
    (waits,) = place(snapshot).wait
    assert (waits.reason.code, waits.reason.text()) == (reasons.TENANT_LIMIT, text)


def test_an_equal_snapshot_has_the_plan_of_the_last_one_and_another_snapshot_a_plan_of_its_own():
    placing, full = Placing(), Limits({"instances": 0})
    waits = placing.place(world(pool(limits=full)))
    assert placing.place(world(pool(limits=Limits({"instances": 0})))) is waits
    for snapshot in (world(pool()), world(pool(limits=full)), world(pool(limits=full), blocked=Reason("x", {}))):
        assert placing.place(snapshot) == place(snapshot)
