# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a request leaves a provider that makes no progress with it. Pure.

A launch whose create has no answer, or that has a server, costs a server when it moves. A slow cloud finishes it; only
a dead one does not. A cloud is dead when nothing at all was answered for many times what it has lately needed, or when
it has answered with errors only for long. And what looks free now may be in trouble a moment later, so the target must
have been well for some time, and a request moves few times.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PATIENT = 3.0
"""A call is slow, not silent, up to this many times its usual time."""
SLOWER = 8.0
"""A create may take this many times the time of the slowest other call."""
WELL = 60.0
"""Seconds for which a provider that was in trouble must have been well before requests move there."""
MOST_MOVES = 2
"""Largest number of moves of one request that throw servers away; after that it waits where it is."""
WITHIN = 600.0
"""Seconds after which a move of a request does not count any more."""
MOST_A_MINUTE = 30
"""Largest number of requests that leave one provider in a minute."""


@dataclass(frozen=True)
class Standing:
    """What is known of a provider's API.

    :ivar trouble: seconds since its trouble began; 0 when it is well.
    :ivar answered: True if the trouble is what the API answers, not that it does not answer.
    :ivar quiet: seconds since it answered anything.
    :ivar usual: the seconds of its slowest kind of call, usually or lately; 0 while unknown.
    :ivar unheard: True if a cheap call has had no answer either, or none is made any more.
    """

    trouble: float
    answered: bool
    quiet: float
    usual: float
    unheard: bool = True


def is_dead(standing: Standing, bound: float) -> bool:
    """Return True for a provider that does not finish its launches in useful time.

    :param bound: seconds of trouble that are tolerated at a provider that is usually quick.
    """
    if standing.trouble < bound:
        return False
    silent = standing.unheard and standing.quiet >= max(bound, PATIENT * standing.usual)
    return standing.answered or silent


def may_move(moves: Sequence[float], now: float) -> bool:
    """Return True if a request may move once more. *moves*: UNIX times of its moves that threw servers away."""
    return sum(now - WITHIN < at <= now for at in moves) < MOST_MOVES


class Departures:
    """The requests that left one provider lately: no more than MOST_A_MINUTE do in a minute.

    :param earlier: UNIX times at which requests left it in earlier cycles.
    """

    def __init__(self, earlier: Iterable[float] = ()) -> None:
        self._times: deque[float] = deque(sorted(earlier), maxlen=MOST_A_MINUTE)

    def allow(self, now: float) -> bool:
        """Return True, and count one more, if a request may leave now."""
        if len(self._times) == MOST_A_MINUTE and 0 <= now - self._times[0] < 60.0:
            return False
        self._times.append(now)
        return True
