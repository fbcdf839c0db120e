# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One create: the launch has an image that may be there, the attempt is stored, then the call is sent."""

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
from ..provider.lost_images import denies_image
from .launch_in_progress import LaunchInProgress


@dataclass(frozen=True)
class CreateDone:
    """What nova said to a create, and after how many seconds."""

    server_id: str
    seconds: float


class Answered(Protocol):
    """Who is told how a create was answered."""

    def __call__(
        self, running: LaunchInProgress, mark: str, made: CreateDone | None, problem: CloudError | None, /
    ) -> None:
        """The server of the create with that mark, or what went wrong."""


def lost_its_image(running: LaunchInProgress, error: CloudError, now: float) -> bool:
    """True for a create that was refused for its image alone: that costs no attempt.

    It counts like any refusal where glance has shown the image since nova denied it before.
    """
    launch, lost = running.launch, running.actor.known.denials.images
    if launch.cloud_image_id is None or not denies_image(error):
        return False
    before = lost.denied_at(launch.cloud_image_id, now)
    lost.deny(launch.cloud_image_id, now)
    return before is None or launch.asked_at < before


def renew_image(context: Context, running: LaunchInProgress, now: float) -> bool:
    """Give a launch whose image is lost another one; *running.lacks* says why there is none.

    :return: True when it has an image that may be there.
    """
    actor, launch = running.actor, running.launch
    running.lacks = None
    if actor.known.denials.images.denied_at(launch.cloud_image_id, now) is None:
        return True
    ask_for_image(context, actor, running.image, None)
    image_id, upload, why = image_of(context, actor, running.image, running.label, "/".join(running.key))
    if why is None and image_id != launch.cloud_image_id:
        launch.cloud_image_id = image_id
        record.take_image(running.node, running.image, upload)
        batch = context.store.batch()
        context.save(launch, batch)
        context.store.nodes.write(running.node, batch=batch)
        batch.send_later()
    # While the image is looked up, it is only waited for the answer.
    running.lacks = why if why is not None and why.code in reasons.IMAGE_REASONS else None
    return why is None


def prepare_create(context: Context, running: LaunchInProgress, now: float) -> ServerSpec | None:
    """Begin an attempt: its record is on its way, and must be stored before :func:`send_create`.

    :return: what to create; None while the networks that it needs are not known yet.
    """
    networks = running.label.networks or running.pool.networks
    known = running.actor.known.networks.want(now) if networks or running.pool.auto_floating_ip else []
    if known is None:
        return None
    ids = {network.name: network.id for network in known}
    launch = running.launch
    machine.begin_attempt(launch, make_mark(launch.node_id, launch.attempt, context.nonce()), now)
    batch = context.store.batch()
    context.save(launch, batch)
    batch.send_later()
    running.busy = True
    return server_spec(
        launch,
        running.actor.provider,
        running.pool,
        running.label,
        running.image,
        tuple(ids.get(name, name) for name in networks),
        running.request,
        context.site,
    )


def send_create(context: Context, running: LaunchInProgress, spec: ServerSpec, answered: Answered) -> None:
    """Send what was prepared.

    :param answered: takes the launch, the mark, and what was made or the error.
    """
    mark, seconds = running.launch.mark, running.actor.creates.answers.patience
    running.pending.add(mark)
    running.sent[mark] = running.launch.asked_at

    def done(made: CreateDone | None, error: CloudError | None) -> None:
        running.pending.discard(mark)
        answered(running, mark, made, error)

    running.actor.creates.send(
        lambda: _send(context, running, spec, seconds), seconds, done, lambda error: _judged(context, running, error)
    )


def _judged(context: Context, running: LaunchInProgress, error: CloudError) -> CloudError:
    """A zone that nova denies although it was there is not the launch's fault; a node of no set may have another."""
    actor, launch, now = running.actor, running.launch, context.now()
    judged = actor.known.denials.judge(error, launch.az, actor.known.zones.value, now)
    if judged is not error:
        actor.known.zones.forget()
        actor.known.zones.want(now)
        if running.alone:
            launch.az = running.next_zone()
    return judged


def _send(context: Context, running: LaunchInProgress, spec: ServerSpec, seconds: float) -> CreateDone:
    """Called by a thread that may have come late: what another cycle may have taken over is not created any more.

    :raises CloudUnavailable: nothing was sent.
    """
    if not running.held.valid or context.store.state != "connected":
        raise CloudUnavailable(
            "the create was not sent: the connection to ZooKeeper broke before it",
            provider=running.launch.provider,
            call="POST /servers",
        )
    client, ident = running.actor.client, threading.get_ident()
    began, waited = context.now(), client.waited(ident)
    server_id = client.create_server(spec, seconds)
    return CreateDone(server_id, context.now() - began - (client.waited(ident) - waited))
