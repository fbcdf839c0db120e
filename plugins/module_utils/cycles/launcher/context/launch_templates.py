# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that a label takes in a pool and the image that it boots from, as far as they are known."""

from __future__ import annotations

import math
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....launching.catalog import image_misses
from ....launching.event_builds import NO_PIN
from ....launching.narrow import shape_of
from ....launching.resolver import choose_flavor, choose_image, is_arriving, resources_of, upload_problem
from ....launching.snapshot import LabelOffer
from ....model import reasons
from ....model.cloud import Flavor, Image
from ....model.config.launch_settings import CANDIDATE, PREVIOUS
from ....model.config.types import (
    ImageSettings,
    Pool,
    PoolLabel,
)
from ....model.errors import CloudRefused
from ....model.gate import build_wanted
from ....model.image import Upload, UploadState
from ....model.reasons import Reason
from ....model.request import NodeRequest
from ..provider.actor import ProviderActor
from ..provider.facts import Fact
from ..provider.usable import MISS_AGE, SOON, ask_for_names, catalog_of, missing, unsure
from .context import Context
from .usable_builds import chosen_upload, usable_uploads


@dataclass(frozen=True)
class LaunchTemplate:
    """All facts for launching a label: the offer for the plan and, if it can be launched, the flavor and the image."""

    offer: LabelOffer
    settings: ImageSettings
    flavor: Flavor | None = None
    cloud_image_id: str | None = None
    upload: Upload | None = None

    @property
    def complete(self) -> bool:
        """True when the label can be launched now."""
        return self.offer.never is None and self.offer.not_now is None


class Usual(NamedTuple):
    """A complete template of a label, and what it was made of besides the label's look and the upload in it.

    *fact*, *images*: the images of the cloud; None for a diskimage.
    """

    settings: ImageSettings
    fact: Fact[list[Image]] | None
    images: list[Image] | None
    template: LaunchTemplate


def ask_about(
    context: Context, actor: ProviderActor, pool: Pool, label: PoolLabel, now: float, max_age: float | None
) -> list[str] | None:
    """Ask the cloud for the facts of :func:`label_template` that are unknown or older than *max_age* seconds.

    :return: what the cloud lacks of the label, see :func:`.missing`.
    """
    known = actor.known
    if known.flavors.want(now, max_age) is None:
        return None
    look = known.look(pool, label)
    ask_for_names(actor, look, now, max_age)
    lacks = missing(actor, look, now, max_age)
    if lacks is not None and not label.is_canary:
        ask_for_image(context, actor, context.image_settings(actor.provider, label), now, max_age)
    return lacks


def ask_for_image(
    context: Context, actor: ProviderActor, settings: ImageSettings, now: float, max_age: float | None
) -> None:
    """Ask the cloud for the facts of :func:`image_of` that are unknown or older than *max_age* seconds."""
    if settings.kind == "diskimage":
        lost = actor.known.denials.images
        upload = next(iter(usable_uploads(context, settings.name, actor.provider.name)), None)
        if upload is not None and lost.denied_at(upload.external_id, now) is not None:
            # Whether it is gone or only deactivated is for the message.
            actor.known.image(upload.external_id or "").want(now, max_age)
        return
    fact = actor.known.image(settings.image_id or settings.image_name or settings.name)
    fact.want(now, max_age)
    found, wrong = _chosen(actor, settings, fact)
    denied = None if found is None else actor.known.denials.images.denied_at(settings.image_id or found.id, now)
    if denied is not None and fact.age(now) > now - denied:
        # nova answered that the image does not exist: ask glance again before either answer is used.
        fact.want(now, now - denied)
    elif wrong is not None:
        # Somebody may reactivate the image, or delete one of two.
        fact.want(now, MISS_AGE)
    elif found is None and fact.answered_at is not None:
        if max_age != math.inf:
            fact.want(now, MISS_AGE)
        if settings.image_id is None:
            actor.known.image_names.want(now, max_age)
        if settings.image_id is None and _seen_since(actor, settings, fact):
            fact.want(now, 0.0)


def label_template(
    context: Context,
    actor: ProviderActor,
    pool: Pool,
    label: PoolLabel,
    lacks: list[str] | None,
    now: float,
    request: NodeRequest | None = None,
) -> LaunchTemplate:
    """Return the resources and the image of the label, as far as they are known; make no call.

    :param lacks: what the cloud lacks of the label, see :func:`.missing`.
    :param request: the request for which nodes are launched now.
    """
    settings = context.image_settings(actor.provider, label)
    where = f"{actor.provider.name}/{pool.name}"
    if lacks is None:
        return LaunchTemplate(LabelOffer(not_now=_unread(actor, where, actor.known.flavors)), settings)
    away = _away(actor, pool, label, where)
    if away is not None:
        return LaunchTemplate(LabelOffer(not_now=away), settings)
    doubt = unsure(actor, pool, label, now)
    if doubt is not None:
        return LaunchTemplate(LabelOffer(not_now=doubt), settings)
    if lacks:
        return LaunchTemplate(_lacking(context, actor, settings, label, where, lacks, now), settings)
    flavor, offer = _launchable(actor, pool, label)
    image_id, upload, why = image_of(context, actor, settings, label, where, now, request)
    if why is None:
        return LaunchTemplate(offer, settings, flavor, image_id, upload)
    permanent = why.code in reasons.WITHOUT_IMAGE
    lacking = LabelOffer(offer.resources, never=why if permanent else None, not_now=None if permanent else why)
    return LaunchTemplate(lacking, settings, flavor)


def keep_usual(actor: ProviderActor, pool: Pool, label: PoolLabel, template: LaunchTemplate) -> None:
    """Keep a template for :func:`usual_template`, if it depends on nothing but what that looks at."""
    settings, look = template.settings, actor.known.look(pool, label)
    if not template.complete or label.is_canary or any(fact.answered_at is None for fact in look.awaited):
        return
    fact = None
    if settings.kind != "diskimage":
        fact = actor.known.image(settings.image_id or settings.image_name or settings.name)
    look.usual = Usual(settings, fact, fact.value if fact is not None else None, template)


def usual_template(
    context: Context, actor: ProviderActor, pool: Pool, label: PoolLabel, now: float, max_age: float | None
) -> LaunchTemplate | None:
    """Return what :func:`ask_about` and :func:`label_template` would, if it is what they returned last; else None.

    It asks the cloud for the same facts as :func:`ask_about`. To be called only while nothing about the provider is
    odd, see :meth:`.ProviderActor.is_usual`: then the template changes only with what it was made of.
    """
    known = actor.known
    known.flavors.want(now, max_age)
    look = known.look(pool, label)
    usual: Usual | None = look.usual
    if usual is None or usual.settings is not context.image_settings(actor.provider, label):
        return None
    if usual.fact is not None:
        if usual.images is not usual.fact.value:
            return None
        usual.fact.want(now, max_age)
    # Nothing is denied now: see is_usual.
    elif _upload_for(context, label, usual.settings.name, actor.provider.name) is not usual.template.upload:
        return None
    for fact in look.named:
        fact.want(now, max_age)
    return usual.template


def _launchable(actor: ProviderActor, pool: Pool, label: PoolLabel) -> tuple[Flavor, LabelOffer]:
    """Return the flavor of a label that can be launched, and its offer."""
    look = actor.known.look(pool, label)

    def make() -> tuple[Flavor, LabelOffer]:
        flavor = choose_flavor(actor.known.flavors.value or (), label.flavor_name, label.min_ram)
        need = resources_of(pool, label, flavor, floats=look.floats)
        return flavor, LabelOffer(need, shape=shape_of(flavor.name, label, label.networks or pool.networks))

    return look.once("offer", make)


def _lacking(
    context: Context,
    actor: ProviderActor,
    settings: ImageSettings,
    label: PoolLabel,
    where: str,
    lacks: list[str],
    now: float,
) -> LabelOffer:
    """Return the offer of a label that cannot be launched. If the cloud answers soon, it also names a wrong image."""
    if settings.kind == "cloud-image":
        _image, _upload, why = image_of(context, actor, settings, label, where, now)
        if why is not None and why.code == reasons.LABEL_BROKEN:
            lacks = [*lacks, str(why.figures["text"])]
        elif why is not None and any(fact.waited(now) < SOON for fact in actor.known.images.values()):
            return LabelOffer(not_now=_unread(actor, where))
    return LabelOffer(never=_broken(where, label, lacks))


def image_of(
    context: Context,
    actor: ProviderActor,
    settings: ImageSettings,
    label: PoolLabel,
    where: str,
    now: float,
    request: NodeRequest | None = None,
    node_id: str = "",
) -> tuple[str | None, Upload | None, Reason | None]:
    """Return (id in the cloud, upload record, why there is no image).

    :param node_id: the node that is made anew.
    """
    figures = {"where": where, "label": label.name, "image": settings.name}
    lost = actor.known.denials.images
    if label.is_canary:
        upload = _under_test(context, settings.name, actor.provider.name)
        lack = Reason(reasons.NO_IMAGE, figures) if upload is None else None
        return (upload.external_id if upload is not None else None), upload, lack
    if settings.kind == "diskimage":
        images = context.store.images
        upload = _upload_for(context, label, settings.name, actor.provider.name, lost.ids(now), request, node_id)
        if upload is not None and upload.external_id:
            return upload.external_id, upload, None
        if label.channel == PREVIOUS:
            return None, None, Reason(reasons.NO_IMAGE, figures)
        upload = next(iter(usable_uploads(context, settings.name, actor.provider.name)), None)
        if upload is not None:
            seen = actor.known.images.get(upload.external_id or "")
            if seen is None or (seen.answered_at is None and seen.waited(now) < SOON):
                # glance is asked what became of it.
                return None, None, _unread(actor, where)
            image = next(iter(seen.value or ()), None) if seen is not None else None
            place = f"the cloud of {where}"
            # nova denies it: glance may not know that yet.
            fate = upload_problem(image, place) or upload_problem(None, place)
            return None, None, Reason(reasons.IMAGE_GONE, {**figures, "build": upload.build_id, "fate": fate})
        if images.is_building(settings.name):
            return None, None, Reason(reasons.IMAGE_BUILDING, figures)
        return None, None, _unused(context, actor.provider.name, figures) or Reason(reasons.NO_IMAGE, figures)
    fact = actor.known.image(settings.image_id or settings.image_name or settings.name)
    found, wrong = _chosen(actor, settings, fact)
    denied = None if found is None else lost.denied_at(settings.image_id or found.id, now)
    if denied is not None and fact.age(now) > now - denied:
        return None, None, _unread(actor, where)
    if found is not None:
        return settings.image_id or found.id, None, None
    if wrong is not None and is_arriving(settings, fact.value or ()):
        return None, None, Reason(reasons.IMAGE_BUILDING, figures)
    if wrong is not None:
        return None, None, _unread(actor, where) if fact.age(now) > MISS_AGE else _broken(where, label, [str(wrong)])
    if isinstance(fact.error, CloudRefused) and fact.error.status is None:
        return None, None, _broken(where, label, [str(fact.error)])
    if fact.answered_at is None or fact.error is not None:
        # An id need not be resolved. glance is only asked whether the image exists.
        sure = settings.image_id is not None and fact.error is not None
        return (settings.image_id, None, None) if sure else (None, None, _unread(actor, where, fact))
    if settings.image_id is None and (actor.known.image_names.waited(now) < SOON or _seen_since(actor, settings, fact)):
        return None, None, _unread(actor, where)
    if fact.busy and fact.age(now) > MISS_AGE:
        # No request is declined because of an older reading.
        return None, None, _unread(actor, where)
    return None, None, _broken(where, label, list(image_misses(settings, catalog_of(actor))))


def _unused(context: Context, provider: str, figures: dict[str, str]) -> Reason | None:
    """Return the decision for which the newest build at a provider is not used; None if there is no build."""
    upload = context.store.images.newest_ready(figures["image"], provider)
    if upload is None:
        return None
    text = context.store.verdicts.of_build(upload.image, upload.build_id).text(context.now(), provider)
    return Reason(reasons.BUILD_UNUSED, {**figures, "build": upload.build_id, "text": text})


def _upload_for(
    context: Context,
    label: PoolLabel,
    image: str,
    provider: str,
    denied: Container[str] = (),
    request: NodeRequest | None = None,
    node_id: str = "",
) -> Upload | None:
    """Return the upload from which nodes of a label are made, by its channel; None if there is none."""
    wanted = build_wanted(request)
    for upload in usable_uploads(context, image, provider, denied) if wanted else ():
        if upload.build_id == wanted:
            return upload
    if label.channel == PREVIOUS:
        usable = usable_uploads(context, image, provider, denied)
        return next((upload for upload in usable if upload.build_id != usable[0].build_id), None)
    candidate = _under_test(context, image, provider) if label.channel == CANDIDATE else None
    pin = context.events.pin(request, image, node_id) if request is not None and not label.channel else NO_PIN
    return candidate or chosen_upload(context, image, provider, denied, request, pin)


def _under_test(context: Context, image: str, provider: str) -> Upload | None:
    """Return the upload that the gate of an image tests at a provider; None if it tests none."""
    gate = context.store.gates.get(provider, image)
    if gate is None or gate.outcome:
        return None
    uploads = context.store.images.uploads(image, provider)
    return next((each for each in uploads if gate.is_of(each) and each.state == UploadState.UPLOADING), None)


def _chosen(
    actor: ProviderActor, settings: ImageSettings, fact: Fact[list[Image]]
) -> tuple[Image | None, CloudRefused | None]:
    """Return (the usable image, why there is none although the cloud has the name)."""

    def choose() -> tuple[Image | None, CloudRefused | None]:
        try:
            return choose_image(settings, fact.value or ()), None
        except CloudRefused as error:
            return None, error.with_traceback(None)

    return actor.known.kept.once(settings.name, (settings, fact.value), choose)


def _seen_since(actor: ProviderActor, settings: ImageSettings, fact: Fact[list[Image]]) -> bool:
    """Return True if a later list has the name of an image that was not found: the image was replaced."""
    names = actor.known.image_names
    listed = (settings.image_name or settings.name) in (names.value or ())
    return listed and names.asked_at is not None and fact.asked_at is not None and names.asked_at > fact.asked_at


def _broken(where: str, label: PoolLabel, lacks: list[str]) -> Reason:
    return Reason(reasons.LABEL_BROKEN, {"where": where, "label": label.name, "text": "; ".join(lacks)})


def _away(actor: ProviderActor, pool: Pool, label: PoolLabel, where: str) -> Reason | None:
    """Return why a service, or the networks, that the label needs cannot be used; None if they can."""
    networks = actor.known.networks
    if networks.value is None and networks.failures and (label.networks or pool.networks):
        return _unread(actor, where, networks)
    if not actor.health.some_away:
        return None
    return next(
        (why for name in sorted(actor.known.needed_services(pool, label)) if (why := actor.health.away(name))), None
    )


def _unread(actor: ProviderActor, where: str, fact: Fact[Any] | None = None) -> Reason:
    lack = None if fact is None else actor.lack_of(fact)
    return actor.blocked or lack or Reason(reasons.FACTS_UNREAD, {"where": where})
