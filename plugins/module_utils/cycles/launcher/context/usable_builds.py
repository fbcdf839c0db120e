# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which builds of a diskimage nodes may be launched from, by the verdicts on them. Makes no call."""

from __future__ import annotations

from collections.abc import Container

from ....model import reasons
from ....model.image import Upload, build_of_path
from ....model.node import Node, NodeState
from ....model.reasons import Reason
from .context import Context


def unused_builds(context: Context, image: str, provider: str) -> frozenset[str]:
    """Return the ids of the builds of which nothing is launched at a provider, although they are in its cloud."""
    now = context.now()
    verdicts = context.store.verdicts.of_image(image)
    return frozenset(build_id for build_id, verdict in verdicts.items() if not verdict.is_used(now, provider))


def newest_usable(context: Context, image: str, provider: str, denied: Container[str] = ()) -> Upload | None:
    """Return the upload that nodes are launched from; None if there is none.

    :param denied: ids in the cloud of images that nova does not have.
    """
    return context.store.images.newest_ready(image, provider, denied, unused_builds(context, image, provider))


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
