# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the launches from new builds whose guests are late, so that their requests need not wait for them."""

from __future__ import annotations

from collections import defaultdict

from ....launching.build_choice import Waiting
from ..context.context import Context
from ..context.usable_builds import falls_back, usable_uploads
from .launch_in_progress import GUEST, LaunchesInProgress, LaunchInProgress


class LateTrials:
    """The late launches of a cycle."""

    def __init__(self, context: Context, in_progress: LaunchesInProgress) -> None:
        self._context = context
        self._in_progress = in_progress
        self._due = float("inf")

    def find(self, now: float) -> list[LaunchInProgress]:
        """Return the launches for requests that are late now, and note when the next one will be."""
        self._due, found = float("inf"), []
        waiting: defaultdict[str, list[LaunchInProgress]] = defaultdict(list)
        for one in self._in_progress.values():
            if one.launch.phase in GUEST and one.launch.active_at is not None:
                waiting[one.launch.provider].append(one)
        for provider, launches in waiting.items():
            for image in dict.fromkeys(one.label.diskimage for one in launches if one.launch.request_id):
                if image is not None and falls_back(self._context, image):
                    found += self._late(provider, image, launches, now)
        return found

    def next_due(self, now: float) -> float:
        """Return the seconds until the next launch is late."""
        return self._due - now

    def _late(self, provider: str, image: str, launches: list[LaunchInProgress], now: float) -> list[LaunchInProgress]:
        uploads = usable_uploads(self._context, image, provider)
        if len(uploads) < 2:
            return []
        newest = uploads[0].build_id
        mine = [one for one in launches if one.build_id == newest]
        beside = [_waiting(one) for one in launches if one.build_id != newest]
        tried = [one for one in mine if one.launch.request_id and not one.label.is_canary]
        verdicts = self._context.store.verdicts.of_image(image)
        times = self._context.trials.late_at(uploads, verdicts, [_waiting(one) for one in tried], beside, now)
        pairs = [(one, at) for one, at in zip(tried, times, strict=True) if at is not None]
        self._due = min([self._due, *(at for _one, at in pairs if at > now)])
        return [one for one, at in pairs if at <= now]


def _waiting(ongoing: LaunchInProgress) -> Waiting:
    launch = ongoing.launch
    return Waiting(launch.asked_at, launch.active_at or launch.asked_at)
