# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cycle waits for in the server list of one provider, and when it reads the list for that. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....launching.polling import UNKNOWN_BOOT, news_in, patient_due, trial_due, unclear_due, watch_due
from .experience import Experience


@dataclass(frozen=True)
class Watched:
    """The changes that the cycle waits for in the server list.

    *booting_since* and *deleting_since* are the UNIX times of creates and deletes, *unclear* is the number of creates
    with an unclear result. *patient_since*: creates of servers that only a gate waits for. *tried_since*: creates of
    booting servers that may fail at once, for want of what was lately used up.
    """

    booting_since: Sequence[float] = ()
    deleting_since: Sequence[float] = ()
    patient_since: Sequence[float] = ()
    tried_since: Sequence[float] = ()
    unclear: int = 0
    hurry: bool = False
    """True while a request for room, or the next attempt of a launch, waits for the end of a server."""
    full: bool = False
    """True while a request waits for room."""
    behind: int = 0
    """Number of launches whose create was not answered yet."""

    def due(self, now: float, age: float, experience: Experience) -> float:
        """Return the seconds until the list is read next, infinite if nothing is waited for.

        :param age: seconds since the last list.
        :param experience: how long boots and deletions take.
        """
        return min(
            watch_due(
                [now - since for since in self.booting_since],
                age,
                experience.boot_times,
                full=self.full,
                first=UNKNOWN_BOOT,
                behind=self.behind,
            ),
            patient_due([now - since for since in self.patient_since], age, experience.boot_times),
            watch_due(
                [now - since for since in self.deleting_since],
                age,
                experience.delete_times,
                hurry=self.hurry,
            ),
            trial_due([now - since for since in self.tried_since], age),
            unclear_due(age) if self.unclear else float("inf"),
        )

    def news_in(self, now: float, experience: Experience) -> float:
        """Return the seconds between two readings of a slow list; 0 while nothing is known."""
        booting = [now - since for since in self.booting_since]
        deleting = [now - since for since in self.deleting_since]
        pauses = [news_in(booting, experience.boot_times)] if booting else []
        pauses += [news_in(deleting, experience.delete_times, hurry=self.hurry)] if deleting else []
        return min(pauses, default=0.0)
