# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New launches: the records of many nodes are written side by side, in two round trips for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.batch import Sent
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.common.context import LAUNCHES, Context
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.nodes.running import Running, request_values
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.provider.actor import ProviderActor
from ansible_collections.stackci.nodepool.plugins.module_utils.cycles.provider.offers import Recipe, label_recipe
from ansible_collections.stackci.nodepool.plugins.module_utils.launching import record
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import Flavor
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Pool, PoolLabel
from ansible_collections.stackci.nodepool.plugins.module_utils.model.launch import Launch
from ansible_collections.stackci.nodepool.plugins.module_utils.model.node import Node
from ansible_collections.stackci.nodepool.plugins.module_utils.model.request import NodeRequest


@dataclass(frozen=True)
class Wanted:
    """A node to launch, for a request or (None) for nobody."""

    pool_id: str
    label: str
    az: str | None
    request: NodeRequest | None = None


@dataclass(frozen=True, eq=False)
class _Draft:
    wanted: Wanted
    node: Node
    actor: ProviderActor
    pool: Pool
    label: PoolLabel
    recipe: Recipe
    flavor: Flavor
    created: Sent


def begin(context: Context, wanted: Sequence[Wanted]) -> list[Running | None]:
    """Write the records of new nodes and lock them.

    :return: in the order of *wanted*; None for what cannot be launched after all.
    """
    if not wanted:
        return []
    now = context.now()
    drafts = [_draft(context, item, now) for item in wanted]
    context.store.own.folder(LAUNCHES)
    taken = [_take(context, draft, now) if draft is not None else None for draft in drafts]
    return [pair[0] if pair is not None and pair[1].refused() is None else None for pair in taken]


def _draft(context: Context, wanted: Wanted, now: float) -> _Draft | None:
    """The node comes into being in state init."""
    actor, pool = context.pool(wanted.pool_id)
    label = pool.labels[wanted.label]
    recipe = label_recipe(context, actor, pool, label, None)
    if not recipe.complete or recipe.flavor is None:
        return None
    node = record.new_node(actor.provider, pool, wanted.pool_id, label.name, wanted.request, now)
    return _Draft(wanted, node, actor, pool, label, recipe, recipe.flavor, context.store.nodes.send(node))


def _take(context: Context, draft: _Draft, now: float) -> tuple[Running, Sent] | None:
    """It is locked, has a launch record and is in state building: all of that at once."""
    draft.created.wait()
    wanted, node, recipe, store = draft.wanted, draft.node, draft.recipe, context.store
    batch = store.batch()
    held = store.nodes.claim(node.id, batch)
    if held is None:
        return None
    launch = Launch(
        node_id=node.id,
        provider=draft.actor.provider.name,
        pool=draft.pool.name,
        label=draft.label.name,
        request_id=wanted.request.id if wanted.request else None,
        az=wanted.az,
        flavor_id=draft.flavor.id,
        cloud_image_id=recipe.cloud_image_id,
        since=now,
    )
    context.save(launch, batch)
    record.begin(node, recipe.settings, recipe.upload, recipe.offer.resources, now)
    store.nodes.write(node, batch=batch)
    sent = batch.send()
    held.claimed_by(sent)
    values = request_values(wanted.request)
    return Running(launch, node, held, draft.actor, draft.pool, draft.label, recipe.settings, values), sent
