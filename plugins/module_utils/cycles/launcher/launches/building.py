# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the launches tell of how many servers a cloud builds side by side: from the create to ACTIVE, or to its end."""

from __future__ import annotations

from collections.abc import Iterable

from ....launching.builds import Build
from ....launching.machine import Failure
from ....model.launch import Phase
from ..context.launch_in_progress import LaunchInProgress

ASKED_FOR = frozenset({Phase.CREATING, Phase.UNCLEAR, Phase.BOOTING})
"""A server may be on its way."""
FAILED_BUILD = frozenset({Failure.CAPACITY, Failure.FAULT, Failure.TIMEOUT})
"""It went to ERROR, or nothing came of it in time."""


def on_its_way(running: LaunchInProgress) -> bool:
    """True for a launch whose server was asked for and is not yet ACTIVE."""
    return running.launch.phase in ASKED_FOR


def asked_for(running: LaunchInProgress, more: int, now: float) -> None:
    """Its create is about to be sent, as the last of *more* that are sent in this pass."""
    running.build = Build(now, running.actor.creates.in_flight + more, running.flavor)


def built(running: LaunchInProgress, others: Iterable[LaunchInProgress], now: float) -> None:
    """Its server is ACTIVE. What an earlier cycle has asked for tells nothing: it is not known what was beside it.

    :param others: the launches of its provider.
    """
    build, running.build = running.build, None
    if build is not None:
        under_way = [other.build for other in others if other.build is not None and on_its_way(other)]
        running.actor.creates.builds.active(build, now, under_way)


def ended(running: LaunchInProgress, failure: Failure, now: float) -> None:
    """The attempt failed, before the launch has gone on."""
    build, running.build = running.build, None
    if build is not None and failure in FAILED_BUILD and running.launch.phase == Phase.BOOTING:
        running.actor.creates.builds.failed(build, now)
