# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long the launcher waits for the answer to a create, and how many creates it sends in parallel.

nova answers POST /servers after it has checked quota, image and networks and has stored the server. On a busy control
plane that takes minutes, and nova finishes the work even when the client does not wait any more. So the launcher waits
for many times the longest recent answer; a launcher that sends a create again too early makes two servers.

Answers that get slower while many creates are in parallel show that these are too many. The usual time is the median
of recent answers when the cloud was quickest. It rises slowly, so that a delay that the launcher itself causes does not
become usual. A cloud that was never quick answers slowly even when few creates are under way: there the launcher sends
more creates while it waits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ..model.api_timeouts import MOST_CREATES

SAMPLES = 50
MANY_TIMES = 10.0
"""A create may take this many times the longest recent answer: answers have a long tail."""
MARGIN = 1.25
"""The server of an unanswered create may need this many times the longest recent answer until it is listed."""
MOST_DOUBLINGS = 6

RECENT = 16
"""Number of answers whose median is the present time: single answers vary by a factor of ten on a busy cloud."""
FEW = 5
"""Number of answers below which there is no usual time."""
RISE = 1.005
RISE_ALONE = 1.1
"""Factor by which the usual time rises when few servers are in flight: then the launcher does not cause the delay."""
ALONE = 8
"""Number of servers in flight up to which they count as few."""
QUICK = 3.0
"""Seconds within which an answer never counts as slow."""
STRAINED = 3.0
"""The number in parallel stops growing when answers take more than this many times the usual time."""
SLOW = 5.0
"""The number in parallel is lowered when answers take more than this many times the usual time."""
FEWEST = 4
FEWER = 0.8
"""Factor on the number in parallel with each slow answer."""
PATIENT = 3.0
"""Seconds without an answer after which more creates are sent to a cloud that was never quick."""
OPENS_IN = 2.0
"""Seconds in which the number that is sent then doubles."""


@dataclass
class Answers:
    """The answers to a provider's creates. Times in seconds.

    :param floor: the launcher waits at least this long for a create,
    :param first: this long before any answer is known,
    :param most: and never longer than this.
    """

    floor: float
    first: float
    most: float
    samples: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    given_up: int = 0
    """Unanswered creates since the last answer; those that were under way together count once."""
    usual: float = 0.0
    """Seconds that an answer takes when the cloud is not overloaded; 0 while too little is known."""
    at_once: float = MOST_CREATES
    """How many creates may be unanswered at the same time."""
    _given_up_at: float = 0.0

    def add(self, seconds: float, unanswered: int, in_flight: int) -> None:
        """Record that a create was answered, or its server found, *seconds* after it was sent.

        :param unanswered: how many creates were unanswered just before, this one included.
        :param in_flight: how many servers were requested and not yet ACTIVE, the unanswered ones included: the larger
            of the numbers when the create was sent and now.
        """
        self.samples.append(round(max(0.0, seconds), 2))
        self.given_up = 0
        if len(self.samples) < FEW:
            return
        present = self.present
        rise = RISE_ALONE if in_flight <= ALONE else RISE
        self.usual = min(present, self.usual * rise) if self.usual else present
        if present > max(QUICK, SLOW * self.usual):
            self.at_once = max(FEWEST, FEWER * min(self.at_once, unanswered))
        elif present <= max(QUICK, STRAINED * self.usual):
            self.at_once = min(MOST_CREATES, self.at_once + 1)

    @property
    def present(self) -> float:
        """Seconds that answers take now; 0 while nothing is known."""
        return median(list(self.samples)[-RECENT:]) if self.samples else 0.0

    @property
    def strained(self) -> bool:
        """True while answers take much longer than usual."""
        return bool(self.usual) and self.present > max(QUICK, STRAINED * self.usual)

    @property
    def never_quick(self) -> bool:
        """True when the cloud has given no quick answer so far."""
        return not 0 < self.usual < QUICK and min(self.samples, default=QUICK) >= QUICK

    def opened(self, waited: float) -> float:
        """Return the factor on the number in parallel after *waited* seconds without an answer; 1 at most clouds."""
        if not self.never_quick or waited <= PATIENT:
            return 1.0
        return float(min(MOST_CREATES, 2.0 ** ((waited - PATIENT) / OPENS_IN)))

    def give_up(self, sent_at: float, now: float) -> None:
        """Record that a create sent at *sent_at* was not answered in time: the next ones get twice the time."""
        if sent_at >= self._given_up_at:
            self.given_up += 1
            self._given_up_at = now

    @property
    def longest(self) -> float:
        """The longest recent answer; 0 while nothing is known."""
        return max(self.samples, default=0.0)

    @property
    def patience(self) -> float:
        """How long the launcher waits for the next create."""
        if not self.samples:
            return self.first
        doubled = self.floor * 2.0 ** min(self.given_up, MOST_DOUBLINGS)
        return min(self.most, max(doubled, MANY_TIMES * self.longest))

    @property
    def settle(self) -> float:
        """How long after its answer was lost a create may still appear as a server, judged by recent answers."""
        return min(self.most, MARGIN * self.longest)

    def document(self) -> dict[str, Any]:
        """Return the document for the next cycle."""
        return {"seconds": list(self.samples), "usual": round(self.usual, 2), "at_once": self.at_once}

    def learn(self, document: Any) -> None:
        """Read what an earlier cycle has stored; values that cannot be understood are left out."""
        document = document if isinstance(document, dict) else {}
        stored = document.get("seconds")
        for seconds in stored[-SAMPLES:] if isinstance(stored, list) else ():
            if isinstance(seconds, (int, float)) and 0 <= seconds <= self.most:
                self.samples.append(float(seconds))
        usual, at_once = document.get("usual"), document.get("at_once")
        if isinstance(usual, (int, float)) and 0 <= usual <= self.most:
            self.usual = float(usual)
        if isinstance(at_once, (int, float)) and FEWEST <= at_once <= MOST_CREATES:
            self.at_once = float(at_once)
