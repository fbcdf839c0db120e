# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Creates that nova has accepted and may not count yet: it counts a server when its conductor has written it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from itertools import takewhile
from math import inf

from ....model.resources import Resources, total

WRITTEN_AFTER, WRITTEN_SHARE = 1.0, 2.0
"""Seconds, and a multiple of what nova takes to answer, after which a server that it has accepted counts …"""
WRITTEN_MOST = 60.0
"""… and after so many in any case."""


class Uncounted:
    """The creates of one provider. Times are UNIX seconds."""

    def __init__(self) -> None:
        self._accepted: deque[tuple[float, Resources]] = deque()
        self._seen_at = -inf
        self._seen: dict[str, float] = {}
        """What nova lacked at the latest reading, of the creates that it had accepted by then."""

    def accepted(self, size: Resources, now: float) -> None:
        """Nova accepted a create for a server of *size*."""
        self._accepted.append((now, size))
        while self._accepted[0][0] <= now - WRITTEN_MOST:
            self._accepted.popleft()

    def at_most(self, now: float, answers: float) -> Resources:
        """What nova may not count yet.

        :param answers: seconds that nova takes to answer a create; its conductor is about as busy as its API.
        """
        written_by = now - min(WRITTEN_MOST, max(WRITTEN_AFTER, WRITTEN_SHARE * answers))
        recent = total(size for _at, size in self._after(written_by))
        since = total(size for _at, size in self._after(max(written_by, self._seen_at)))
        return Resources(
            {name: min(amount, self._seen.get(name, inf) + since[name]) for name, amount in recent.items()}
        )

    def seen(self, missing: Resources, names: Collection[str], asked_at: float) -> None:
        """The limits were read when no create was without an answer.

        :param missing: by how much less nova counted than is used by what was known.
        :param names: the resources that it counts.
        :param asked_at: when the reading began.
        """
        # It may count a server that nobody knew of, which hides that one of these is missing; that is rare, and costs a
        # create that is refused.
        between = total(size for at, size in self._after(self._seen_at) if at <= asked_at)
        before = {name: self._seen.get(name, inf) + between[name] for name in names}
        self._seen = {name: max(0.0, min(missing[name], before[name])) for name in names}
        self._seen_at = asked_at

    def _after(self, moment: float) -> Iterator[tuple[float, Resources]]:
        """The creates that were accepted later, the latest first: a burst leaves thousands that are older."""
        return takewhile(lambda item: item[0] > moment, reversed(self._accepted))
