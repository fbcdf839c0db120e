# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends one create: first the launch gets an image that is not known to be lost, then the attempt is stored."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Protocol

from ....launching import machine, record
from ....launching.classifier import denies_zone
from ....launching.create_checks import Unfit, unfit
from ....launching.resolver import choose_flavor, resolve_networks, resolve_server_group
from ....launching.spec import server_name, server_spec
from ....model import reasons
from ....model.cloud import ServerSpec
from ....model.errors import CloudError, CloudRefused, CloudUnavailable
from ....model.launch import make_mark
from ....model.reasons import Reason
from ..context.context import Context
from ..context.events import follow_node
from ..context.launch_templates import ask_for_image, image_of
from ..context.usable_builds import is_unused
from ..provider.denials import denies_image
from ..provider.facts import Fact
from ..provider.usable import is_awaited
from .launch_in_progress import LaunchInProgress


@dataclass(frozen=True)
class CreateDone:
    """The answer of nova to a create, and the seconds until it came."""

    server_id: str
    seconds: float


class Answered(Protocol):
    """Called with the answer to a create."""

    def __call__(
        self, ongoing: LaunchInProgress, mark: str, made: CreateDone | None, problem: CloudError | None, /
    ) -> None:
        """Take the server of the create with that mark, or the error."""


def lost_its_image(ongoing: LaunchInProgress, error: CloudError, now: float) -> bool:
    """Return True for a create that was refused only because its image is lost: that costs no attempt.

    If glance has shown the image since an earlier denial by nova, the refusal counts like any other.
    """
    launch, lost = ongoing.launch, ongoing.actor.known.denials.images
    if launch.cloud_image_id is None or not denies_image(error):
        return False
    before = lost.denied_at(launch.cloud_image_id, now)
    lost.deny(launch.cloud_image_id, now)
    return before is None or launch.asked_at < before


def renew_image(context: Context, ongoing: LaunchInProgress, now: float) -> bool:
    """Give a launch whose image is lost or not to be used another one; if there is none, *ongoing.lacks* says why.

    :return: True if the launch has an image that is not known to be lost.
    """
    actor, launch = ongoing.actor, ongoing.launch
    ongoing.lacks = None
    lost = actor.known.denials.images.denied_at(launch.cloud_image_id, now) is not None
    lost |= is_unused(context, ongoing.node)
    # After a failure another build may be the better choice.
    if not lost and not (launch.failures and ongoing.image.kind == "diskimage"):
        return True
    ask_for_image(context, actor, ongoing.image, now, None)
    request = context.store.requests.get(launch.request_id) if launch.request_id else None
    where, node_id = "/".join(ongoing.key), ongoing.node.id
    image_id, upload, why = image_of(context, actor, ongoing.image, ongoing.label, where, now, request, node_id)
    if why is not None and not lost:
        return True
    if why is None and image_id != launch.cloud_image_id:
        launch.cloud_image_id = image_id
        record.take_image(ongoing.node, ongoing.image, upload)
        follow_node(context, ongoing.node, request)
        batch = context.store.batch()
        context.save(launch, batch)
        context.store.nodes.write(ongoing.node, batch=batch)
        batch.send_later()
    # While the image is being looked up, nothing is lacking: the launch only waits for the answer.
    ongoing.lacks = why if why is not None and why.code in reasons.IMAGE_REASONS else None
    return why is None


def renew_facts(context: Context, ongoing: LaunchInProgress, now: float) -> bool:
    """Renew what a launch has copied from the facts: the flavor of its label may have been made again.

    :return: False while facts that were doubted are read again, and if the cloud lacks what the label names.
    """
    launch, known = ongoing.launch, ongoing.actor.known
    facts: list[Fact[Any]] = [known.flavors, known.zones, *known.look(ongoing.pool, ongoing.label).named]
    if not known.is_settled(facts, now):
        return False
    if launch.reread and launch.az is not None and known.zones.value and launch.az not in known.zones.value:
        return _lacks(ongoing, f"the cloud no longer has zone {launch.az!r}")
    flavors = known.flavors.value
    if flavors is None or flavors is ongoing.flavors_seen:
        return True
    ongoing.flavors_seen = flavors
    if any(item.id == launch.flavor_id for item in flavors):
        return True
    try:
        launch.flavor_id = choose_flavor(flavors, ongoing.label.flavor_name, ongoing.label.min_ram).id
    except CloudRefused as error:
        ongoing.flavors_seen = None
        return _lacks(ongoing, str(error))
    context.save(launch)
    return True


def _lacks(ongoing: LaunchInProgress, text: str) -> bool:
    """Note what the launch lacks: its request is given back and planned again with the facts of now."""
    figures = {"where": "/".join(ongoing.key), "label": ongoing.launch.label, "text": text}
    ongoing.lacks = Reason(reasons.LABEL_BROKEN, figures)
    return False


def prepare_create(context: Context, ongoing: LaunchInProgress, now: float) -> ServerSpec | Unfit | None:
    """Begin an attempt and send its record to ZooKeeper; it must be stored before :func:`send_create` is called.

    :return: the server to create; None while networks or a server group that it needs are not known yet; why nova would
        refuse it.
    """
    fact = ongoing.actor.known.networks
    known = fact.want(now)
    if known is None and (ongoing.networks or ongoing.pool.auto_floating_ip or is_awaited(fact, now)):
        return None
    groups = ongoing.actor.known.server_groups.want(now) if ongoing.label.launches.server_group is not None else None
    network_ids, wrong = resolve_networks(ongoing.pool, ongoing.label, known)
    wrong += ongoing.actor.known.floating_problems(ongoing.pool, ongoing.label, now)
    group_id, wrong_group = resolve_server_group(ongoing.label, groups)
    wrong += wrong_group
    if wrong:
        _lacks(ongoing, "; ".join(wrong))
        return None
    if group_id is None and ongoing.label.launches.server_group is not None:
        return None
    _avoid_taken_name(context, ongoing)
    problem = unfit(_spec(context, ongoing, network_ids, group_id), ongoing.label.dynamic_instance_properties)
    if problem is not None:
        return problem
    launch = ongoing.launch
    machine.begin_attempt(launch, make_mark(launch.node_id, launch.attempt, context.nonce()), now)
    batch = context.store.batch()
    context.save(launch, batch)
    batch.send_later()
    ongoing.busy = True
    return _spec(context, ongoing, network_ids, group_id)


def other_suffix(context: Context) -> str:
    """Return what makes the name of a server another one."""
    return f"-{context.nonce()[:4]}"


def _avoid_taken_name(context: Context, ongoing: LaunchInProgress) -> None:
    """Give the server another name if a server in the list has its name, at a cloud that allows each name only once."""
    launch, actor = ongoing.launch, ongoing.actor
    if not actor.experience.unique_names or launch.suffix:
        return
    name = server_name(launch.node_id)
    if any(server.name.lower() == name for server in actor.view.servers.values()):
        launch.suffix = other_suffix(context)


def _spec(
    context: Context, ongoing: LaunchInProgress, network_ids: tuple[str, ...], group_id: str | None
) -> ServerSpec:
    provider, pool, label = ongoing.actor.provider, ongoing.pool, ongoing.label
    return server_spec(
        ongoing.launch, provider, pool, label, ongoing.image, network_ids, group_id, ongoing.request, context.site
    )


def send_create(context: Context, ongoing: LaunchInProgress, spec: ServerSpec, answered: Answered) -> None:
    """Send the create that was prepared.

    :param answered: takes the launch, the mark, and the result or the error.
    """
    mark, seconds = ongoing.launch.mark, ongoing.actor.creates.answers.patience
    ongoing.pending.add(mark)
    ongoing.sent[mark] = ongoing.launch.asked_at

    def done(made: CreateDone | None, error: CloudError | None) -> None:
        ongoing.pending.discard(mark)
        answered(ongoing, mark, made, error)

    ongoing.actor.creates.send(
        lambda: _send(context, ongoing, spec, seconds), seconds, done, lambda error: _judged(context, ongoing, error)
    )


def _judged(context: Context, ongoing: LaunchInProgress, error: CloudError) -> CloudError:
    """Return the error that counts for the API's health: it is in trouble if it denies all zones that it had before."""
    actor, zone, now = ongoing.actor, ongoing.launch.az, context.now()
    if zone is None or not denies_zone(error):
        return error
    actor.known.denials.deny(zone, actor.known.zones.value, now)
    if actor.known.denials.is_lost(zone, now):
        actor.known.zones.forget()
        actor.known.zones.want(now)
    return actor.known.denials.judge(error, zone, ongoing.zones, now)


def _send(context: Context, ongoing: LaunchInProgress, spec: ServerSpec, seconds: float) -> CreateDone:
    """Create the server in a worker thread, unless another cycle may have taken over the launch meanwhile.

    :raises CloudUnavailable: among other errors, when the create was not sent because the session was lost.
    """
    if not ongoing.held.valid or context.store.state != "connected":
        raise CloudUnavailable(
            "the create was not sent: the connection to ZooKeeper broke before it",
            provider=ongoing.launch.provider,
            call="POST /servers",
        )
    client, ident = ongoing.actor.client, threading.get_ident()
    began, waited = context.now(), client.waited(ident)
    server_id = client.create_server(spec, seconds)
    return CreateDone(server_id, context.now() - began - (client.waited(ident) - waited))
