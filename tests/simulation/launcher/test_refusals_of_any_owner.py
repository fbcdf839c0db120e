# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whoever is at fault, what the cloud refuses costs six calls in two minutes, and others wait no longer for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.stackci.nodepool.plugins.module_utils.launching.known_answers import FAULT, RULES, SERVERS
from ansible_collections.stackci.nodepool.plugins.module_utils.model import owner
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Network
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudRefused, CloudUnavailable
from tests.support.effort import EFFORT
from tests.support.owner_case import CREATE, TENANT, answered, apart, creates, guard, most_within, refusing
from tests.support.rule_examples import answer_of
from tests.support.virtual_cloud import SHARED, Fate
from tests.support.world import Habit, World, label, one_provider, provider_document, site

MOST = 6
"""Refused calls in two minutes, when those that were under way at the first two refusals count once."""
WINDOW = 120.0
BURST = 3.0
"""Seconds within which all servers of a burst fail: they were asked for before the first failure was known."""
ROWS = [
    (rule, call)
    for rule in RULES
    for call in (SERVERS, FAULT)
    # What a request may do about a name that is taken is told apart: each one gets another name at once.
    if call.startswith(rule.calls) and not (call == FAULT and rule.statuses) and rule.owner != owner.US
]


def after_the_burst(moments: list[float]) -> int:
    """The most in a window, with those of the first burst counted as one."""
    first = min(moments, default=0.0)
    return most_within([first, *(moment for moment in moments if moment > first + BURST)], WINDOW)


@given(
    row=st.sampled_from(ROWS),
    count=st.integers(1, 12),
    gap=st.floats(0.0, 20.0),
    tenants=st.integers(1, 3),
    seed=st.integers(0, 999),
)
@settings(max_examples=150 if EFFORT > 1 else 8, deadline=None)
def test_no_answer_to_creates_is_asked_for_more_often(row: Any, count: int, gap: float, tenants: int, seed: int):
    rule, call = row
    answer = answer_of(rule, call)
    document = site(provider_document("east", {"name": "main", "labels": [label("small", **TENANT)]}))
    with World(document, seed=seed) as world:
        if call == FAULT:
            world.clouds["east"].fate = lambda machine: Fate("ERROR", answer.text or answer.error_type, 2.0)
        else:
            world.fault("east", CREATE, error=lambda: answered(answer))
        cycle = world.start()
        for number in range(count):
            world.request("small", tenant_name=f"tenant{number % tenants}")
            world.run(gap)
        world.run(400)
        sent = creates(cycle)
        assert after_the_burst(apart(sent) if call == FAULT else sent) <= MOST


@pytest.mark.parametrize("after", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_servers_that_fail_in_words_that_no_row_knows_are_few(count: int, after: float):
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda machine: Fate("ERROR", "Exceeded maximum number of retries.", after)
        cycle = world.start()
        for _unused in range(count):
            world.request("small")
        world.run(400)
        assert after_the_burst(apart(creates(cycle))) <= MOST


@pytest.mark.parametrize("text", ["PCI device 1 is allocated instead of available", "Quota exceeded for gigabytes"])
@pytest.mark.parametrize("count", [2, 6])
def test_servers_that_fail_on_their_hosts_for_what_is_used_up_are_few(text: str, count: int):
    """nova has found a host for them, so for a moment they look as if there was room."""
    with World(one_provider()) as world:
        world.clouds["east"].fate = lambda one: Fate("ERROR", text, 2.0) if one.flavor.name == "small" else Fate()
        cycle = world.start()
        for _unused in range(count):
            world.request("small")
        for _unused in range(18):
            world.request("medium", habit=Habit(work=lambda chance: 10.0))
            world.run(20)
        made = [one.created for one in world.clouds["east"].past if one.fate.status == "ERROR"]
        assert after_the_burst(sorted(made)) <= MOST, cycle.lines
        world.clouds["east"].fate = lambda one: Fate()
        assert world.run(300, until=lambda: world.asked.keys() == world.fulfilled.keys())


@pytest.mark.parametrize("count", [1, 4, 30])
@pytest.mark.parametrize("fault", [False, True], ids=["refused", "server in ERROR"])
def test_an_image_that_cannot_be_used_costs_few_creates_and_fails_its_requests(count: int, fault: bool):
    text = "Image 123 is unacceptable: it is broken"
    with World(one_provider()) as world:
        if fault:
            world.clouds["east"].fate = lambda machine: Fate("ERROR", text, 2.0)
        else:
            world.fault("east", CREATE, error=refusing(text))
        cycle = world.start()
        requests = [world.request("small") for _unused in range(count)]
        world.run(600)
        assert after_the_burst(creates(cycle)) <= MOST
        assert sum(world.state(request) == "failed" for request in requests) >= min(count, 4)


def test_others_are_served_beside_many_that_wait_for_another_try_of_a_bad_image():
    labels = [label("bad", "small"), label("good", "medium")]
    with World(site(provider_document("east", {"name": "main", "labels": labels, "max-servers": 14}))) as world:
        bad = "Image 123 is unacceptable: it is broken"
        world.clouds["east"].fate = lambda one: Fate("ERROR", bad, 2.0) if one.flavor.name == "small" else Fate()
        world.start()
        for _unused in range(30):
            world.request("bad")
        world.run(60)
        for _unused in range(10):
            request = world.request("good", habit=Habit(work=lambda chance: 10.0))
            assert world.run(40, until=lambda one=request: one in world.fulfilled)  # type: ignore[misc]


@pytest.mark.parametrize(("words", "status"), [("Odd", 400), ("Request blocked", 403)])
@pytest.mark.parametrize("every", [6, 2])
def test_a_tenant_who_goes_on_asking_for_what_is_refused_costs_few_creates(words: str, status: int, every: int):
    document = site(provider_document("east", {"name": "main", "labels": [label("small", **TENANT)]}))
    with World(document) as world:
        refused: list[float] = []

        def refuse(spec: Any) -> Any:
            if spec.metadata["tenant"] != "strange":
                return None
            refused.append(world.agenda.now)
            return refusing(words, status)()

        guard(world, refuse)
        world.start()
        good = []
        for turn in range(600 // every):
            world.request("small", tenant_name="strange")
            if turn % (18 // every) == 0:
                good.append(world.request("small", tenant_name="good", habit=Habit(work=lambda chance: 30.0)))
            world.run(every)
        assert len(refused) > 2 and most_within(refused, WINDOW) <= MOST
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in good))
        assert max(world.fulfilled[request] - world.asked[request] for request in good) < 40


@pytest.mark.parametrize("tenants", [1, 2, 4])
def test_a_network_that_is_forbidden_holds_up_no_other_label_of_its_image_and_flavor(tenants: int):
    odd = Network("net-odd", "odd")
    labels = [label("odd", "small", **TENANT, networks=["odd"]), label("good", "small", **TENANT, networks=["public"])]
    with World(site(provider_document("east", {"name": "main", "labels": labels}))) as world:
        world.clouds["east"].nets = (SHARED, odd)
        refused: list[float] = []

        def refuse(spec: Any) -> Any:
            if odd.id not in spec.network_ids:
                return None
            refused.append(world.agenda.now)
            return refusing("Policy doesn't allow this", 403)()

        guard(world, refuse)
        world.start()
        good = []
        for turn in range(200):
            if turn % 30 == 29:
                good.append(world.request("good", tenant_name="g", habit=Habit(work=lambda chance: 30.0)))
            if turn % 2 == 0:
                world.request("odd", tenant_name=f"tenant{turn // 2 % tenants}")
            world.run(3)
        assert world.run(60, until=lambda: all(request in world.fulfilled for request in good))
        assert max(world.fulfilled[request] - world.asked[request] for request in good) < 40
        assert most_within(refused, WINDOW) <= MOST


@pytest.mark.parametrize(("count", "left"), [(3, 0), (20, 2), (40, 0)])
def test_floating_ips_that_are_used_up_are_asked_for_rarely_and_used_when_there_are_some_again(count: int, left: int):
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        cloud = world.clouds["east"]
        create, refused, rooms = cloud.create_floating_ip, [], [left]

        def guarded(*args: Any, **more: Any) -> Any:
            if len(cloud.floating_ips) >= rooms[0]:
                refused.append(world.agenda.now)
                text = "POST /floatingips was answered with 409: No more IP addresses available on network public"
                kind = "ExternalIpAddressExhausted"
                raise CloudRefused(text, call="POST /floatingips", status=409, error_type=kind)
            return create(*args, **more)

        cloud.create_floating_ip = guarded  # type: ignore[method-assign]
        world.start()
        requests = [world.request("small") for _unused in range(count)]
        world.run(600)
        assert len(refused) > 3 and after_the_burst(refused) <= MOST
        assert len(world.fulfilled) == left
        rooms[0] = 1000
        assert world.run(240, until=lambda: all(request in world.fulfilled for request in requests))


@pytest.mark.parametrize("status", [503, 200])
@pytest.mark.parametrize("kind", ["GET /ports", "POST /floatingips"])
def test_servers_wait_for_their_addresses_while_neutron_is_in_trouble(kind: str, status: int):
    """Other servers would meet the same trouble."""
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        cycle = world.start()
        text = f"{kind} was answered with {status}"
        away = world.agenda.now + 80
        world.fault("east", kind, error=lambda: CloudUnavailable(text, call=kind, status=status), until=away)
        requests = [world.request("small") for _unused in range(3)]
        assert world.run(300, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) == 3, "no server is thrown away for it"
        assert max(world.fulfilled.values()) - away < 40.0


def test_servers_wait_where_the_account_may_not_make_floating_ips():
    with World(one_provider(), clouds={"east": {"direct": False}}) as world:
        cloud = world.clouds["east"]
        create, refused, allowed = cloud.create_floating_ip, [], [False]

        def guarded(*args: Any, **more: Any) -> Any:
            if not allowed[0]:
                refused.append(world.agenda.now)
                text = "POST /floatingips was answered with 403: rule:create_floatingip is disallowed by policy"
                raise CloudRefused(text, call="POST /floatingips", status=403, error_type="PolicyNotAuthorized")
            return create(*args, **more)

        cloud.create_floating_ip = guarded  # type: ignore[method-assign]
        cycle = world.start()
        requests = [world.request("small") for _unused in range(3)]
        world.run(300)
        assert after_the_burst(refused) <= MOST and len(creates(cycle)) == 3, "no server is thrown away for it"
        assert {world.store.own.read(f"waits/{request}")["owner"] for request in requests} == {"account"}
        allowed[0] = True
        assert world.run(240, until=lambda: all(request in world.fulfilled for request in requests))
        assert len(creates(cycle)) == 3
