# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers what else is seen at the time of a failure: who succeeds at the same provider, and who fails like it.

Failures are in the stored breakers. Successes are only remembered by the running cycle: without them a failure is
judged with fewer signs, so it waits longer, and nothing is blamed wrongly.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from ....launching.breaking import Breaker, Sign
from ....launching.classifier import Seen
from ....launching.known_answers import ALLOWED, SUCCESS, SUCCESS_THERE
from ..context.context import Context
from .breakers import print_of_label
from .gates import Gates
from .launch_in_progress import LaunchInProgress, pool_id_of

LASTING = 60.0
"""Seconds for which a trouble must last before it counts as more than a passing one."""
PERSISTENT = 600.0
"""Seconds after which a failure that nobody else shares is blamed on image and flavor all the same."""
MOST_SUCCESSES = 200
"""Successes that are remembered of each provider."""


@dataclass(frozen=True)
class _Success:
    at: float
    witness: str
    label: str
    kind: str
    """Image and flavor."""


class Signs:
    """The signs of a cycle."""

    def __init__(self, context: Context, gates: Gates) -> None:
        self._context = context
        self._breakers = gates.breakers
        self._freezes = gates.freezes
        self._successes: dict[str, deque[_Success]] = {}
        self._accepted: dict[str, dict[tuple[str, str, str], float]] = {}
        """Provider → place, tenant, image and flavor of creates that nova accepted → UNIX time of the latest."""

    def succeeded(self, ongoing: LaunchInProgress, now: float) -> None:
        """Note that a node became ready."""
        launch = ongoing.launch
        found = self._successes.setdefault(launch.provider, deque(maxlen=MOST_SUCCESSES))
        found.append(_Success(now, ongoing.witness, launch.label, _kind(ongoing)))

    def accepted(self, ongoing: LaunchInProgress, now: float) -> None:
        """Note that nova accepted a create: what it refuses of others at that time is not refused to everybody."""
        known = self._accepted.get(ongoing.launch.provider, {})
        recent = {key: at for key, at in known.items() if now - at < LASTING}
        key = (_place(ongoing), ongoing.tenant, _kind(ongoing))
        self._accepted[ongoing.launch.provider] = {**recent, key: now}

    def seen_by(self, ongoing: LaunchInProgress, now: float) -> Seen:
        """Return what is seen besides the failure of a launch, before that failure is counted."""
        launch, kind = ongoing.launch, _kind(ongoing)
        mine = launch.first_failed or (launch.asked_at if ongoing.broken else 0.0) or now
        pool_id = pool_id_of(self._context, ongoing)
        forbidden, *refused = (ongoing.shape.narrow_name(kind, launch.az) for kind in (ALLOWED, SUCCESS, SUCCESS_THERE))
        # An earlier launch may have been refused so: it was given back while creates like its own were frozen.
        failing = self._freezes.failing_since(pool_id, (forbidden, *refused))
        mine = min(mine, now if failing is None else failing)
        witness = ongoing.witness
        known = {
            key: item
            for key, item in self._breakers.known(launch.provider).items()
            if item.is_fresh(now) and not (item.spared and not item.concerns(_place(ongoing), ongoing.tenant))
        }
        images = {key: item for key, item in known.items() if not key.startswith("label ")}
        same = known.get(kind)
        since = min(mine, same.since) if same is not None else mine
        later = [
            item for item in self._successes.get(launch.provider, ()) if item.at >= since and item.witness != witness
        ]
        for_others = same is not None and any(item != witness for item in same.witnesses)
        return Seen(
            from_request=tuple(ongoing.label.dynamic_instance_properties),
            reread=ongoing.has_reread(now),
            label_succeeds=any(item.label == launch.label for item in later),
            others_succeed=any(item.kind != kind for item in later),
            same_for_others=for_others,
            one_tenant=bool(ongoing.tenant) and (same is None or same.tenant == ongoing.tenant),
            spared=same is not None and (same.spared or self._accepts_others(ongoing, same, now)),
            same_for_all=any(key != kind for key in images) and not self._refuses_one_tenant(ongoing, images, now),
            forbidden=forbidden in self._freezes.narrow(pool_id),
            elsewhere=self._fails_elsewhere(launch.provider, launch.label, now),
            lasting=now - since >= LASTING if for_others else now - mine >= LASTING,
            persistent=now - mine >= PERSISTENT,
        )

    def _recent(self, ongoing: LaunchInProgress, now: float) -> list[tuple[str, str, str]]:
        known = self._accepted.get(ongoing.launch.provider, {})
        return [key for key, at in known.items() if now - at < LASTING]

    def _accepts_others(self, ongoing: LaunchInProgress, same: Breaker, now: float) -> bool:
        """Return True if creates with its image and flavor are accepted that do not share what was refused."""
        kind = _kind(ongoing)
        return any(
            there == kind and not same.concerns(place, tenant) for place, tenant, there in self._recent(ongoing, now)
        )

    def _refuses_one_tenant(self, ongoing: LaunchInProgress, images: Mapping[str, Breaker], now: float) -> bool:
        """Return True if only creates of its tenant failed, while those of others are accepted."""
        mine = ongoing.tenant
        if not mine or any(item.tenant != mine for item in images.values()):
            return False
        return any(tenant != mine for _there, tenant, _what in self._recent(ongoing, now))

    def sign_of(self, ongoing: LaunchInProgress, text: str, whose: str, *, sent: bool) -> Sign:
        """Return the failure of a launch as a sign for the breakers."""
        return Sign(text, ongoing.witness, _place(ongoing), print_of_launch(ongoing), whose, sent, ongoing.tenant)

    def _fails_elsewhere(self, provider: str, label: str, now: float) -> bool:
        return any(
            item.is_fresh(now) and any(entry.split(" ")[0].endswith(f"/{label}") for entry in item.prints)
            for name in self._context.actors
            if name != provider
            for item in self._known_elsewhere(name)
        )

    def _known_elsewhere(self, provider: str) -> list[Breaker]:
        return list(self._breakers.known(provider).values())


def print_of_launch(ongoing: LaunchInProgress) -> str:
    """Return the fingerprint of the settings with which a launch was made."""
    launch, actor = ongoing.launch, ongoing.actor
    return print_of_label(ongoing.label, ongoing.pool, actor, ongoing.image, launch.cloud_image_id, launch.flavor_id)


def _place(ongoing: LaunchInProgress) -> str:
    return f"{ongoing.launch.pool}/{ongoing.launch.label}"


def _kind(ongoing: LaunchInProgress) -> str:
    return f"{ongoing.label.image_name}/{ongoing.flavor}"
