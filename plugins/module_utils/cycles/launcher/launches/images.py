# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launch boots from when nova does not know its image any more: the next newest upload, or the image of that
name as it is now."""

from __future__ import annotations

from ....launching import record
from ....model import reasons
from ....model.errors import CloudError
from ..context.context import Context
from ..context.launch_in_progress import LaunchInProgress
from ..context.offers import image_of
from ..provider.lost_images import denies_image


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
    image_id, upload, why = image_of(context, actor, running.image, running.label, "/".join(running.key), None)
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
