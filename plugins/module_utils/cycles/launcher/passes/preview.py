# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview of check mode: one observation and the plan that follows from it. Nothing is changed.

It reads ZooKeeper without watches, locks or registrations, and calls the clouds with GET only. It plans as if this
launcher acted for all chosen providers.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ....clients.zookeeper.store import Store
from ....launching.actions import (
    DeleteNode,
    DropRequest,
    FreeNode,
    Plan,
)
from ....launching.catalog import grouped, too_large
from ....launching.placement import place
from ....model import reasons
from ....model.errors import CloudAuthError
from ....model.lines import amount
from ....model.node import NodeState
from ....model.own_tree import PROVIDERS
from ....model.request import RequestState
from ...frame.config_source import config_by_hand
from ...frame.config_warnings import config_warnings
from ...frame.inbox import Inbox
from ...frame.provider_reach import reach_document, unreached
from ...frame.tree_identity import site_of
from ..context.account import Account
from ..context.context import Context
from ..context.launch_templates import ask_about, label_template
from ..context.launcher_options import LauncherOptions
from ..context.ledger import take_stock
from ..context.uploads_seen import deny_unusable, fallbacks, inactive_uploads
from ..launches.gates import Gates
from ..leaks.first_meeting import would_say
from ..ownership.inherited import Inherited
from ..ownership.registry import Registry
from ..ownership.stock_launchers import LEFT, StockLaunchers
from ..provider.actor import ProviderActor
from ..requests.waits import all_reasons
from .observe import InHand, demand_of, due_upkeep, observe
from .readings import read_clouds

PATIENCE = 60.0
"""Seconds that the clouds have to answer. A fact that is not answered by then is shown as the reason to wait."""


def preview(options: LauncherOptions, *, clock: Callable[[], float] = time.time) -> dict[str, Any]:
    """Return the result of check mode: the plan in documents and in lines for ``--diff``."""
    config = config_by_hand(options, check=True)
    store, actors = Store(config.zookeeper), dict[str, ProviderActor]()
    try:
        store.open(watch=False)
        context = Context(store, config, Inbox(clock), Account(), site_of(store, create=False), actors)
        return _preview(context, options)
    finally:
        for actor in actors.values():
            actor.close()
        store.close()


def _preview(context: Context, options: LauncherOptions) -> dict[str, Any]:
    store, began = context.store, context.now()
    known = {node.id: node for node in store.nodes.list()}
    context.ages.follow(known, known, began)
    registry = Registry(store, context.config, context.site)
    left_out = _take_providers(context, options, registry)
    actions = list(_upkeep(context))
    gates = Gates.of(context)
    leaving = {action.node_id for action in actions if isinstance(action, DeleteNode)}
    plan = _settled_plan(context, registry, gates, leaving)
    pace = _pace(context, gates, plan)
    providers = _reached(context, left_out)
    denied, warned = _not_told(context)
    unusable = [*unreached(providers), *denied, *grouped(_lacking(context, providers))]
    met, served = would_say(context), StockLaunchers.of(store).providers()
    left = [f"provider {name}: {LEFT.format(host)}" for name, host in sorted(served.items()) if name in context.actors]
    lines = [
        *left,
        *(*met, *_lines(context, plan, actions), *map(_pace_line, pace)),
        *(f"cannot be used: {why}" for why in unusable),
    ]
    return {
        "changed": bool(plan.admit or plan.decline or plan.spare or plan.delete or actions or _left_behind(context)),
        "ended": "check",
        "seconds": round(context.now() - began, 3),
        "plan": {**_documents(context, plan, actions), "pace": pace},
        "diff": {"before": "", "after": "".join(f"{line}\n" for line in lines), "after_header": "launcher plan"},
        "providers": providers,
        "unusable": unusable,
        "acted_for": [],
        "acting_elsewhere": sorted(name for name in context.actors if store.own.is_locked(f"{PROVIDERS}/{name}")),
        "api_calls": {name: actor.client.counters.result() for name, actor in context.actors.items()},
        "warnings": [
            *config_warnings(context.config, store),
            *met,
            *store.odd_documents(),
            *warned,
            *fallbacks(context),
        ],
    }


def _take_providers(context: Context, options: LauncherOptions, registry: Registry) -> dict[str, str]:
    """Make an actor for each provider that can have one.

    :return: provider → why it cannot have one.
    """
    left_out: dict[str, str] = {}
    for name in options.chosen(context.config):
        provider = context.config.providers[name]
        try:
            client = options.client(provider)
        except CloudAuthError as error:
            left_out[name] = str(error)
            continue
        actor = context.actors[name] = context.actor(provider, client)
        context.learn(actor)
        context.pool_ids.update(registry.ids(provider))
    return left_out


def _reached(context: Context, left_out: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return for each provider whether it can be used, and if not why and what to do."""
    rows = {name: reach_document(why) for name, why in left_out.items()}
    for name, actor in context.actors.items():
        silent = f"provider {name}: no answer within {PATIENCE:g} s: check that the cloud is up"
        why = actor.unusable
        rows[name] = reach_document(why if why else silent if actor.reading else None)
    return dict(sorted(rows.items()))


def _not_told(context: Context) -> tuple[list[str], list[str]]:
    """Return what the clouds of usable providers do not tell: what some labels need, and what is done without."""
    lacks = [
        (name, lack) for name, actor in context.actors.items() if actor.unusable is None for lack in actor.needs.lacks()
    ]
    needed = [lack.text(name) for name, lack in lacks if not lack.used]
    return needed, [lack.text(name) for name, lack in lacks if lack.used]


def _lacking(context: Context, providers: dict[str, dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Yield (pool, label, problem) for each problem of a label in the pools that are in use."""
    for name, actor in context.actors.items():
        for pool in actor.provider.pools.values() if providers[name]["reached"] else ():
            for label in pool.labels.values() if pool.max_servers > 0 else ():
                now = context.now()
                lacks = ask_about(context, actor, pool, label, now, math.inf)
                offer = label_template(context, actor, pool, label, lacks, now).offer
                if offer.never is not None and offer.never.code == reasons.LABEL_BROKEN:
                    yield f"{name}/{pool.name}", label.name, str(offer.never.figures["text"])
                for text in too_large(offer.resources, pool, actor.usage.bounds, name):
                    yield f"{name}/{pool.name}", label.name, text
        if providers[name]["reached"]:
            yield from inactive_uploads(context, actor)


def _settled_plan(context: Context, registry: Registry, gates: Gates, leaving: set[str]) -> Plan:
    """Plan repeatedly while answers come in; return the last plan. The nodes *leaving* are not handed out.

    The limit of creates at once is ignored: a request that only waits for that limit is planned.
    """
    store = context.store
    nodes = [node for node in store.nodes.list() if not node.broken]
    ledger, free = take_stock(nodes), [node for node in nodes if not store.nodes.is_locked(node.id)]
    requests = [request for request in store.requests.list() if not store.requests.is_locked(request.id)]
    others = registry.others(context.pool_ids.values(), context.now(), StockLaunchers.of(store))
    deadline, inherited, concluded = context.now() + PATIENCE, Inherited(context), False
    while True:
        deny_unusable(context)
        in_hand = InHand(requests=(), launching=_launching(context), busy_nodes=leaving)
        demand = demand_of(context, ledger, requests, in_hand)
        readings = read_clouds(context, gates, ledger, demand=bool(demand))
        snapshot = observe(context, gates, ledger, free, demand, readings, others, in_hand, inherited)
        inherited.ask_for_lists(context.now())
        plan = place(replace(snapshot, pools=tuple(replace(pool, admissible=math.inf) for pool in snapshot.pools)))
        busy = any(actor.reading or actor.retries for actor in context.actors.values())
        over = not busy or context.now() >= deadline
        if over and concluded:
            return plan
        if over:
            # The last plan names what was not had as the reason to wait.
            concluded = True
            for actor in context.actors.values():
                actor.conclude()
            continue
        context.inbox.take(min(1.0, deadline - context.now()))


def _pace(context: Context, gates: Gates, plan: Plan) -> list[dict[str, Any]]:
    """Return the pools with more planned launches than creates that they may send at once."""
    launches = Counter(spare.pool_id for spare in plan.spare)
    for admit in plan.admit:
        launches[admit.pool_id] += sum(1 for slot in admit.slots if slot.node_id is None)
    found: list[dict[str, Any]] = []
    for (provider, _unused), pool_id in context.pool_ids.items():
        allowed = gates.freezes.allowed(pool_id, context.actors[provider])
        if launches[pool_id] > allowed:
            where = _where(context, pool_id)
            found.append({"pool": where, "launches": launches[pool_id], "creates_at_once": allowed})
    return found


def _pace_line(pace: dict[str, Any]) -> str:
    at_once = pace["creates_at_once"]
    return (
        f"pool {pace['pool']}: begins with {amount(at_once, 'create')} at once, of {pace['launches']} that are planned;"
        " one more for each that the cloud accepts"
    )


def _launching(context: Context) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in context.store.nodes.list():
        if node.state in (NodeState.INIT, NodeState.BUILDING) and node.provider:
            counts[node.provider] = counts.get(node.provider, 0) + 1
    return counts


def _upkeep(context: Context) -> Iterable[DeleteNode | FreeNode | DropRequest]:
    store = context.store
    nodes = [
        node
        for node in store.nodes.list()
        if not node.broken and node.provider in context.actors and not store.nodes.is_locked(node.id)
    ]
    return due_upkeep(context, nodes, store.requests.list())


def _left_behind(context: Context) -> list[str]:
    """Return the pending requests that are not locked: the cycle would take them over."""
    store = context.store
    return [
        request.id
        for request in store.requests.list()
        if request.state == RequestState.PENDING and not store.requests.is_locked(request.id)
    ]


def _where(context: Context, pool_id: str) -> str:
    return next((f"{provider}/{pool}" for (provider, pool), key in context.pool_ids.items() if key == pool_id), pool_id)


def _lines(context: Context, plan: Plan, actions: Iterable[DeleteNode | FreeNode | DropRequest]) -> Iterable[str]:
    """Yield the plan in sentences, in the order in which it would be carried out."""
    for request_id in _left_behind(context):
        yield f"request {request_id}: continue it (its launcher has ended)"
    for action in actions:
        if isinstance(action, DropRequest):
            yield f"request {action.request_id}: remove, {action.reason.text()}"
        else:
            verb = "delete" if isinstance(action, DeleteNode) else "free"
            yield f"node {action.node_id}: {verb}, {action.reason.text()}"
    for admit in plan.admit:
        take = {
            slot.node_id: f"take ready node {slot.node_id} for {slot.label}" for slot in admit.slots if slot.node_id
        }
        parts = [take[slot.node_id] if slot.node_id else f"launch {slot.label}" for slot in admit.slots]
        where = _where(context, admit.pool_id) + (f" zone {admit.az}" if admit.az else "")
        yield f"request {admit.request_id}: {', '.join(parts)} in {where}, {admit.reason.text()}"
    for decline in plan.decline:
        outcome = "fail" if decline.fail else "decline"
        known = all_reasons(context, decline.request_id, decline.reasons.values())
        yield f"request {decline.request_id}: {outcome}, {reasons.cause(known) or 'no pool offers its labels'}"
    for wait in plan.wait:
        yield f"request {wait.request_id}: wait, {wait.reason.text()}"
    for delete in plan.delete:
        yield f"node {delete.node_id}: delete, {delete.reason.text()}"
    for spare in plan.spare:
        yield f"label {spare.label}: launch one in {_where(context, spare.pool_id)}, {spare.reason.text()}"


def _documents(context: Context, plan: Plan, actions: Iterable[DeleteNode | FreeNode | DropRequest]) -> dict[str, Any]:
    deletions = [*(action for action in actions if isinstance(action, DeleteNode)), *plan.delete]
    return {
        "admit": [
            {
                "request": admit.request_id,
                "pool": _where(context, admit.pool_id),
                "az": admit.az,
                "slots": [{"label": slot.label, "node": slot.node_id} for slot in admit.slots],
                "reason": admit.reason.document(),
            }
            for admit in plan.admit
        ],
        "decline": [
            {
                "request": decline.request_id,
                "fail": decline.fail,
                "reasons": all_reasons(context, decline.request_id, decline.reasons.values()),
            }
            for decline in plan.decline
        ],
        "wait": [{"request": wait.request_id, "reason": wait.reason.document()} for wait in plan.wait],
        "spare": [
            {
                "label": spare.label,
                "pool": _where(context, spare.pool_id),
                "az": spare.az,
                "reason": spare.reason.document(),
            }
            for spare in plan.spare
        ],
        "delete": [{"node": delete.node_id, "reason": delete.reason.document()} for delete in deletions],
    }
