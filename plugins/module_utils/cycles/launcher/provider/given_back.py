# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Room that nova's quota shows as free although no server list has shown yet which of the deleted servers are gone.

``GET /limits`` counts servers without showing them, so it is cheap even where a list is not. It is read often while a
request waits for room and a server whose delete nova acknowledged may be gone; a later list confirms the result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ....launching.polling import LATE, UNKNOWN_SHARE, Times
from ....model.cloud import CloudLimits
from ....model.errors import CloudError
from ....model.resources import CORES, INSTANCES, RAM, Resources
from .facts import Fact
from .uncounted import Uncounted

COUNTED = (INSTANCES, CORES, RAM)
"""The resources that count as free with the server. Its ports, volumes and floating IPs count as free only after a list
has confirmed its end."""
PACE = 0.06
SHARE = 3.0
"""The limits are read every PACE seconds, or after SHARE times the duration of the last answer if that is longer."""
UNKNOWN_PACE = 0.5
"""Minimum seconds between two readings while the usual duration of deletions is unknown; it grows with their age."""
DOUBT = 30.0
"""Seconds without such readings after one that failed; meanwhile only lists show free room."""


@dataclass(frozen=True)
class Acknowledged:
    """A node whose server nova agreed to delete at *asked_at*, with the resources that it uses."""

    node_id: str
    asked_at: float
    size: Resources


@dataclass(frozen=True)
class Expected:
    """The resources that a reading of the limits is compared with.

    :ivar known: used by the known servers, without the nodes that count as given back.
    :ivar uncounted: the part of *known* that nova may not count yet.
    :ivar unanswered: needed by the unanswered creates; nova may count them already.
    """

    known: Resources = field(default_factory=Resources)
    uncounted: Resources = field(default_factory=Resources)
    unanswered: Resources = field(default_factory=Resources)


class GivenBack:
    """The nodes of one provider whose instances, cores and ram count as free.

    :ivar nodes: their ids, with the UNIX time at which the quota first showed their room.
    :ivar uncounted: the creates that nova may not count yet.
    :ivar in_doubt: the resources missing in the latest reading may be room or such creates: only a list shows which.
    :param fact: makes the fact of the limits from the function that reads them and the one to call after each answer.
    :param clock: UNIX seconds.
    :param last_sent: returns when the latest create was sent.
    """

    def __init__(
        self,
        fact: Callable[[Callable[[], CloudLimits], Callable[[CloudError | None], None]], Fact[CloudLimits]],
        read: Callable[[], CloudLimits],
        clock: Callable[[], float],
        last_sent: Callable[[], float],
    ) -> None:
        self._limits = fact(read, self._answered)
        self._clock = clock
        self._last_sent = last_sent
        self._asking: tuple[Sequence[Acknowledged], Expected, Resources] = (), Expected(), Resources()
        """The state when the call under way began: the nodes, the expected usage, and the size of nodes given back."""
        self._asked: Sequence[Acknowledged] = ()
        self._free: dict[str, float] = {}
        self._pending: Mapping[str, Acknowledged] = {}
        self._doubted_until = 0.0
        self._seconds = 0.0
        self.nodes: dict[str, float] = {}
        self.uncounted = Uncounted()
        self.in_doubt = False

    def follow(self, pending: Sequence[Acknowledged], *, doubted: bool) -> None:
        """Forget the nodes whose end a list has confirmed.

        :param pending: the nodes whose delete nova acknowledged and whose servers no list has shown to be gone.
        :param doubted: nova's count may lack servers that exist.
        """
        before, self._pending = self._pending, {} if doubted else {item.node_id: item for item in pending}
        # If a node is no longer pending, a list has shown which of them are gone.
        self.in_doubt = self.in_doubt and before.keys() <= self._pending.keys()
        self._judge()

    def known(self, node_id: str, asked_at: float) -> Acknowledged | None:
        """Return the node as :meth:`follow` last got it, if it is the same delete: then it has not changed."""
        item = self._pending.get(node_id)
        return item if item is not None and item.asked_at == asked_at else None

    @property
    def size(self) -> Resources:
        """The resources of the nodes that are given back."""
        return _counted([self._pending[node_id] for node_id in self.nodes])

    @property
    def tells(self) -> bool:
        """False after a reading that failed: then only a list shows free room."""
        return self._clock() >= self._doubted_until

    def poll(self, expected: Expected, times: Times, now: float) -> float:
        """Read the limits if a server may be gone.

        :param expected: the resources that the limits are compared with.
        :param times: the durations of recent deletions.
        :return: seconds until the next reading is due; infinite if none is needed.
        """
        ages = [now - item.asked_at for key, item in self._pending.items() if key not in self.nodes]
        if not ages:
            return float("inf")
        earliest, pace = times.earliest(), PACE
        if earliest is None:
            pace = max(UNKNOWN_PACE, UNKNOWN_SHARE * max(ages))
        elif not any(earliest <= age <= LATE * max(times.samples) for age in ages):
            return min((earliest - age for age in ages if age < earliest), default=float("inf"))
        due = max(pace, SHARE * self._seconds) - self._limits.age(now)
        if due <= 0 and not self._limits.busy:
            self._asking = sorted(self._pending.values(), key=lambda item: item.asked_at), expected, self.size
            self._limits.want(now)
        return max(due, PACE)

    def _answered(self, error: CloudError | None) -> None:
        now, limits, asked_at = self._clock(), self._limits.value, self._limits.asked_at or self._clock()
        if error is not None or limits is None:
            self._doubted_until, self._free = now + DOUBT, {}
            self._judge()
            return
        self._seconds = now - asked_at
        told = [name for name in COUNTED if name in limits.used or limits.bounds[name] != float("inf")]
        self._asked, expected, size = self._asking
        missing = expected.known - limits.used
        self.in_doubt = any(missing[name] > 0 and expected.uncounted[name] > 0 for name in told)
        if self._last_sent() <= asked_at:
            self.uncounted.seen(missing, expected.unanswered, told, asked_at)
        free = missing + size - expected.uncounted
        self._free = {name: free[name] for name in told}
        self._judge()

    def _judge(self) -> None:
        """Choose the nodes to which the free room belongs; those whose delete is the oldest come first."""
        # The room of nodes that a list has confirmed since the reading is part of the free room.
        confirmed = _counted([item for item in self._asked if item.node_id not in self._pending])
        left = {name: amount - confirmed[name] for name, amount in self._free.items()}
        given: list[str] = []
        for item in self._asked:
            if item.node_id in self._pending and left and all(left[name] >= item.size[name] for name in left):
                given.append(item.node_id)
                left = {name: amount - item.size[name] for name, amount in left.items()}
        self._keep(given)

    def _keep(self, nodes: Collection[str]) -> None:
        """Set the nodes that count as given back."""
        now = self._clock()
        self.nodes = {node_id: self.nodes.get(node_id, now) for node_id in nodes if node_id in self._pending}


def _counted(items: Sequence[Acknowledged]) -> Resources:
    return Resources({name: sum(item.size[name] for item in items) for name in COUNTED})
