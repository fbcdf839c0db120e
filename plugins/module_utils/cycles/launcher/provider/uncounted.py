# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates that nova has accepted but may not count yet: it counts a server after its conductor has written it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile
from math import inf

from ....model.resources import Resources, total

WRITTEN_AFTER, WRITTEN_SHARE = 1.0, 2.0
"""Seconds, and multiple of the time that nova takes to answer a create, after which nova counts an accepted server; the
longer of both applies."""
WRITTEN_MOST = 60.0
"""Seconds after which nova counts an accepted server in any case."""


class Uncounted:
    """The creates of one provider. Times are UNIX seconds."""

    def __init__(self) -> None:
        self._accepted: deque[_Accepted] = deque()
        self._seen_at = -inf
        self._seen: dict[str, float] = {}
        """The resources, of creates sent before the latest reading, that nova may not have counted in it."""

    def accepted(self, size: Resources, sent_at: float, now: float) -> None:
        """Note that nova accepted a create, sent at *sent_at*, for a server of *size*."""
        self._accepted.append(_Accepted(now, sent_at, size))
        while self._accepted[0].at <= now - WRITTEN_MOST:
            self._accepted.popleft()

    def at_most(self, now: float, answers: float) -> Resources:
        """Return the largest amounts that nova may not count yet.

        :param answers: seconds that nova takes to answer a create; its conductor is about as busy as its API.
        """
        written_by = now - min(WRITTEN_MOST, max(WRITTEN_AFTER, WRITTEN_SHARE * answers))
        recent = total(create.size for create in self._after(written_by))
        since = total(create.size for create in self._after(written_by) if create.sent_at > self._seen_at)
        return Resources(
            {name: min(amount, self._seen.get(name, inf) + since[name]) for name, amount in recent.items()}
        )

    def seen(self, missing: Resources, unanswered: Resources, names: Collection[str], asked_at: float) -> None:
        """Note a reading of the limits during which no create was sent.

        :param missing: the known usage minus the usage that nova counted.
        :param unanswered: the resources of the unanswered creates: nova may have counted any of them.
        :param names: the resources that nova counts.
        :param asked_at: when the reading began.
        """
        # nova may count an unknown server, which hides that one of these is missing. That is rare, and its only effect
        # is a refused create.
        answered = self._after(self._seen_at)
        between = total(create.size for create in answered if self._seen_at < create.sent_at <= asked_at)
        before = {name: self._seen.get(name, inf) + between[name] for name in names}
        self._seen = {name: max(0.0, min(missing[name], before[name]) + unanswered[name]) for name in names}
        self._seen_at = asked_at

    def _after(self, moment: float) -> Iterator[_Accepted]:
        """Return the creates accepted after *moment*, the latest first: after a burst, thousands are older."""
        return takewhile(lambda create: create.at > moment, reversed(self._accepted))


@dataclass(frozen=True)
class _Accepted:
    """A create that was sent at *sent_at* and accepted at *at*."""

    at: float
    sent_at: float
    size: Resources
