# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks glance whether servers can be made of the uploads of diskimages, for check mode.

A launcher learns that from nova's answer to a create. Check mode creates nothing, and comes to the same decision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....launching.resolver import fallback_remark, upload_problem, uploads_problem
from ....model.cloud import Image
from ....model.config.types import Pool, PoolLabel
from ....model.image import Upload
from ..provider.actor import ProviderActor
from .context import Context
from .usable_builds import usable_uploads


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
    """Yield (pool, label, problem) for each label whose uploads are all there and not usable, as the check of a
    configuration does. An upload that is gone is made anew by itself."""
    for pool, label in _labels(actor):
        problem = uploads_problem(_seen(context, actor, label))
        if problem is not None and _next_upload(context, actor, label) is None:
            yield f"{actor.provider.name}/{pool.name}", label.name, f"diskimage {label.diskimage!r}: {problem}"


def fallbacks(context: Context) -> list[str]:
    """Return a sentence for each diskimage of which an older upload is used, because the newest is not usable."""
    found: dict[str, None] = {}
    for actor in context.actors.values():
        for _pool, label in _labels(actor):
            remark = fallback_remark(_seen(context, actor, label))
            if remark is not None:
                found[f"provider {actor.provider.name}: diskimage {label.diskimage!r}: {remark}"] = None
    return list(found)


def _seen(context: Context, actor: ProviderActor, label: PoolLabel) -> list[Image]:
    """Return the images of uploads about which glance was asked."""
    uploads = context.store.images.uploads(label.diskimage or "", actor.provider.name)
    facts = [fact for upload in uploads if (fact := actor.known.images.get(upload.external_id or "")) is not None]
    return [image for fact in facts for image in fact.value or ()]


def _labels(actor: ProviderActor) -> Iterator[tuple[Pool, PoolLabel]]:
    for pool in actor.provider.pools.values():
        for label in pool.labels.values() if pool.max_servers > 0 else ():
            if label.diskimage is not None and not label.is_canary:
                yield pool, label


def _next_upload(context: Context, actor: ProviderActor, label: PoolLabel) -> Upload | None:
    """Return the newest upload that is not known to be unusable."""
    denied = actor.known.denials.images.ids(context.now())
    return next(iter(usable_uploads(context, label.diskimage or "", actor.provider.name, denied)), None)
