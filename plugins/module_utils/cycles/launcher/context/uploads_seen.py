# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks glance whether servers can be made of the uploads of diskimages, for check mode.

A launcher learns that from nova's answer to a create. Check mode creates nothing, and comes to the same decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....launching.resolver import upload_problem
from ....model import reasons
from ....model.config.types import Pool, PoolLabel
from ....model.image import Upload
from ..provider.actor import ProviderActor
from .context import Context
from .offers import label_template


def deny_unusable(context: Context) -> None:
    """Ask glance about the upload that each diskimage label would boot from; one that is not usable counts as denied.

    The next newest is asked about in the next call.
    """
    now = context.now()
    for actor in context.actors.values():
        for _pool, label in _labels(actor):
            upload = _next_upload(context, actor, label)
            if upload is None or upload.external_id is None:
                continue
            fact = actor.known.image(upload.external_id)
            found = fact.want(now, math.inf)
            if found is not None and upload_problem(next(iter(found), None)) is not None:
                actor.known.denials.images.deny(upload.external_id, now)


def inactive_uploads(context: Context, actor: ProviderActor) -> Iterator[tuple[str, str, str]]:
    """Yield (pool, label, problem) for each label that cannot be launched because its uploads are there, and not
    usable. One that is gone is uploaded anew by itself."""
    for pool, label in _labels(actor):
        why = label_template(context, actor, pool, label, math.inf).offer.not_now
        if why is None or why.code != reasons.IMAGE_GONE:
            continue
        upload = context.store.images.newest_ready(label.diskimage or "", actor.provider.name)
        seen = actor.known.images.get(upload.external_id or "") if upload is not None else None
        if seen is not None and seen.value:
            yield f"{actor.provider.name}/{pool.name}", label.name, why.text()


def _labels(actor: ProviderActor) -> Iterator[tuple[Pool, PoolLabel]]:
    for pool in actor.provider.pools.values():
        for label in pool.labels.values() if pool.max_servers > 0 else ():
            if label.diskimage is not None:
                yield pool, label


def _next_upload(context: Context, actor: ProviderActor, label: PoolLabel) -> Upload | None:
    """Return the newest upload that is not known to be unusable."""
    denied = actor.known.denials.images.ids(context.now())
    return context.store.images.newest_ready(label.diskimage or "", actor.provider.name, denied)
