# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers which servers answer and which do not, to find whose fault it is that one does not.

Servers that answered or failed in this cycle are remembered; those of earlier cycles are known by the launch records of
their nodes, and their images by the provider's document. A sign that is missing only means that the next one decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ....launching.classifier import Verdict
from ....launching.reachability import Guest, look_around, whose_silence
from ....model.launch import Phase
from ....model.own_tree import LAUNCHES
from ..context.context import Context
from .launch_in_progress import LaunchesInProgress, LaunchInProgress
from .signs import PERSISTENT

MOST = 500
"""Servers that are remembered, of all providers together."""
LATELY = 600.0
"""Seconds for which a server in other networks that answered shows that servers answer there."""
EARLIER = 86400.0
"""Seconds for which a server that answered shows that its image is good."""
LONG_BEFORE = 7 * 86400.0
"""The same for an image of which nothing else is known any more: its id stays the same only while its content does."""
HALF = 0.5
"""A server that has been waited for this part of boot-timeout counts as silent so far."""


class Silence:
    """What is known of the servers that were waited for."""

    def __init__(self, context: Context, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._in_progress = in_progress
        self._answered: deque[tuple[float, Guest]] = deque(maxlen=MOST)
        self._silent: deque[tuple[float, str, Guest]] = deque(maxlen=MOST)

    def answered(self, ongoing: LaunchInProgress, now: float) -> None:
        """Note that the server of a launch answered."""
        guest = guest_of(ongoing)
        self._answered.append((now, guest))
        ongoing.actor.experience.image_answered(guest.image, now)

    def verdict(self, ongoing: LaunchInProgress, now: float) -> Verdict:
        """Return whose fault it is that the server of a launch does not answer, and note that it does not."""
        mine, since = guest_of(ongoing), ongoing.launch.guest_since or ongoing.launch.since
        server = ongoing.launch.server_id or ""
        silent = [guest for at, other, guest in self._silent if at >= since and other != server]
        silent += self._waiting(ongoing, now)
        known = [*self._answered, *self._stored(mine.provider, now)]
        earlier = [guest for at, guest in known if now - EARLIER <= at < since]
        at = ongoing.actor.experience.answered.get(mine.image)
        earlier += [mine] if at is not None and now - LONG_BEFORE <= at < since else []
        answered = [
            guest for at, guest in known if at >= since or (at >= now - LATELY and self._answers(mine, guest, at))
        ]
        self._silent.append((now, server, mine))
        persistent = now - (ongoing.launch.first_failed or now) >= PERSISTENT
        return whose_silence(look_around(mine, answered, silent, earlier, persistent=persistent))

    def _answers(self, mine: Guest, other: Guest, at: float) -> bool:
        """Return True for a server elsewhere that answered lately, if none of that place was silent since then."""
        return not other.is_near(mine) and not any(
            then > at and guest.is_near(other) for then, _server, guest in self._silent
        )

    def _waiting(self, besides: LaunchInProgress, now: float) -> Iterator[Guest]:
        """Yield the servers that have been waited for as long as usually one need not wait."""
        for ongoing in self._in_progress.values():
            if ongoing is besides or ongoing.launch.phase != Phase.REACHING or ongoing.launch.guest_since is None:
                continue
            if now - ongoing.launch.guest_since >= HALF * ongoing.boot_timeout:
                yield guest_of(ongoing)

    def _stored(self, provider: str, now: float) -> Iterator[tuple[float, Guest]]:
        """Yield the servers of a provider's nodes that answered to an earlier cycle, with the time."""
        pools = self._context.actors[provider].provider.pools
        for node_id in self._context.store.own.children(LAUNCHES):
            launch = self._context.launch(node_id)
            if launch is None or launch.phase != Phase.READY or launch.provider != provider:
                continue
            pool = pools.get(launch.pool)
            label = pool.labels.get(launch.label) if pool is not None else None
            if pool is None or label is None or not label.host_key_checking or now - launch.since > EARLIER:
                continue
            image = launch.cloud_image_id or label.image_name
            place = f"{launch.pool}/{launch.label}"
            yield launch.since, Guest(provider, image, label.networks or pool.networks, launch.az, place)


def guest_of(ongoing: LaunchInProgress) -> Guest:
    """Return what may decide whether the server of a launch answers."""
    launch = ongoing.launch
    image, place = launch.cloud_image_id or ongoing.label.image_name, f"{launch.pool}/{launch.label}"
    return Guest(launch.provider, image, ongoing.networks, launch.az, place)
