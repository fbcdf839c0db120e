# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of one launch: everything that the next cycle needs to go on with it.

It lives below our own subtree and is written before the call that it describes, so that a server whose create was
never answered can be found again by its mark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .stored import Stored, believed

LONGEST_LOOK = 3600.0
LONGEST_DELAY = 400.0
"""Seconds: no launch is held back for longer than this before its next try."""


class Phase:
    """Where a launch stands."""

    QUEUED = "queued"
    CREATING = "creating"
    UNCLEAR = "unclear"
    BOOTING = "booting"
    ADDRESSING = "addressing"
    REACHING = "reaching"
    READY = "ready"
    CLEARING = "clearing"
    FAILED = "failed"


IN_FLIGHT = frozenset(
    {Phase.QUEUED, Phase.CREATING, Phase.UNCLEAR, Phase.BOOTING, Phase.ADDRESSING, Phase.REACHING, Phase.CLEARING}
)


@dataclass
class Launch(Stored):
    """One node on its way to being ready, and afterwards what belongs to it in the cloud.

    Times are UNIX seconds. *mark* is the server's metadata value of the present attempt, *superseded* those of
    attempts that were given up without knowing whether a server came of them. *floating_doubt*: a floating IP was
    asked for with that mark, and it is unknown what came of it. *asked_at*: when the present create was
    sent; *answered*: whether nova said yes to it; *look_until*: a create in doubt is looked for until then;
    *doubt_until*: so long may a server still come of a superseded create that was never answered. *event_id*: that of
    the request, which its requestor deletes long before the node goes. *adopted*: how
    often a later cycle has continued the launch; *adopted_at*: when one did so last.
    """

    node_id: str
    provider: str
    pool: str
    label: str
    request_id: str | None = None
    event_id: str | None = None
    phase: str = Phase.QUEUED
    since: float = 0.0
    started: float = 0.0
    attempt: int = 1
    mark: str = ""
    az: str | None = None
    flavor_id: str | None = None
    cloud_image_id: str | None = None
    server_id: str | None = None
    created_at: float | None = None
    active_at: float | None = None
    floating_ip_id: str | None = None
    floating_address: str | None = None
    floating_doubt: bool = False
    volume_ids: list[str] = field(default_factory=list)
    not_before: float = 0.0
    delays: int = 0
    failures: list[str] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    asked_at: float = 0.0
    answered: bool = True
    look_until: float = 0.0
    doubt_until: float = 0.0
    adopted: int = 0
    adopted_at: float | None = None

    @property
    def marks(self) -> set[str]:
        """The marks of all its attempts."""
        return {mark for mark in (self.mark, *self.superseded) if mark}

    @property
    def in_flight(self) -> bool:
        """True until it is ready or given up."""
        return self.phase in IN_FLIGHT

    def enter(self, phase: str, now: float) -> None:
        """Go into a phase."""
        self.phase = phase
        self.since = now

    def bound(self, now: float) -> Launch:
        """Correct what a clock that was ahead has stored: nothing began later than now or waits longer than any."""
        self.since, self.started, self.asked_at = (min(at, now) for at in (self.since, self.started, self.asked_at))
        self.created_at = None if self.created_at is None else min(self.created_at, now)
        self.active_at = None if self.active_at is None else min(self.active_at, now)
        self.adopted_at = None if self.adopted_at is None else min(self.adopted_at, now)
        self.not_before = believed(self.not_before, now, LONGEST_DELAY)
        # A cycle that adopts the launch looks for its server anew; neither is worth more than an hour.
        self.look_until = believed(self.look_until, now, LONGEST_LOOK)
        self.doubt_until = believed(self.doubt_until, now, LONGEST_LOOK)
        return self

    def document(self) -> dict[str, Any]:
        """As it is stored. A copy in depth (dataclasses.asdict) takes fifteen times as long as this."""
        return {name: [*value] if isinstance(value, list) else value for name, value in vars(self).items()}


def make_mark(node_id: str, attempt: int, nonce: str) -> str:
    """The metadata value that ties a server to a launch attempt."""
    return f"{node_id}-{attempt}-{nonce}"


def node_of_mark(mark: str) -> str:
    """The node id in a mark."""
    return mark.split("-", 1)[0]


_FLOATING_MARK = "stackci_launch="
_FLOATING_SITE = "stackci_site="
_FLOATING_PROVIDER = "nodepool_provider_name="


@dataclass(frozen=True)
class Written:
    """What a floating IP says of itself; *site* is "" on those of earlier versions."""

    mark: str
    provider: str
    site: str = ""


def doubted_mark(launch: Launch) -> str | None:
    """The mark on a floating IP that the launch may have without knowing its id; None when there can be none."""
    asked = launch.floating_doubt or (launch.phase == Phase.ADDRESSING and launch.floating_ip_id is None)
    return launch.mark if asked and launch.mark else None


def floating_ip_description(mark: str, provider: str, site: str) -> str:
    """What we write on a floating IP: the mark of its launch, and whose it is (as a server's metadata says it).

    The provider comes last: a user chose its name, and there may be a space in it.
    """
    return f"{_FLOATING_MARK}{mark} {_FLOATING_SITE}{site} {_FLOATING_PROVIDER}{provider}"


def read_description(text: str) -> Written | None:
    """What :func:`floating_ip_description` wrote, None for anything else."""
    first, _space, rest = text.partition(" ")
    mark, site = first.removeprefix(_FLOATING_MARK), ""
    if rest.startswith(_FLOATING_SITE):
        site, _space, rest = rest.removeprefix(_FLOATING_SITE).partition(" ")
    provider = rest.removeprefix(_FLOATING_PROVIDER)
    if not mark or mark == first or not provider or provider == rest:
        return None
    return Written(mark, provider, site)


def written_by(text: str, provider: str, site: str) -> Written | None:
    """What is written on a floating IP where this provider of this tree wrote it; None otherwise."""
    written = read_description(text)
    mine = written is not None and written.provider == provider and written.site in ("", site)
    return written if mine else None
