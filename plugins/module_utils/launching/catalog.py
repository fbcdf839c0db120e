# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare what a cloud offers with what labels need. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..model import reasons
from ..model.cloud import Flavor, Image, Network, SecurityGroup, ServerGroup
from ..model.config.types import ImageSettings, Pool, PoolLabel
from ..model.errors import CloudRefused
from ..model.lines import word_for
from ..model.offered import not_offered
from ..model.reasons import Reason
from ..model.resources import Limits, Resources
from .resolver import (
    choose_flavor,
    choose_image,
    fallback_remark,
    group_problems,
    is_arriving,
    resolve_networks,
    resolve_server_group,
    uploads_problem,
)


@dataclass(frozen=True)
class Catalog:
    """One reading of a cloud. None means unknown: no check uses that field.

    *images*: name or id → the images found, whatever their status. *uploads*: diskimage → the images that builders have
    uploaded for it. *bounds*: the project's quota.
    """

    flavors: Sequence[Flavor] | None = None
    networks: Sequence[Network] | None = None
    zones: Sequence[str] | None = None
    keypairs: Sequence[str] | None = None
    security_groups: Sequence[SecurityGroup] | None = None
    server_groups: Sequence[ServerGroup] | None = None
    images: Mapping[str, Sequence[Image]] = field(default_factory=dict)
    uploads: Mapping[str, Sequence[Image]] = field(default_factory=dict)
    image_names: Sequence[str] | None = None
    bounds: Limits | None = None


LISTS = {"GET /flavors/detail": "flavors", "GET /networks": "networks", "GET /security-groups": "security_groups"}
"""Kind of call → the field of :class:`Catalog` whose list the client reads item by item, without those that it cannot
read."""


def hidden(pool: Pool, label: PoolLabel, catalog: Catalog, remarks: Mapping[str, str]) -> dict[str, str]:
    """Return why it is not known whether the cloud has what the label needs: kind of call → what cannot be read of it.

    What is not found in a list may be one of its items that cannot be read. Empty if the label lacks something else, or
    nothing.

    :param remarks: kind of call → which items of its list are left out.
    """
    partial = [kind for kind in LISTS if remarks.get(kind)]
    found = misses(pool, label, catalog) if partial else []
    if not found or misses(pool, label, _without(catalog, partial)):
        return {}
    return {kind: remarks[kind] for kind in partial if misses(pool, label, _without(catalog, [kind])) != found}


def _without(catalog: Catalog, kinds: Iterable[str]) -> Catalog:
    unknown: dict[str, Any] = dict.fromkeys((LISTS[kind] for kind in kinds), None)
    return replace(catalog, **unknown)


def misses(pool: Pool, label: PoolLabel, catalog: Catalog) -> list[str]:
    """Return what the label needs and the cloud does not have once, each with a remedy; without image and quota."""
    return [
        *_flavor(label, catalog.flavors),
        *resolve_networks(pool, label, catalog.networks)[1],
        *_zones(pool, catalog.zones),
        *_keypair(label, catalog.keypairs),
        *group_problems(pool, catalog.security_groups),
        *resolve_server_group(label, catalog.server_groups)[1],
    ]


def image_misses(settings: ImageSettings, catalog: Catalog) -> Iterator[str]:
    """Yield a sentence for an image that is not one usable image of the cloud, unless it may become that by itself."""
    if settings.kind == "diskimage":
        problem = uploads_problem(catalog.uploads.get(settings.name, ()))
        if problem is not None:
            yield f"diskimage {settings.name!r}: {problem}"
        return
    wanted = settings.image_id or settings.image_name
    if wanted is None or wanted not in catalog.images or is_arriving(settings, catalog.images[wanted]):
        return
    try:
        found = choose_image(settings, catalog.images[wanted])
    except CloudRefused as error:
        yield str(error)
        return
    if found is not None:
        return
    if settings.image_id is not None:
        yield f"the cloud has no image with the id {wanted!r}: correct image-id of cloud-image {settings.name!r}"
    elif catalog.image_names is None:
        yield f"the cloud has no image named {wanted!r}: correct image-name of cloud-image {settings.name!r}"
    else:
        remedy = f"correct image-name of cloud-image {settings.name!r}"
        # The names were read at another time: they may still contain the image.
        yield not_offered("image", wanted, [name for name in catalog.image_names if name != wanted], remedy)


def image_remarks(settings: ImageSettings, catalog: Catalog) -> Iterator[str]:
    """Yield a sentence for a cloud-image that is not complete yet, or a diskimage whose newest image is not usable.

    Until then nodes wait, or boot from an older image.
    """
    if settings.kind == "diskimage":
        remark = fallback_remark(catalog.uploads.get(settings.name, ()))
        if remark is not None:
            yield f"diskimage {settings.name!r}: {remark}"
        return
    wanted = settings.image_id or settings.image_name or ""
    if is_arriving(settings, catalog.images.get(wanted, ())):
        try:
            choose_image(settings, catalog.images[wanted])
        except CloudRefused as error:
            yield str(error)


def too_large(need: Resources, pool: Pool, bounds: Limits | None, provider: str) -> Iterator[str]:
    """Yield a sentence for each resource of which one node needs more than its pool or the project may ever have."""
    limits = [(pool.limits, reasons.TOO_LARGE_FOR_POOL, f"{provider}/{pool.name}")]
    if bounds is not None and not pool.ignore_provider_quota:
        limits.append((bounds, reasons.TOO_LARGE_FOR_CLOUD, provider))
    for limit, code, where in limits:
        for resource, (needed, left) in limit.short_of(need).items():
            yield Reason(code, {"where": where, "resource": resource, "needed": needed, "left": left}).text()


def grouped(rows: Iterable[tuple[str, str, str]]) -> list[str]:
    """Return one sentence for each problem of a pool, with all labels that have it.

    :param rows: (where, label, problem).
    """
    labels: dict[tuple[str, str], list[str]] = {}
    for where, label, text in rows:
        labels.setdefault((where, text), []).append(label)
    return [
        f"{where} is not usable for {word_for(len(names), 'label')} {', '.join(names)}: {text}"
        for (where, text), names in labels.items()
    ]


def _flavor(label: PoolLabel, flavors: Sequence[Flavor] | None) -> Iterator[str]:
    try:
        if flavors is not None:
            choose_flavor(flavors, label.flavor_name, label.min_ram)
    except CloudRefused as error:
        yield str(error)


def _zones(pool: Pool, zones: Sequence[str] | None) -> Iterator[str]:
    """Yield sentences when the cloud has none of the pool's zones. One is enough: the others are not used."""
    if not zones or not pool.availability_zones or set(pool.availability_zones) & set(zones):
        return
    for name in pool.availability_zones:
        yield not_offered("availability zone", name, sorted(zones), "correct availability-zones of the pool")


def _keypair(label: PoolLabel, keypairs: Sequence[str] | None) -> Iterator[str]:
    if label.key_name is not None and keypairs is not None and label.key_name not in keypairs:
        yield not_offered("keypair", label.key_name, sorted(keypairs), "correct key-name of the label")


def unused_zones(pool: Pool, zones: Iterable[str] | None) -> list[str]:
    """Return the zones of the pool that the cloud does not have; none when it has no zone of the pool at all."""
    known = set(zones or pool.availability_zones)
    unknown = [name for name in pool.availability_zones if name not in known]
    return unknown if len(unknown) < len(pool.availability_zones) else []
