# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Begins launches: writes the records of many new nodes in parallel, or adopts a launch of an ended cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....clients.zookeeper.link.batch import Sent
from ....clients.zookeeper.locks import Held
from ....launching import machine, record
from ....launching.event_builds import Made, event_of
from ....model.cloud import Flavor
from ....model.config.types import Pool, PoolLabel
from ....model.image import Upload
from ....model.launch import Launch, Phase
from ....model.launch_counts import SHORT
from ....model.lines import Line, Subject
from ....model.node import Node, NodeState
from ....model.node_use import job_of, wanted_at
from ....model.own_tree import LAUNCHES
from ....model.request import NodeRequest
from ..context.context import Context
from ..context.launch_templates import LaunchTemplate, label_template
from ..provider.actor import ProviderActor
from ..provider.usable import missing
from .launch_in_progress import Ended, LaunchInProgress, request_values


@dataclass(frozen=True)
class Wanted:
    """A node to launch, for a request or (*request* None) for min-ready.

    *ended*: called when the launch is ready or failed, see :class:`LaunchInProgress`.
    """

    pool_id: str
    label: str
    az: str | None
    request: NodeRequest | None = None
    ended: Ended | None = None


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

    :return: the launches in the order of *wanted*; None for a node that cannot be launched after all.
    """
    if not wanted:
        return []
    now = context.now()
    drafts = [_draft(context, item, now) for item in wanted]
    context.store.own.folder(LAUNCHES)
    taken = [_take(context, draft, now) if draft is not None else None for draft in drafts]
    return [pair[0] if pair is not None and pair[1].refused() is None else None for pair in taken]


def _draft(context: Context, wanted: Wanted, now: float) -> _Draft | None:
    """Create the record of the node in state init; return None if the label cannot be launched now."""
    actor, pool = context.pool(wanted.pool_id)
    label = pool.labels[wanted.label]
    lacks = missing(actor, actor.known.look(pool, label), now, None)
    template = label_template(context, actor, pool, label, lacks, now, wanted.request)
    if not template.complete or template.flavor is None:
        return None
    context.trials.begin(template.upload, wanted.request.id if wanted.request else "")
    if template.upload is not None and wanted.request is not None and not (label.channel or label.is_canary):
        _tell_other_build(context, wanted.request, template.upload)
        event, upload = event_of(wanted.request), template.upload
        context.events.begin(Made(event, wanted.request.id, upload.image, upload.build_id))
    node = record.new_node(actor.provider, pool, wanted.pool_id, label.name, wanted.request, now)
    return _Draft(wanted, node, actor, pool, label, template, template.flavor, context.store.nodes.send(node))


def _tell_other_build(context: Context, request: NodeRequest, upload: Upload) -> None:
    """Tell, once for a request, that its nodes are made from a different build than other nodes of its event."""
    build = context.events.pin(request, upload.image).build
    if build and build != upload.build_id:
        what = f"its {upload.image} nodes at {upload.provider} are made from build {upload.build_id[:SHORT]}"
        line = f"request {request.id}: {what}, other nodes of its event from build {build[:SHORT]}"
        about = Subject(provider=upload.provider, image=upload.image, build=upload.build_id, request=request.id)
        context.account.say(Line(line, **about))


def _take(context: Context, draft: _Draft, now: float) -> tuple[LaunchInProgress, Sent] | None:
    """Lock the node, store its launch record and set its state to building, all or nothing in one batch."""
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
        event_id=wanted.request.event_id if wanted.request else None,
        az=wanted.az,
        flavor_id=draft.flavor.id,
        cloud_image_id=template.cloud_image_id,
        since=now,
        job=job_of(wanted.request.requestor_data) if wanted.request else "",
        wanted_at=wanted_at(wanted.request.created_time, now) if wanted.request else None,
    )
    context.save(launch, batch)
    record.begin(node, template.settings, template.upload, template.offer.resources, now)
    store.nodes.write(node, batch=batch)
    sent = batch.send()
    held.claimed_by(sent)
    values, settings = request_values(wanted.request), template.settings
    ongoing = LaunchInProgress(launch, node, held, draft.actor, draft.pool, draft.label, settings, values, wanted.ended)
    return ongoing, sent


def adopted(
    context: Context, node: Node, held: Held, request: NodeRequest | None, ended: Ended | None
) -> LaunchInProgress | None:
    """Return the launch of a node that another cycle began; None if its pool or label has left the configuration."""
    launch = context.launch(node.id, fresh=True)
    actor = context.actors.get(node.provider or "")
    pool = actor.provider.pools.get(node.pool or "") if actor else None
    label = pool.labels.get(launch.label) if pool and launch else None
    if launch is None or actor is None or pool is None or label is None:
        return None
    now = context.now()
    if launch.phase == Phase.ADDRESSING:
        # The other cycle may have created a floating IP: look for it before another is created.
        launch.floating_doubt = True
    machine.adopt(launch, now, actor.creates.settle)
    launch.request_id, launch.event_id = (request.id, request.event_id) if request else (None, None)
    if node.state == NodeState.INIT:
        node.set_state(NodeState.BUILDING, now)
    context.store.nodes.write(node)
    settings = context.image_settings(actor.provider, label)
    return LaunchInProgress(launch, node, held, actor, pool, label, settings, request_values(request), ended)
