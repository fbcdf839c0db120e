# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a cloud answers creates: for how long one is waited for, and how many are sent side by side.

nova answers POST /servers when it has looked at quota, image and networks and has stored the server. On a busy control
plane that takes minutes, and the work is done whether a client still waits or not. So a create is waited for as long as
creates of this cloud have lately needed, many times over; a launcher that sends it again too early makes two servers.

Answers that get slower while there are many at once tell that there are too many. What is usual is the median of the
quickest time lately; it rises slowly, so that slowness which the launcher itself has caused does not become usual. A
cloud that never was quick is another matter: its answers take their time however few are under way. There the window
opens while the launcher waits.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from ..model.api_timeouts import MOST_CREATES

SAMPLES = 50
MANY_TIMES = 10.0
"""A create may take so many times the longest of late: answers have a long tail."""
MARGIN = 1.25
"""What was asked for without being answered may take so many times the longest of late to be seen."""
MOST_DOUBLINGS = 6

RECENT = 16
"""Of so many answers the median is what they take now: single ones vary by a factor of ten on a busy cloud."""
FEW = 5
"""With fewer nothing is usual yet."""
RISE = 1.005
RISE_ALONE = 1.1
"""When hardly any server is on its way and the answers are slow all the same, it is not for our sake."""
ALONE = 8
"""So few are hardly any."""
QUICK = 3.0
"""Nothing that is answered within so many seconds is slow."""
STRAINED = 3.0
"""Answers that take more than so many times what is usual hold the number."""
SLOW = 5.0
"""And more than this lower it."""
FEWEST = 4
FEWER = 0.8
"""By so much with each slow answer."""
PATIENT = 3.0
"""After so many seconds without an answer from a cloud that never was quick more are sent …"""
OPENS_IN = 2.0
"""… twice as many after each of these."""


@dataclass
class Answers:
    """The answers to a provider's creates. Times in seconds.

    :param floor: a create is waited for at least so long.
    :param first: for so long while nothing is known.
    :param most: and never for longer.
    """

    floor: float
    first: float
    most: float
    samples: deque[float] = field(default_factory=lambda: deque(maxlen=SAMPLES))
    given_up: int = 0
    """Creates without an answer since the last answer; those that were under way together count once."""
    usual: float = 0.0
    """What an answer takes when the cloud is well; 0 while too little is known."""
    at_once: float = MOST_CREATES
    """So many may be without an answer at the same time."""
    _given_up_at: float = 0.0

    def add(self, seconds: float, unanswered: int, in_flight: int) -> None:
        """A create was answered, or its server found, so long after it was sent.

        :param unanswered: how many were without an answer just now, this one included.
        :param in_flight: how many servers were asked for and not yet ACTIVE, those included; the most of when it was
            sent and of now.
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
        """What answers take now; 0 while nothing is known."""
        return median(list(self.samples)[-RECENT:]) if self.samples else 0.0

    @property
    def strained(self) -> bool:
        """True while answers take much longer than is usual."""
        return bool(self.usual) and self.present > max(QUICK, STRAINED * self.usual)

    @property
    def never_quick(self) -> bool:
        """True for a cloud of which no quick answer is known."""
        return not 0 < self.usual < QUICK and min(self.samples, default=QUICK) >= QUICK

    def opened(self, waited: float) -> float:
        """By how many times the window is wider because an answer has been waited for so long; 1 at most clouds."""
        if not self.never_quick or waited <= PATIENT:
            return 1.0
        return float(min(MOST_CREATES, 2.0 ** ((waited - PATIENT) / OPENS_IN)))

    def give_up(self, sent_at: float, now: float) -> None:
        """A create that was sent at *sent_at* was not answered in its time: the next ones get twice as long."""
        if sent_at >= self._given_up_at:
            self.given_up += 1
            self._given_up_at = now

    @property
    def longest(self) -> float:
        """The longest of late; 0 while nothing is known."""
        return max(self.samples, default=0.0)

    @property
    def patience(self) -> float:
        """For how long the next create is waited for."""
        if not self.samples:
            return self.first
        doubled = self.floor * 2.0 ** min(self.given_up, MOST_DOUBLINGS)
        return min(self.most, max(doubled, MANY_TIMES * self.longest))

    @property
    def settle(self) -> float:
        """How long after its answer was lost a create may still turn up as a server, as far as lately seen."""
        return min(self.most, MARGIN * self.longest)

    def document(self) -> dict[str, Any]:
        """What the next cycle wants to know."""
        return {"seconds": list(self.samples), "usual": round(self.usual, 2), "at_once": self.at_once}

    def learn(self, document: Any) -> None:
        """What an earlier cycle has stored; what makes no sense is left out."""
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
