# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Freezes: how long a pool gets no creates after the cloud refused some although there seemed to be room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from .owner import CAPACITY
from .stored import Stored, believed, made

ANSWERING = "answering servers in "
"""How the name of the narrow resource begins that a broken way to servers takes away."""
WORKING_PORTS = "working ports in "
"""How the name of the narrow resource begins that is lacking where ports cannot be bound or plugged on the hosts."""
NARROW = (
    "hosts for ",
    "addresses in ",
    WORKING_PORTS,
    "right to ",
    "room in other quotas for ",
    "members of ",
    "success with creates ",
    ANSWERING,
)
"""How the names of narrow resources begin: no quota counts them, and only some nodes of a pool need them."""


def is_narrow(resource: str) -> bool:
    """Return True for a resource that only some nodes of the pool need and that no quota counts."""
    return resource.startswith(NARROW)


SKEW = 60.0
"""Seconds by which clocks of hosts may differ."""


@dataclass(frozen=True)
class Evidence:
    """The known facts about a resource: the cloud's limit, the usage of others, and that of the launcher's servers."""

    bound: float | None = None
    others: float = 0.0
    ours: float = 0.0

    @property
    def used(self) -> float:
        """The usage of all users of the quota together."""
        return self.others + self.ours


@dataclass(frozen=True)
class Freeze(Stored):
    """The freeze of one resource in one pool. Times are UNIX seconds.

    *until*: before this time, the launcher sends no create that would use more than was used at the refusal (the
    *evidence*). *refusals*: the times of the creates that were refused within the past hour; creates that were sent
    together have the same time. *text*: the cloud's message. *settled*: the usage of others was read after the
    refusal. *blind*: the cloud also refused a create that should have fitted, so the known usage may be wrong: the
    launcher tries freed resources one by one, and after some refusals with pauses. *trusted*: the last of these tries
    was accepted, so the next one need not wait. *owner*: whose fault it is.
    *size*: how much the create that was refused needed. *late*: nova accepted the create, and its server failed
    then: an accepted create is no sign of room, only a server that is ACTIVE is. Of a narrow resource: the server had a
    host when it failed.
    *served*: of a narrow resource, how many launches have got it since the last refusal. *since*: when the first launch
    failed for it after the last one that got it; 0 when it was got last.
    """

    READERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"evidence": partial(made, Evidence)}

    resource: str
    until: float
    refusals: list[float] = field(default_factory=list)
    evidence: Evidence = field(default_factory=Evidence)
    text: str = ""
    settled: bool = False
    blind: bool = False
    trusted: bool = False
    owner: str = CAPACITY
    served: int = 0
    size: float = 1.0
    late: bool = False
    since: float = 0.0

    def as_of(self, now: float, longest: float) -> Freeze:
        """Return the freeze with its times corrected for a clock that was wrong; see :func:`stored.believed`.

        A refusal of the future is left out: counted as one of now, it would be a new one at each reading.
        """
        until = believed(self.until, now, longest)
        # A pass asks many times, and nearly always no time is wrong.
        if until == self.until and max(self.refusals, default=now) <= now:
            return self
        refusals = [min(moment, now) for moment in self.refusals if moment <= now + SKEW]
        return replace(self, until=until, refusals=refusals)
