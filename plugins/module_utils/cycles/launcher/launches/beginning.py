# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""New launches: the records of many nodes are written side by side, in two round trips for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....clients.zookeeper.batch import Sent
from ....launching import record
from ....model.cloud import Flavor
from ....model.config.types import Pool, PoolLabel
from ....model.launch import Launch
from ....model.node import Node
from ....model.request import NodeRequest
from ..context.context import LAUNCHES, Context
from ..context.launch_in_progress import LaunchInProgress, request_values
from ..context.offers import LaunchTemplate, label_template
from ..provider.actor import ProviderActor


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
    template: LaunchTemplate
    flavor: Flavor
    created: Sent


def begin(context: Context, wanted: Sequence[Wanted]) -> list[LaunchInProgress | None]:
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
    template = label_template(context, actor, pool, label, None)
    if not template.complete or template.flavor is None:
        return None
    node = record.new_node(actor.provider, pool, wanted.pool_id, label.name, wanted.request, now)
    return _Draft(wanted, node, actor, pool, label, template, template.flavor, context.store.nodes.send(node))


def _take(context: Context, draft: _Draft, now: float) -> tuple[LaunchInProgress, Sent] | None:
    """It is locked, has a launch record and is in state building: all of that at once."""
    draft.created.wait()
    wanted, node, template, store = draft.wanted, draft.node, draft.template, context.store
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
        cloud_image_id=template.cloud_image_id,
        since=now,
    )
    context.save(launch, batch)
    record.begin(node, template.settings, template.upload, template.offer.resources, now)
    store.nodes.write(node, batch=batch)
    sent = batch.send()
    held.claimed_by(sent)
    values = request_values(wanted.request)
    return LaunchInProgress(launch, node, held, draft.actor, draft.pool, draft.label, template.settings, values), sent
