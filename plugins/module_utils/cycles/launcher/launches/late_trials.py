# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the launches from new builds that are late or may be, so that their requests need not wait for them."""

from __future__ import annotations

from collections import defaultdict

from ....launching.build_choice import Waiting
from ....model.launch import Phase
from ..context.context import Context
from ..context.usable_builds import falls_back, usable_uploads
from .launch_in_progress import GUEST, LaunchesInProgress, LaunchInProgress

SENT = GUEST | {Phase.BOOTING, Phase.ADDRESSING}
"""The phases in which there is a server."""


class LateTrials:
    """The late launches of a cycle."""

    def __init__(self, context: Context, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._in_progress = in_progress
        self._due = float("inf")

    def find(self, now: float) -> dict[LaunchInProgress, bool]:
        """Return the launches whose requests get other nodes now, and note when the next one will be.

        :return: launch → True if it is late; False if nodes of the build before are launched beside it in time.
        """
        self._due = float("inf")
        found: dict[LaunchInProgress, bool] = {}
        waiting: defaultdict[str, list[LaunchInProgress]] = defaultdict(list)
        for one in self._in_progress.values():
            if one.launch.phase in SENT and one.launch.asked_at:
                waiting[one.launch.provider].append(one)
        for provider, launches in waiting.items():
            for image in dict.fromkeys(one.label.diskimage for one in launches if one.launch.request_id):
                if image is not None and falls_back(self._context, image):
                    found |= self._found(provider, image, launches, now)
        return found

    def next_due(self, now: float) -> float:
        """Return the seconds until the next launch is late."""
        return self._due - now

    def _found(
        self, provider: str, image: str, launches: list[LaunchInProgress], now: float
    ) -> dict[LaunchInProgress, bool]:
        uploads = usable_uploads(self._context, image, provider)
        if len(uploads) < 2:
            return {}
        newest = uploads[0].build_id
        mine = [one for one in launches if one.build_id == newest]
        beside = [_waiting(one) for one in launches if one.build_id != newest and one.launch.phase in GUEST]
        tried = [one for one in mine if one.launch.request_id and not one.label.is_canary]
        verdicts = self._context.store.verdicts.of_image(image)
        times = self._context.trials.others_at(uploads, verdicts, [_waiting(one) for one in tried], beside, now)
        known = [at for pair in times for at in pair if at is not None]
        self._due = min([self._due, *(at for at in known if at > now)])
        return {
            one: late is not None and late <= now
            for one, (late, beside_it) in zip(tried, times, strict=True)
            if any(at is not None and at <= now for at in (late, beside_it))
        }


def _waiting(ongoing: LaunchInProgress) -> Waiting:
    launch = ongoing.launch
    return Waiting(launch.asked_at, launch.active_at or 0.0)
