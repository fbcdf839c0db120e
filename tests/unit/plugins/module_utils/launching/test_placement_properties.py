# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Properties of the plan that hold in every snapshot."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching import placement
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.placement import place
from ansible_collections.stackci.nodepool.plugins.module_utils.launching.snapshot import (
    LabelOffer,
    OpenRequest,
    PoolState,
    ProviderState,
    ReadyNode,
    Snapshot,
    SpareNeed,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model import reasons
from ansible_collections.stackci.nodepool.plugins.module_utils.model.reasons import Reason
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources, total
from tests.support.effort import examples
from tests.support.snapshots import Room, launched, need_of, snapshots

LOAD = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)

ALL = st.one_of(snapshots(), snapshots(plain=True, alone=True))


@LOAD
@given(ALL)
def test_no_pool_and_no_provider_is_ever_over_its_limits(snapshot):
    plan, room = place(snapshot), Room(snapshot)
    launches = [(admit.pool_id, launched(admit.slots)) for admit in plan.admit]
    launches += [(spare.pool_id, [spare.label]) for spare in plan.spare]
    for pool_id, labels in launches:
        need = need_of(room.pools[pool_id], labels)
        assert room.over(pool_id, need) == []
        room.take(pool_id, need)


@LOAD
@given(ALL)
def test_no_tenant_is_ever_over_its_limits(snapshot):
    plan = place(snapshot)
    by_id = {request.id: request for request in snapshot.requests}
    nodes = {node.id: node for node in snapshot.ready}
    pools = {pool.id: pool for pool in snapshot.pools}
    used: dict[str, Resources] = {}
    for admit in plan.admit:
        tenant = by_id[admit.request_id].tenant
        if tenant not in snapshot.tenant_room:
            continue
        whole = need_of(pools[admit.pool_id], launched(admit.slots))
        whole = whole + total(nodes[slot.node_id].resources for slot in admit.slots if slot.node_id)
        used[tenant] = used.get(tenant, Resources()) + whole
        for name in whole:
            assert used[tenant][name] <= snapshot.tenant_room[tenant][name]


@LOAD
@given(snapshots())
def test_max_concurrency_is_kept_but_for_one_set_that_is_larger_than_it(snapshot):
    plan = place(snapshot)
    pools = {pool.id: pool for pool in snapshot.pools}
    for name, provider in snapshot.providers.items():
        sets = [len(launched(admit.slots)) for admit in plan.admit if pools[admit.pool_id].provider == name]
        sets += [1 for spare in plan.spare if pools[spare.pool_id].provider == name]
        sets = [size for size in sets if size]
        if provider.launching + sum(sets) > provider.max_concurrency:
            assert len(sets) == 0 or (provider.launching == 0 and len(sets) == 1)


@LOAD
@given(snapshots())
def test_nothing_is_launched_where_something_stands_in_the_way(snapshot):
    plan = place(snapshot)
    pools = {pool.id: pool for pool in snapshot.pools}
    launches = [(admit.pool_id, label) for admit in plan.admit for label in launched(admit.slots)]
    launches += [(spare.pool_id, spare.label) for spare in plan.spare]
    for pool_id, label in launches:
        pool = pools[pool_id]
        assert pool.blocked is None and snapshot.providers[pool.provider].blocked is None
        assert pool.offers[label].never is None and pool.offers[label].not_now is None


@LOAD
@given(snapshots())
def test_frozen_resources_are_used_only_as_far_as_there_is_room(snapshot):
    plan = place(snapshot)
    pools = {pool.id: pool for pool in snapshot.pools}
    launches = [(admit.pool_id, label) for admit in plan.admit for label in launched(admit.slots)]
    launches += [(spare.pool_id, spare.label) for spare in plan.spare]
    for pool in pools.values():
        need = total(pool.offers[label].resources for pool_id, label in launches if pool_id == pool.id)
        assert all(need[name] <= pool.frozen_room[name] for name in pool.frozen)


@LOAD
@given(ALL)
def test_a_node_serves_one_slot_of_one_request_and_is_then_kept(snapshot):
    plan = place(snapshot)
    nodes = {node.id: node for node in snapshot.ready}
    taken = [slot.node_id for admit in plan.admit for slot in admit.slots if slot.node_id]
    given_up = [delete.node_id for delete in plan.delete]
    assert len(set(taken)) == len(taken) and len(set(given_up)) == len(given_up)
    assert set(taken) <= set(nodes) and set(given_up) <= set(nodes)
    assert not set(taken) & set(given_up)
    requests = {request.id: request for request in snapshot.requests}
    for admit in plan.admit:
        for slot in admit.slots:
            if slot.node_id:
                assert slot.label in nodes[slot.node_id].labels
                assert requests[admit.request_id].reuse


@LOAD
@given(ALL)
def test_a_set_lies_in_one_pool_and_zone_in_the_order_of_its_labels(snapshot):
    requests = {request.id: request for request in snapshot.requests}
    nodes = {node.id: node for node in snapshot.ready}
    pools = {pool.id: pool for pool in snapshot.pools}
    for admit in place(snapshot).admit:
        request = requests[admit.request_id]
        assert tuple(slot.label for slot in admit.slots) == request.labels
        assert admit.pool_id not in request.declined_by
        if launched(admit.slots) and pools[admit.pool_id].az_load and not any(slot.node_id for slot in admit.slots):
            assert admit.az in pools[admit.pool_id].az_load
        for slot in admit.slots:
            if slot.node_id:
                assert nodes[slot.node_id].pool_id == admit.pool_id
                assert nodes[slot.node_id].az == admit.az


@LOAD
@given(ALL)
def test_every_request_has_one_outcome(snapshot):
    plan = place(snapshot)
    outcomes = [item.request_id for kind in (plan.admit, plan.decline, plan.wait) for item in kind]
    assert sorted(outcomes) == sorted(request.id for request in snapshot.requests)
    for item in plan.wait:
        assert "?" not in item.reason.text()


@LOAD
@given(snapshots(), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_what_it_looks_at(snapshot, chance):
    assert place(shuffled(snapshot, chance)) == place(snapshot)


def shuffled(snapshot: Snapshot, chance: random.Random) -> Snapshot:
    def mixed(items):
        items = list(items)
        chance.shuffle(items)
        return items

    return Snapshot(
        providers=dict(mixed(snapshot.providers.items())),
        pools=tuple(
            replace(pool, az_load=dict(mixed(pool.az_load.items())), offers=dict(mixed(pool.offers.items())))
            for pool in mixed(snapshot.pools)
        ),
        others=tuple(mixed(snapshot.others)),
        requests=tuple(mixed(snapshot.requests)),
        ready=tuple(mixed(snapshot.ready)),
        spares=tuple(mixed(snapshot.spares)),
        tenant_room=snapshot.tenant_room,
    )


@LOAD
@given(snapshots(), st.integers(0, 6))
def test_what_comes_later_changes_nothing_for_what_was_before(snapshot, count):
    first = sorted(snapshot.requests, key=lambda request: request.order)[:count]
    ids = {request.id for request in first}
    fewer, all_of_them = place(replace(snapshot, requests=tuple(first))), place(snapshot)
    for kind in ("admit", "decline", "wait"):
        among = [item for item in getattr(all_of_them, kind) if item.request_id in ids]
        assert among == list(getattr(fewer, kind))


@LOAD
@given(snapshots(plain=True, stock=0, alone=True))
def test_nobody_takes_the_room_that_an_earlier_request_waits_for(snapshot):
    plan, room = place(snapshot), Room(snapshot)
    by_where = {pool.where: pool for pool in snapshot.pools}
    admitted = {item.request_id: item for item in plan.admit}
    waiting = {item.request_id: item for item in plan.wait}
    for request in sorted(snapshot.requests, key=lambda request: request.order):
        if request.id in admitted:
            pool_id = admitted[request.id].pool_id
            need = need_of(room.pools[pool_id], request.labels)
            assert room.over(pool_id, need) == []
            room.take(pool_id, need)
        elif request.id in waiting and waiting[request.id].reason.code == reasons.NO_ROOM:
            pool = by_where[waiting[request.id].reason.figures["where"]]
            assert room.over(pool.id, need_of(pool, request.labels)) != []
            room.take(pool.id, need_of(pool, request.labels))
    short = {by_where[wait.reason.figures["where"]].provider for wait in plan.wait if wait.reason.code == "no-room"}
    for spare in plan.spare:
        assert room.pools[spare.pool_id].provider not in short, "min-ready at the cost of a waiting request"


@LOAD
@given(snapshots())
def test_a_request_is_failed_only_when_nobody_is_left_who_could_ever_serve_it(snapshot):
    requests = {request.id: request for request in snapshot.requests}
    for decline in place(snapshot).decline:
        request = requests[decline.request_id]
        left = [
            pool for pool in snapshot.pools if pool.id not in request.declined_by and could(pool, request, snapshot)
        ]
        assert left == []
        others = [pool for pool in snapshot.others if pool.id not in request.declined_by]
        able = [pool for pool in others if set(request.labels) <= pool.labels]
        silent = [pool for pool in others if pool.present and pool not in able]
        if decline.fail:
            assert not able and not silent
        assert set(decline.reasons).isdisjoint(request.declined_by)
        assert set(decline.reasons) <= {pool.id for pool in snapshot.pools}
        for reason in decline.reasons.values():
            assert "?" not in reason.text()


def could(pool, request, snapshot) -> bool:
    """Whether an empty and healthy pool would hold the request."""
    if pool.limits["instances"] <= 0 or not set(request.labels) <= set(pool.offers):
        return False
    if any(pool.offers[label].never for label in request.labels):
        return False
    need = need_of(pool, request.labels)
    largest = snapshot.providers[pool.provider].largest
    if largest is None or pool.ignore_provider_quota:
        largest = Limits()
    return all(amount <= min(pool.limits[name], largest[name]) for name, amount in need.items())


@LOAD
@given(snapshots())
def test_what_passes_never_makes_a_request_decline(snapshot):
    calm = replace(
        snapshot,
        providers={
            name: replace(item, bounds=Limits(), others=Resources(), used=Resources(), launching=0, blocked=None)
            for name, item in snapshot.providers.items()
        },
        pools=tuple(
            replace(
                pool,
                used=Resources(),
                blocked=None,
                frozen={},
                queued=0,
                offers={name: replace(offer, not_now=None) for name, offer in pool.offers.items()},
            )
            for pool in snapshot.pools
        ),
        ready=(),
        tenant_room={},
    )
    assert place(snapshot).decline == place(calm).decline


@LOAD
@given(snapshots(alone=True), st.integers(1, 6), st.integers(1, 8))
def test_idle_nodes_are_given_up_only_as_far_as_instances_are_missing(snapshot, in_pool, in_provider):
    """With one resource only, what is missing can be counted."""
    one = Resources({"instances": 1})
    snapshot = replace(
        snapshot,
        providers={
            name: replace(
                item,
                bounds=Limits({"instances": in_provider}),
                largest=None,
                others=Resources(),
                used=Resources({"instances": item.used["instances"]}),
                freeing=Resources({"instances": item.freeing["instances"]}),
            )
            for name, item in snapshot.providers.items()
        },
        pools=tuple(
            replace(
                pool,
                limits=Limits({"instances": in_pool}),
                offers={name: replace(offer, resources=one) for name, offer in pool.offers.items()},
                used=Resources({"instances": pool.used["instances"]}),
                freeing=Resources({"instances": pool.freeing["instances"]}),
            )
            for pool in snapshot.pools
        ),
        ready=tuple(replace(node, resources=one) for node in snapshot.ready),
    )
    plan, room = place(snapshot), Room(snapshot)
    where = {node.id: node.pool_id for node in snapshot.ready}
    for admit in plan.admit:
        room.take(admit.pool_id, Resources({"instances": len(launched(admit.slots))}))
    by_where = {pool.where: pool for pool in snapshot.pools}
    for wait in plan.wait:
        if wait.reason.code == reasons.NO_ROOM:
            room.take(
                by_where[wait.reason.figures["where"]].id, Resources({"instances": wait.reason.figures["needed"]})
            )
    for name, provider in snapshot.providers.items():
        pools = [pool for pool in snapshot.pools if pool.provider == name]
        missing = sum(max(0, room.lacking(pool.id)[0] - pool.freeing["instances"]) for pool in pools)
        missing += max(max(0, room.lacking(pool.id)[1] - provider.freeing["instances"]) for pool in pools)
        gone = [item for item in plan.delete if room.pools[where[item.node_id]].provider == name]
        assert len(gone) <= missing


@LOAD
@given(snapshots())
def test_idle_nodes_are_kept_where_nobody_waits_for_room(snapshot):
    plan = place(snapshot)
    where = {node.id: node.pool_id for node in snapshot.ready}
    pools = {pool.id: pool for pool in snapshot.pools}
    # What is given back in a frozen pool may be used again at once, so room is made there, too.
    short_of_room = (reasons.NO_ROOM, reasons.FROZEN)
    waited = [wait.reason.figures["where"] for wait in plan.wait if wait.reason.code in short_of_room]
    short = {name.split("/")[0] for name in waited}
    for delete in plan.delete:
        assert pools[where[delete.node_id]].provider in short
        assert delete.reason.figures["request"] in {request.id for request in snapshot.requests}


def test_room_is_made_for_the_head_of_the_queue_first_whatever_the_order_of_the_pools():
    one = Resources({"instances": 1})
    pools = [
        PoolState(f"id-{name}", name, "main", 100, {"a": LabelOffer(one)}, Limits({"instances": 1}), one)
        for name in ("east", "west")
    ]
    snapshot = Snapshot(
        providers={pool.provider: ProviderState(pool.provider, Limits(), used=one) for pool in pools},
        pools=tuple(pools),
        requests=tuple(
            OpenRequest(key, ("100", 0, key), ("a",), reuse=False, declined_by=frozenset({other.id}))
            for key, other in (("1", pools[0]), ("2", pools[1]))
        ),
        ready=tuple(ReadyNode(f"n-{pool.provider}", pool.id, ("a",), None, one, 0.0) for pool in pools),
    )
    plan = place(snapshot)
    assert [(item.node_id, item.reason.figures["request"]) for item in plan.delete] == [
        ("n-west", "1"),
        ("n-east", "2"),
    ]
    assert place(replace(snapshot, pools=tuple(reversed(pools)))) == plan


def test_min_ready_waits_while_a_request_waits_for_room_anywhere_in_the_provider():
    one = Resources({"instances": 1})
    full, free = (
        PoolState(f"id-{name}", "east", name, 100, {"a": LabelOffer(one)}, Limits({"instances": 1}), used)
        for name, used in (("full", one), ("free", Resources()))
    )
    waiting = OpenRequest("1", ("100", 0, "1"), ("a",), declined_by=frozenset({free.id}))
    snapshot = Snapshot(
        providers={"east": ProviderState("east", Limits({"instances": 5}), used=one)},
        pools=(full, free),
        requests=(waiting,),
        spares=(SpareNeed("a", 1, 0),),
    )
    assert [wait.reason.code for wait in place(snapshot).wait] == [reasons.NO_ROOM]
    assert place(snapshot).spare == () and place(snapshot).unmet_spares == {"a": 1}
    assert [spare.pool_id for spare in place(replace(snapshot, requests=())).spare] == [free.id]


@LOAD
@given(ALL, st.integers(1, 4))
def test_what_is_like_a_request_that_waits_is_decided_as_if_it_were_looked_at_anew(snapshot, times):
    """Many requests of a kind are decided together; that must not show."""
    many = [
        replace(request, id=f"{request.id}-{number}", order=(*request.order[:2], f"{request.order[2]}-{number}"))
        for request in snapshot.requests
        for number in range(times)
    ]
    snapshot = replace(snapshot, requests=tuple(many))
    together = place(snapshot)
    with mock.patch.object(placement, "kind_of", side_effect=itertools.count()):
        assert place(snapshot) == together


def test_five_hundred_that_wait_cost_little():
    """Ten pools are full; what one of them waits for is looked at again only where something has changed."""
    snapshot = full_pools(10)
    looks = []
    inspect = placement._Placement._hindrance

    def counted(self, request, option):
        looks.append(option.pool.id)
        return inspect(self, request, option)

    with mock.patch.object(placement._Placement, "_hindrance", counted):
        plan = place(snapshot)
    assert len(plan.wait) == 500
    assert len(looks) <= 2 * 500 + 10


def test_what_many_of_a_kind_wait_for_is_put_together_once_or_twice():
    """The pool is blocked: nothing that one of them reserves changes it for the next one."""
    snapshot = full_pools(2)
    away = Reason(reasons.FACTS_UNREAD, {"where": "east/main"})
    snapshot = replace(snapshot, pools=tuple(replace(pool, blocked=away) for pool in snapshot.pools))
    with mock.patch.object(placement, "_by_pool", side_effect=placement._by_pool) as put_together:
        plan = place(snapshot)
    assert [wait.reason for wait in plan.wait] == [away] * 500
    assert put_together.call_count <= 2


def full_pools(number: int) -> Snapshot:
    """One pool each at so many providers, without room, and five hundred requests."""
    one = Resources({"instances": 1, "cores": 2, "ram": 4096, "ports": 1})
    limits = Limits({"instances": 100, "cores": 200})
    names = [f"p{place}" for place in range(number)]
    return Snapshot(
        providers={
            name: ProviderState(name=name, bounds=limits, largest=limits, used=Resources({"instances": 100}))
            for name in names
        },
        pools=tuple(
            PoolState(id=name, provider=name, name="main", offers={"small": LabelOffer(one)}, limits=limits)
            for name in names
        ),
        requests=tuple(OpenRequest(f"{place:04d}", ("100", 0, f"{place:010d}"), ("small",)) for place in range(500)),
    )
