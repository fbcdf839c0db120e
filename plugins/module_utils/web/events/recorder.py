# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records the last hours of a picture while the web service runs: a point each minute, and what changes."""

from __future__ import annotations

import logging
import math
from datetime import datetime
from typing import Any

from ...model.config.types import NodepoolConfig
from ...model.history import EVERY, Change
from ...reporting.sampling import Sampler
from ..picture import Picture, Snapshot
from .follower import Follower, Wanted
from .happenings import BUILD_LIVE, CHANGES, Limits, without_requests

_LOG = logging.getLogger(__name__)

LOOK_EVERY = 10.0
"""Seconds between two looks for changes."""


class Recorder:
    """Fills the history of a picture. Used by one thread.

    :param picture: its records are read from memory; ZooKeeper is not asked.
    """

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._sampler = Sampler()
        self._follower = Follower(Limits(), self._note, Wanted(types=CHANGES), find=without_requests)
        self._looked = self._added = -math.inf

    def step(self, monotonic: float) -> None:
        """Look for changes and add a point, if either is due. A fault is reported and ends nothing.

        :param monotonic: seconds that never go back.
        """
        look, add = monotonic - self._looked >= LOOK_EVERY, monotonic - self._added >= EVERY
        if not (look or add):
            return
        self._looked = monotonic
        try:
            snapshot = self._picture.snapshot()
            self._follower.look(snapshot)
            # Without ZooKeeper nothing is known of this minute: the curves have a gap.
            if add and snapshot.contact.connected:
                self._added = monotonic
                self._add(snapshot)
        except Exception:
            _LOG.exception("the history could not be continued")

    def configured(self, before: NodepoolConfig, config: NodepoolConfig) -> None:
        """Note that the configuration was read again."""
        self._follower.configured(before, config, self._picture.snapshot().now)

    def _add(self, snapshot: Snapshot) -> None:
        numbers = self._sampler.sample(snapshot.reading, snapshot.config, snapshot.now)
        self._picture.history.add(snapshot.now, numbers)

    def _note(self, event: dict[str, Any]) -> None:
        at = datetime.fromisoformat(event["at"]).timestamp()
        self._picture.history.note(_change(at, event))
        self._picture.changed("")


def _change(at: float, event: dict[str, Any]) -> Change:
    """Return an event as a change; that a build is live may be told of several providers together."""
    if event["type"] != BUILD_LIVE:
        return Change(at, event["type"], event["text"])
    provider = str(event["provider"])
    return Change(at, BUILD_LIVE, event["text"].removesuffix(f" at {provider}"), (provider,))
