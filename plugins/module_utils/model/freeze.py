# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool that refused creates although there seemed to be room: how long it is left alone, and what ends that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from .stored import Stored, believed, made


@dataclass(frozen=True)
class Evidence:
    """What was known about a resource: the cloud's limit, what others used, what our servers used."""

    bound: float | None = None
    others: float = 0.0
    ours: float = 0.0

    @property
    def used(self) -> float:
        """By all users of the cloud together."""
        return self.others + self.ours


@dataclass
class Freeze(Stored):
    """The freeze of one resource in one pool. Times are UNIX seconds.

    *until*: before this no create that would use more than was used at the refusal (the *evidence*). *refusals*: of
    each create that was refused within the past hour; those that were under way together bear the same time. *text*:
    what the cloud said. *settled*: what others used has been read after the refusal. *blind*: a create that should
    have fitted was refused too, so what is seen may be wrong: what is given back is tried one by one, and after some
    refusals at a distance. *trusted*: the last of these tries was accepted, so the next need not wait.
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

    def as_of(self, now: float, longest: float) -> Freeze:
        """As it can be meant at this moment, whatever clock it was stored by; see :func:`stored.believed`."""
        until, refusals = believed(self.until, now, longest), [min(moment, now) for moment in self.refusals]
        return (
            self if (until, refusals) == (self.until, self.refusals) else replace(self, until=until, refusals=refusals)
        )
