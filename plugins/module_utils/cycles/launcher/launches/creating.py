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
from ..provider.denials import denies_image
from .launch_in_progress import LaunchInProgress


@dataclass(frozen=True)
class CreateDone:
    """What nova said to a create, and after how many seconds."""

    server_id: str
    seconds: float


class Answered(Protocol):
    """Called with the answer to a create."""

    def __call__(
        self, ongoing: LaunchInProgress, mark: str, made: CreateDone | None, problem: CloudError | None, /
    ) -> None:
        """The server of the create with that mark, or what went wrong."""


def lost_its_image(ongoing: LaunchInProgress, error: CloudError, now: float) -> bool:
    """True for a create that was refused for its image alone: that costs no attempt.

    It counts like any refusal where glance has shown the image since nova denied it before.
    """
    launch, lost = ongoing.launch, ongoing.actor.known.denials.images
    if launch.cloud_image_id is None or not denies_image(error):
        return False
    before = lost.denied_at(launch.cloud_image_id, now)
    lost.deny(launch.cloud_image_id, now)
    return before is None or launch.asked_at < before


def renew_image(context: Context, ongoing: LaunchInProgress, now: float) -> bool:
    """Give a launch whose image is lost another one; *ongoing.lacks* says why there is none.

    :return: True when it has an image that may be there.
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
    # While the image is looked up, it is only waited for the answer.
    ongoing.lacks = why if why is not None and why.code in reasons.IMAGE_REASONS else None
    return why is None


def prepare_create(context: Context, ongoing: LaunchInProgress, now: float) -> ServerSpec | None:
    """Begin an attempt: its record is on its way, and must be stored before :func:`send_create`.

    :return: what to create; None while the networks that it needs are not known yet.
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
    """Send what was prepared.

    :param answered: takes the launch, the mark, and what was made or the error.
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
    """A zone that nova denies although it was there is not the launch's fault; a node of no set may have another."""
    actor, launch, now = ongoing.actor, ongoing.launch, context.now()
    judged = actor.known.denials.judge(error, launch.az, actor.known.zones.value, now)
    if judged is not error:
        actor.known.zones.forget()
        actor.known.zones.want(now)
        if ongoing.alone:
            launch.az = ongoing.next_zone()
    return judged


def _send(context: Context, ongoing: LaunchInProgress, spec: ServerSpec, seconds: float) -> CreateDone:
    """Called by a thread that may have come late: what another cycle may have taken over is not created any more.

    :raises CloudUnavailable: nothing was sent.
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
