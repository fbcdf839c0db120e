# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which builds of a diskimage nodes may be launched from, by the verdicts on them. Makes no call."""

from __future__ import annotations

from collections.abc import Container
from functools import partial

from ....launching.event_builds import NO_PIN, Pin
from ....launching.made_of import made_of
from ....model import reasons
from ....model.build_verdict import BuildVerdict
from ....model.image import Upload, build_of_path
from ....model.lines import Trouble
from ....model.node import Node, NodeState
from ....model.reasons import Reason
from ....model.request import NodeRequest
from .context import Context
from .trials import GivenUp, pinned


def unused_builds(context: Context, image: str, provider: str) -> frozenset[str]:
    """Return the ids of the builds of which nothing is launched at a provider, although they are in its cloud."""
    verdicts = context.store.verdicts.of_image(image)
    if not verdicts:
        return frozenset()
    now = context.now()
    return frozenset(build_id for build_id, verdict in verdicts.items() if not verdict.is_used(now, provider))


def usable_uploads(context: Context, image: str, provider: str, denied: Container[str] = ()) -> list[Upload]:
    """Return the uploads that nodes may be launched from, the newest first.

    :param denied: ids in the cloud of images that nova does not have.
    """
    return context.store.images.ready_uploads(image, provider, denied, unused_builds(context, image, provider))


def chosen_upload(
    context: Context,
    image: str,
    provider: str,
    denied: Container[str] = (),
    request: NodeRequest | None = None,
    pin: Pin = NO_PIN,
) -> Upload | None:
    """Return the upload that nodes are launched from; None if there is none.

    A new build is tried with few launches first, while the one before it is known to work.

    :param denied: ids in the cloud of images that nova does not have.
    :param request: for whom they are launched; None for min-ready.
    :param pin: the build of other nodes of the same event.
    """
    uploads = usable_uploads(context, image, provider, denied)
    if len(uploads) < 2:
        return next(iter(uploads), None)
    if not falls_back(context, image):
        return pinned(uploads, pin)
    key, size = (request.id, len(request.node_types)) if request is not None else ("", 1)
    return context.trials.chosen(uploads, context.store.verdicts.of_image(image), key, size, context.now(), pin)


def falls_back(context: Context, image: str) -> bool:
    """Return True if the launcher may stop using a build of the image by itself."""
    settings = context.config.diskimages.get(image)
    return settings is not None and settings.fall_back


def give_up_bad_builds(context: Context) -> None:
    """Stop using builds whose launches fail while those of others succeed, say so, and list the nodes that stay."""

    def uploads_of(image: str, provider: str) -> list[Upload]:
        return usable_uploads(context, image, provider) if falls_back(context, image) else []

    now = context.now()
    for found in context.trials.judge(uploads_of, context.store.verdicts.of_image, now):
        # Before the decision: whoever sees that sees the figures of which it was made.
        context.trials.save(context.store, now, every=0.0)
        context.store.verdicts.change(found.image, found.build, partial(_without, found, now))
        line = f"{found.provider}: {found.reason}: nodes are launched from build {found.instead} again, until a newer"
        line += f" build is there or build {found.build} is restored (dib_image)"
        known = map(context.store.nodes.get, context.store.nodes.ids())
        stay = made_of(known, found.image, found.build, found.provider).text()
        line += f"; {stay}" if stay else ""
        context.account.say(Trouble(line, provider=found.provider, image=found.image))


def _without(found: GivenUp, now: float, verdict: BuildVerdict) -> BuildVerdict:
    return verdict.without(found.provider, found.reason, now)


def is_unused(context: Context, node: Node) -> bool:
    """Return True if the build that a node is about to be launched from must not be used any more."""
    place = build_of_path(node.image_id)
    return place is not None and not context.store.verdicts.of_build(*place).is_used(context.now(), node.provider or "")


def condemned(context: Context, node: Node) -> Reason | None:
    """Return why a ready node that nobody uses is deleted: its build is bad; None if it is not known to be."""
    place = build_of_path(node.image_id)
    if place is None or node.state != NodeState.READY:
        return None
    now, provider = context.now(), node.provider or ""
    verdict = context.store.verdicts.of_build(*place)
    if not verdict.is_condemned(now, provider):
        return None
    image, build_id = place
    figures = {"image": image, "build": build_id, "text": verdict.text(now, provider)}
    return Reason(reasons.BUILD_CONDEMNED, figures)
