# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of one launch: everything that the next cycle needs to continue it.

It is stored below ``/nodepool/stackci`` and written before the call that it describes, so that the launcher can find a
server by its mark when its create was never answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .stored import Stored, believed

LONGEST_LOOK = 3600.0
LONGEST_DELAY = 400.0
"""Maximum seconds for which a launch is held back before its next attempt."""
LEAST_LEFT = 30.0
"""Seconds for which each cycle waits for a guest at least: nobody has asked it before the cycle adopted the launch."""


class Phase:
    """The phases of a launch."""

    QUEUED = "queued"
    CREATING = "creating"
    UNCLEAR = "unclear"
    BOOTING = "booting"
    ADDRESSING = "addressing"
    REACHING = "reaching"
    PROBING = "probing"
    READY = "ready"
    CLEARING = "clearing"
    FAILED = "failed"


IN_FLIGHT = frozenset(
    {
        Phase.QUEUED,
        Phase.CREATING,
        Phase.UNCLEAR,
        Phase.BOOTING,
        Phase.ADDRESSING,
        Phase.REACHING,
        Phase.PROBING,
        Phase.CLEARING,
    }
)


@dataclass
class Launch(Stored):
    """The launch of one node, and afterwards the record of the node's objects in the cloud.

    Times are UNIX seconds. *mark*: the metadata value of the present attempt's server. *superseded*: the marks of
    attempts that were given up while it was unknown whether they made a server. *floating_doubt*: a floating IP was
    requested with the mark, and it is unknown whether it was created. *asked_at*: when the present create was sent.
    *answered*: False when the launcher found the server in the list, without an answer to the create. *look_until*:
    until when the launcher looks for the server of an unclear create. *doubt_until*: until when a superseded create
    that was never answered may still make a server. *event_id*: the event of the request; it is stored here because
    the requestor deletes the request long before the node is deleted. *adopted*: how often a later cycle has continued
    the launch. *adopted_at*: when a cycle did so last. *owner*: whose fault its last failure was. *first_failed*: when
    it failed first for a reason that may be its own. *reread*: what nova said does not exist was read anew. *suffix*:
    what is added to the name of its server, because nova said that the name is taken. *trouble*: why its latest attempt
    made no progress; "" once a later one does. *thrown*: how many servers of it were given up. *thrown_seconds*: how
    long those that are gone have existed. *job*, *wanted_at*: the job that its request is for, and when that was made.
    *taken_at*: when its ready node was given to that request; None when the launch was for it. *guest_since*: since
    when cycles wait for an answer of the server's guest. *answered_at*: when it answered one of them first.
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
    guest_since: float | None = None
    answered_at: float | None = None
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
    owner: str = ""
    first_failed: float = 0.0
    reread: bool = False
    suffix: str = ""
    trouble: str = ""
    thrown: int = 0
    thrown_seconds: float = 0.0
    job: str = ""
    wanted_at: float | None = None
    taken_at: float | None = None

    @property
    def marks(self) -> set[str]:
        """The marks of the present attempt and of the superseded ones."""
        return {mark for mark in (self.mark, *self.superseded) if mark}

    @property
    def in_flight(self) -> bool:
        """True until the launch is ready or failed."""
        return self.phase in IN_FLIGHT

    def enter(self, phase: str, now: float) -> None:
        """Enter a phase, and set its time."""
        self.phase = phase
        self.since = now

    def bound(self, now: float) -> Launch:
        """Correct times that a clock ahead of this one has stored: no start is later than now, no wait too long."""
        self.since, self.started, self.asked_at = (min(at, now) for at in (self.since, self.started, self.asked_at))
        self.first_failed = min(self.first_failed, now)
        self.created_at = None if self.created_at is None else min(self.created_at, now)
        self.active_at = None if self.active_at is None else min(self.active_at, now)
        self.adopted_at = None if self.adopted_at is None else min(self.adopted_at, now)
        self.taken_at = None if self.taken_at is None else min(self.taken_at, now)
        self.guest_since = None if self.guest_since is None else min(self.guest_since, now)
        self.answered_at = None if self.answered_at is None else min(self.answered_at, now)
        self.not_before = believed(self.not_before, now, LONGEST_DELAY)
        # A cycle that adopts the launch starts a new search for its server; both times are at most an hour ahead.
        self.look_until = believed(self.look_until, now, LONGEST_LOOK)
        self.doubt_until = believed(self.doubt_until, now, LONGEST_LOOK)
        return self

    def document(self) -> dict[str, Any]:
        """Return the record as it is stored. dataclasses.asdict, a deep copy, takes fifteen times as long."""
        return {name: [*value] if isinstance(value, list) else value for name, value in vars(self).items()}


def time_left(limit: float, since: float | None, now: float) -> float:
    """Return the seconds that are left of a limit that began at *since*, with an earlier cycle or now (None)."""
    return min(limit, max(LEAST_LEFT, limit - (now - (now if since is None else since))))


def make_mark(node_id: str, attempt: int, nonce: str) -> str:
    """Return the metadata value that marks a server as made by a launch attempt."""
    return f"{node_id}-{attempt}-{nonce}"


def node_of_mark(mark: str) -> str:
    """Return the node id in a mark."""
    return mark.split("-", 1)[0]


_FLOATING_MARK = "stackci_launch="
_FLOATING_SITE = "stackci_site="
_FLOATING_PROVIDER = "nodepool_provider_name="


@dataclass(frozen=True)
class Written:
    """The content of a floating IP's description; *site* is "" when an earlier version wrote it."""

    mark: str
    provider: str
    site: str = ""


def doubted_mark(launch: Launch) -> str | None:
    """Return the mark of a floating IP that the launch may have although its id is unknown; None when there is none."""
    asked = launch.floating_doubt or (launch.phase == Phase.ADDRESSING and launch.floating_ip_id is None)
    return launch.mark if asked and launch.mark else None


def floating_ip_description(mark: str, provider: str, site: str) -> str:
    """Return the description of a floating IP: the mark of its launch, the site and the provider.

    The provider comes last, because its name, which a user chose, may contain a space.
    """
    return f"{_FLOATING_MARK}{mark} {_FLOATING_SITE}{site} {_FLOATING_PROVIDER}{provider}"


def read_description(text: str) -> Written | None:
    """Read a description that :func:`floating_ip_description` made; return None for any other text."""
    first, _space, rest = text.partition(" ")
    mark, site = first.removeprefix(_FLOATING_MARK), ""
    if rest.startswith(_FLOATING_SITE):
        site, _space, rest = rest.removeprefix(_FLOATING_SITE).partition(" ")
    provider = rest.removeprefix(_FLOATING_PROVIDER)
    if not mark or mark == first or not provider or provider == rest:
        return None
    return Written(mark, provider, site)


def written_by(text: str, provider: str, site: str) -> Written | None:
    """Return the content of a floating IP's description when this provider of this tree wrote it; None otherwise."""
    written = read_description(text)
    mine = written is not None and written.provider == provider and written.site in ("", site)
    return written if mine else None
