# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing starves: plan, carry out, let nodes end, and again, in a small model of the world."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

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
from ansible_collections.stackci.nodepool.plugins.module_utils.model.resources import Limits, Resources, total
from tests.support.effort import examples

ONE = Resources({"instances": 1, "cores": 2, "ram": 4})
ROUNDS = 600
PATIENCE = 60


@dataclass
class ModelNode:
    """building → idle or busy → freeing → gone."""

    id: str
    pool: str
    state: str
    tenant: str | None = None
    set_id: str | None = None


@dataclass
class Model:
    """Two pools of one provider (or of two) and a queue."""

    pools: list[PoolState]
    bounds: dict[str, Limits]
    chance: random.Random
    max_concurrency: float = float("inf")
    tenant_limits: dict[str, Limits] = field(default_factory=dict)
    spare: int = 0
    window: int | None = None
    small: str = "a"
    large: str = "a"
    slow: float = 0.5
    """The chance of a building node to stay so for another round."""
    nodes: dict[str, ModelNode] = field(default_factory=dict)
    queue: dict[str, OpenRequest] = field(default_factory=dict)
    admitted: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    count: int = 0

    def ask(self, *labels: str, **more) -> str:
        self.count += 1
        key = f"{self.count:06d}"
        self.queue[key] = OpenRequest(key, ("100", 0, key), labels, **more)
        return key

    def snapshot(self) -> Snapshot:
        used = Counter(node.pool for node in self.nodes.values())
        freeing = Counter(node.pool for node in self.nodes.values() if node.state == "freeing")
        building = Counter(node.pool for node in self.nodes.values() if node.state == "building")
        tenants = Counter(node.tenant for node in self.nodes.values())
        pools = [
            replace(
                pool,
                used=total([ONE] * used[pool.id]),
                freeing=total([ONE] * freeing[pool.id]),
                queued=building[pool.id],
                admissible=pool.admissible if self.window is None else max(0, self.window - building[pool.id]),
            )
            for pool in self.pools
        ]
        providers = {
            name: ProviderState(
                name,
                bounds,
                used=total(pool.used for pool in pools if pool.provider == name),
                freeing=total(pool.freeing for pool in pools if pool.provider == name),
                launching=sum(building[pool.id] for pool in pools if pool.provider == name),
                max_concurrency=self.max_concurrency,
            )
            for name, bounds in self.bounds.items()
        }
        idle = [node for node in self.nodes.values() if node.state == "idle"]
        return Snapshot(
            providers,
            tuple(pools),
            requests=tuple(self.queue.values()),
            ready=tuple(ReadyNode(node.id, node.pool, ("a",), None, ONE, float(node.id[1:])) for node in idle),
            spares=(SpareNeed("a", self.spare, len(idle)),) if self.spare else (),
            tenant_room={
                name: limits.less(total([ONE] * tenants[name])) for name, limits in self.tenant_limits.items()
            },
            tenant_limits=self.tenant_limits,
        )

    def step(self) -> None:
        plan = place(self.snapshot())
        for admit in plan.admit:
            request = self.queue.pop(admit.request_id)
            self.admitted.append(request.id)
            for slot in admit.slots:
                if slot.node_id:
                    node = self.nodes[slot.node_id]
                    node.state, node.tenant, node.set_id = "busy", request.tenant, request.id
                else:
                    self._launch(admit.pool_id, request)
        for decline in plan.decline:
            self.failed.append(decline.request_id)
            del self.queue[decline.request_id]
        for spare in plan.spare:
            self._launch(spare.pool_id, None)
        for item in plan.delete:
            self.nodes[item.node_id].state = "freeing"
        self._let_time_pass()

    def _launch(self, pool: str, request: OpenRequest | None) -> None:
        self.count += 1
        key = f"n{self.count:06d}"
        tenant, set_id = (request.tenant, request.id) if request else (None, None)
        self.nodes[key] = ModelNode(key, pool, "building", tenant, set_id)

    def _let_time_pass(self) -> None:
        after = {"freeing": None, "busy": "freeing", "building": None, "idle": "idle"}
        for node in list(self.nodes.values()):
            stay = self.slow if node.state == "building" else 0.5
            if node.state == "idle" or self.chance.random() < stay:
                continue
            if node.state == "building":
                node.state = "busy" if node.set_id else "idle"
            elif after[node.state] is None:
                del self.nodes[node.id]
            else:
                node.state = after[node.state] or ""


def pool(provider: str, name: str, most: int | None, *labels: str) -> PoolState:
    limits = Limits({} if most is None else {"instances": most})
    offers = {label: LabelOffer(ONE) for label in labels or ("a",)}
    return PoolState(f"{provider}-{name}", provider, name, offers=offers, limits=limits)


def wide(provider: str, most: int) -> dict[str, Limits]:
    return {provider: Limits({"instances": most, "cores": 2 * most, "ram": 4 * most})}


MODELS = {
    "a full pool": lambda chance: Model([pool("p", "m", 5)], wide("p", 50), chance),
    "a full provider of two pools": lambda chance: Model(
        [pool("p", "m", None), pool("p", "n", 3)], wide("p", 5), chance
    ),
    "two providers": lambda chance: Model(
        [pool("p", "m", None), pool("q", "m", 2)], {**wide("p", 5), **wide("q", 2)}, chance
    ),
    "max-concurrency below the set": lambda chance: Model(
        [pool("p", "m", None)], wide("p", 20), chance, max_concurrency=3
    ),
    "max-concurrency over two pools": lambda chance: Model(
        [pool("p", "m", None), pool("p", "n", 3)], wide("p", 20), chance, max_concurrency=5, slow=0.8
    ),
    "max-concurrency over two pools, one of which has the label": lambda chance: Model(
        [pool("p", "m", None, "a", "b"), pool("p", "n", None, "a")],
        wide("p", 20),
        chance,
        max_concurrency=5,
        large="b",
        slow=0.8,
    ),
    "a full provider, one pool of which has the label": lambda chance: Model(
        [pool("p", "m", None, "b"), pool("p", "n", None, "a")], wide("p", 6), chance, large="b"
    ),
    "a window of creates": lambda chance: Model([pool("p", "m", None)], wide("p", 20), chance, window=2),
    "min-ready": lambda chance: Model([pool("p", "m", 5)], wide("p", 50), chance, spare=3),
    "a tenant's limit": lambda chance: Model(
        [pool("p", "m", None)], wide("p", 50), chance, tenant_limits={"t": Limits({"instances": 5})}
    ),
}


@pytest.mark.parametrize("seed", range(examples(3)))
@pytest.mark.parametrize("name", MODELS)
def test_a_large_set_is_served_under_a_stream_of_small_ones(name, seed):
    model = MODELS[name](random.Random(seed))
    tenant = "t" if model.tenant_limits else None
    for _unused in range(10):
        model.ask(model.small, tenant=tenant)
        model.step()
    large = model.ask(*[model.large] * 5, tenant=tenant)
    for _unused in range(PATIENCE):
        for _unused in range(4):
            model.ask(model.small, tenant=tenant)
        model.step()
        if large in model.admitted:
            break
    assert large in model.admitted, f"not served in {PATIENCE} rounds"


@pytest.mark.parametrize("seed", range(examples(3)))
@pytest.mark.parametrize("name", MODELS)
def test_everything_is_served_in_the_end(name, seed):
    chance = random.Random(seed)
    model = MODELS[name](chance)
    tenant = "t" if model.tenant_limits else None
    asked = [
        model.ask(*["a"] * chance.randint(1, 5), tenant=tenant, reuse=chance.random() < 0.7) for _unused in range(25)
    ]
    for _unused in range(ROUNDS):
        model.step()
        if not model.queue:
            break
    assert not model.queue and not model.failed
    assert sorted(model.admitted) == asked


def test_what_a_tenant_may_never_have_does_not_keep_others_waiting():
    model = Model(
        [pool("p", "m", None)], wide("p", 50), random.Random(1), tenant_limits={"t": Limits({"instances": 2})}
    )
    never = model.ask(*["a"] * 3, tenant="t")
    others = [model.ask("a", tenant="t"), model.ask("a", tenant="u"), model.ask("a")]
    for _unused in range(60):
        model.step()
    assert set(others) <= set(model.admitted)
    assert never in model.queue and not model.failed
