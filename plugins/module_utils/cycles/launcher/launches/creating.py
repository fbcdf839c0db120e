# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends one create: first the launch gets an image that is not known to be lost, then the attempt is stored."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Protocol

from ....launching import machine, record
from ....launching.spec import server_spec
from ....model import reasons
from ....model.cloud import ServerSpec
from ....model.errors import CloudError, CloudUnavailable
from ....model.launch import make_mark
from ..context.context import Context
from ..context.offers import ask_for_image, image_of
from ..provider.denials import denies_image
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
    """Give a launch whose image is lost another one; if there is none, *ongoing.lacks* says why.

    :return: True if the launch has an image that is not known to be lost.
    """
    actor, launch = ongoing.actor, ongoing.launch
    ongoing.lacks = None
    if actor.known.denials.images.denied_at(launch.cloud_image_id, now) is None:
        return True
    ask_for_image(context, actor, ongoing.image, None)
    image_id, upload, why = image_of(context, actor, ongoing.image, ongoing.label, "/".join(ongoing.key))
    if why is None and image_id != launch.cloud_image_id:
        launch.cloud_image_id = image_id
        record.take_image(ongoing.node, ongoing.image, upload)
        batch = context.store.batch()
        context.save(launch, batch)
        context.store.nodes.write(ongoing.node, batch=batch)
        batch.send_later()
    # While the image is being looked up, nothing is lacking: the launch only waits for the answer.
    ongoing.lacks = why if why is not None and why.code in reasons.IMAGE_REASONS else None
    return why is None


def prepare_create(context: Context, ongoing: LaunchInProgress, now: float) -> ServerSpec | None:
    """Begin an attempt and send its record to ZooKeeper; it must be stored before :func:`send_create` is called.

    :return: the server to create; None while the networks that it needs are not known yet.
    """
    networks = ongoing.label.networks or ongoing.pool.networks
    known = ongoing.actor.known.networks.want(now) if networks or ongoing.pool.auto_floating_ip else []
    if known is None:
        return None
    ids = {network.name: network.id for network in known}
    launch = ongoing.launch
    machine.begin_attempt(launch, make_mark(launch.node_id, launch.attempt, context.nonce()), now)
    batch = context.store.batch()
    context.save(launch, batch)
    batch.send_later()
    ongoing.busy = True
    return server_spec(
        launch,
        ongoing.actor.provider,
        ongoing.pool,
        ongoing.label,
        ongoing.image,
        tuple(ids.get(name, name) for name in networks),
        ongoing.request,
        context.site,
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
    """Return the error that counts for the launch: a denied zone that existed shortly before is trouble of the API.

    In that case, a node that belongs to no set gets another zone.
    """
    actor, launch, now = ongoing.actor, ongoing.launch, context.now()
    judged = actor.known.denials.judge(error, launch.az, actor.known.zones.value, now)
    if judged is not error:
        actor.known.zones.forget()
        actor.known.zones.want(now)
        if ongoing.alone:
            launch.az = ongoing.next_zone()
    return judged


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
