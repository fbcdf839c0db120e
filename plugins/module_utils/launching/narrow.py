# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Narrow resources: hosts for a flavor, addresses in networks, servers that answer there, the right to create them.

No quota that the launcher knows counts them, so only servers that fail show that they are used up. Each is frozen for
those nodes alone that need it. While it is frozen nothing that needs it is launched; then one launch tries it, and its
success ends the freeze.

A zone in which a flavor has no hosts is tried again when LONGEST has passed, by one launch, if another zone will do: a
try costs a request the time of a failed server. What that one meets holds for all flavors that were refused there, and
for those that are no smaller, until they get hosts there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..model.bounded_text import bounded
from ..model.config.types import PoolLabel
from ..model.freeze import ANSWERING, WORKING_PORTS, Evidence, Freeze
from ..model.owner import ACCOUNT, CAPACITY
from ..model.resources import CORES, RAM, UNCOUNTED, Resources
from .freezing import LONGEST, MEMORY, pause_after
from .known_answers import (
    ADDRESSES,
    ALLOWED,
    CREATES,
    HOSTS,
    MEMBERS,
    PLUGGED,
    REACH,
    SUCCESS,
    SUCCESS_THERE,
    ZONE,
)

_KINDS = (HOSTS, ADDRESSES, PLUGGED, CREATES, ALLOWED, UNCOUNTED, SUCCESS, SUCCESS_THERE, ZONE, REACH, MEMBERS)
LONGEST_PLACEMENT = 120
"""Largest size of what restricts the hosts, in bytes of the name of the resource."""
FIRST_PAUSE = 3.0
"""Seconds until the first trial after something seemed to be used up."""
ENOUGH = 4
"""Launches that must get a narrow resource one after the other until its freeze is forgotten."""
TURN = 5.0
"""Seconds for which one of several that are tried in turn may be tried, before it is the next one's turn."""
_HOSTS, _IMAGE, _ZONE, _RIGHT = "hosts for ", " with ", " in zone ", "right to create servers"
_ANY_CREATE = f"success with creates{_ZONE}"


@dataclass(frozen=True)
class Shape:
    """What decides which hosts and addresses a node needs: the names of its flavor, image and networks.

    :ivar placement: what else restricts its hosts: the server group and the hints of its label, in words.
    :ivar group: the name of its server group, "" for none.
    """

    flavor: str = ""
    image: str = ""
    networks: tuple[str, ...] = ()
    placement: str = ""
    group: str = ""

    def narrow_name(self, kind: str, zone: str | None) -> str:
        """Return the name of the narrow resource of a *kind* that a node of this shape needs in the zone.

        Hosts are named with the image: its properties may ask for hosts that others do not need.
        """
        if kind == HOSTS:
            return f"{_HOSTS}{self.flavor}{self._restricted}{_IMAGE}{self.image}" + (f"{_ZONE}{zone}" if zone else "")
        networks = ", ".join(self.networks) or "its network"
        if kind == ADDRESSES:
            return f"addresses in {networks}"
        if kind == PLUGGED:
            return f"{WORKING_PORTS}{networks}" + (f"{_ZONE}{zone}" if zone else "")
        if kind == REACH:
            return f"{ANSWERING}{networks}" + (f"{_ZONE}{zone}" if zone else "")
        if kind == ALLOWED:
            # What is forbidden may be the network.
            there = f" in {', '.join(self.networks)}" if self.networks else ""
            return f"{_RIGHT} of {self.flavor}{_IMAGE}{self.image}{there}"
        if kind in (SUCCESS, SUCCESS_THERE):
            there = f"{_ZONE}{zone}" if zone and kind == SUCCESS_THERE else ""
            return f"success with creates of {self.flavor}{_IMAGE}{self.image}{there}"
        if kind == ZONE:
            return f"{_ANY_CREATE}{zone}"
        if kind == MEMBERS and self.group:
            return f"members of server group {self.group}"
        if kind in (UNCOUNTED, MEMBERS):
            # A group that the label does not name was added by the cloud: it is held up as what nothing counts.
            return f"room in other quotas for {self.flavor}{_IMAGE}{self.image}"
        return _RIGHT

    def narrow_needs(self, zone: str | None) -> tuple[str, ...]:
        """Return all narrow resources that a node of this shape needs in the zone."""
        needless = {kind for kind, there in ((MEMBERS, self.group), (ZONE, zone), (SUCCESS_THERE, zone)) if not there}
        return tuple(self.narrow_name(kind, zone) for kind in _KINDS if kind not in needless)

    @property
    def _restricted(self) -> str:
        """Others with the same flavor do not wait for hosts that only a group or hints keep this node from."""
        return f" ({bounded(self.placement, LONGEST_PLACEMENT)})" if self.placement else ""


def shape_of(flavor: str, label: PoolLabel, networks: tuple[str, ...]) -> Shape:
    """Return the shape of the nodes of a label, with the names of its flavor and networks."""
    own = label.launches
    return Shape(flavor, label.image_name, networks, own.placement, own.server_group or "")


def refused_narrow(
    known: Mapping[str, Freeze],
    resource: str,
    text: str,
    whose: str,
    now: float,
    jitter: float,
    sent_at: float,
    active: float = 0.0,
    earlier: Iterable[float] = (),
    *,
    late: bool = False,
) -> dict[str, Freeze]:
    """Return the freezes of a pool after one more launch failed for a narrow resource.

    All zones of a flavor that had no hosts are tried in turn, together as rarely as one resource that a quota counts.
    Only the first pause is short: a single failure among many servers that come up is no sign of a full cloud.

    :param known: the freezes of the pool.
    :param jitter: 0…1, lengthens the first pauses a little.
    :param sent_at: when the create was sent. Creates that were under way together make one freeze.
    :param active: how many servers of the project are ACTIVE.
    :param earlier: when like creates were refused before it was known that this is used up. They count for the pauses.
    :param late: its server had a host when it failed: from then on only a server that is ACTIVE has got the resource.
    """
    own = known.get(resource)
    mine = [moment for moment in (own.refusals if own else []) if now - moment < MEMORY]
    if own is not None and mine and sent_at <= mine[-1]:
        more = replace(own, refusals=[*mine, mine[-1]], text=text, owner=whose, late=own.late or late)
        return {**known, resource: more}
    kin = {name: freeze for name, freeze in known.items() if family(name) == family(resource)}
    late = late or any(freeze.late for freeze in kin.values())
    signs = sorted(moment for moment in earlier if now - moment < MEMORY)
    if whose == ACCOUNT and own is None and not signs:
        signs = [now]  # what is forbidden takes a second sign to be known: another create was refused before this one
    past = sorted(moment for freeze in kin.values() for moment in freeze.refusals if now - moment < MEMORY)
    first = not past and not (signs and whose == ACCOUNT)
    pause = FIRST_PAUSE * (1.0 + jitter / 2) if first else pause_after(sorted([*past, *signs, now]), jitter)
    until = now + pause
    later = {name: replace(freeze, until=max(freeze.until, until), late=late) for name, freeze in kin.items()}
    since = (own.since if own is not None else 0.0) or now
    blind = own is not None and (own.trusted or own.blind)
    evidence = Evidence(ours=active)
    fresh = Freeze(
        resource, until, [*mine, *signs, now], evidence, text, blind=blind, owner=whose, since=since, late=late
    )
    return {**known, **later, resource: fresh}


def followed(freeze: Freeze, active: float, now: float) -> Freeze:
    """Return the freeze of a narrow resource after a look at the servers: what was given back is tried at once.

    Only what is used up comes back so: a right, a network or the cloud's own trouble does not.
    When such a try is refused, others take what is given back: then only the pauses count, until a launch succeeds.

    :param active: how many servers of the project are ACTIVE.
    """
    if freeze.owner != CAPACITY or freeze.blind or now >= freeze.until:
        return freeze
    if active >= freeze.evidence.ours:
        more = Evidence(ours=active)
        return freeze if active == freeze.evidence.ours else replace(freeze, evidence=more)
    return replace(freeze, until=now, evidence=Evidence(ours=active), trusted=True)


def doubted(
    frozen: Mapping[str, Freeze], sizes: Mapping[str, Resources], got: Mapping[str, float], now: float
) -> frozenset[str]:
    """Return the narrow resources that were refused lately, without a success since, or that surely would be.

    :param frozen: the remembered freezes of a pool.
    :param sizes: hosts for a flavor in a zone → what a node of the flavor needs.
    :param got: hosts for a flavor in a zone → UNIX time at which a server last got one.
    """
    refused = {name: max(freeze.refusals) for name, freeze in frozen.items() if freeze.refusals and not freeze.served}
    latest: dict[str, float] = {}
    for name, moment in refused.items():
        key = place_of_hosts(name) or name
        latest[key] = max(moment, latest.get(key, moment))
    lately = {name for name in refused if now - latest[place_of_hosts(name) or name] < LONGEST}
    full = [name for name in lately if place_of_hosts(name) and name in sizes]

    def is_shared(name: str) -> bool:
        return any(
            place_of_hosts(other) == place_of_hosts(name)
            and _is_no_smaller(sizes[name], sizes[other])
            and got.get(name, 0.0) <= frozen[other].since
            for other in full
        )

    return frozenset(lately | {name for name in sizes if full and name not in frozen and is_shared(name)})


def _is_no_smaller(one: Resources, other: Resources) -> bool:
    return all(one[name] >= other[name] for name in (CORES, RAM))


def family(resource: str) -> str:
    """Return what a narrow resource is in any zone and with any image."""
    known = next((start for start in (_RIGHT, _ANY_CREATE) if resource.startswith(start)), None)
    return known or resource.split(_IMAGE)[0].split(_ZONE)[0]


def place_of_hosts(resource: str) -> str:
    """Return the image and the zone of hosts for a flavor in a zone; "" for anything else.

    Hosts that a server group or hints restrict are none: a lack of those says nothing about others.
    """
    kin = family(resource)
    plain = resource.startswith(_HOSTS) and _ZONE in resource and not kin.endswith(")")
    return resource[len(kin) :] if plain else ""


def got(freeze: Freeze, now: float) -> Freeze | None:
    """Return the freeze of a narrow resource after a launch got it; None when enough have: it is over."""
    if freeze.served + 1 >= ENOUGH:
        return None
    return replace(
        freeze, served=freeze.served + 1, until=min(freeze.until, now), blind=False, trusted=False, since=0.0
    )


def trials(frozen: Mapping[str, Freeze], tried: Mapping[str, int], now: float) -> dict[str, int]:
    """Return which narrow resources may be tried now, and by how many: one of each family.

    It is first the one that was refused longest ago. Nobody may need that one any more: so each has its turn, for TURN
    seconds. After a refusal one launch tries it, and one more after each success.

    :param frozen: the remembered freezes of narrow resources.
    :param tried: narrow resource → number of those for whom launches are under way that need it.
    """
    busy: dict[str, int] = {}
    for name, count in tried.items():
        if name in frozen:
            busy[family(name)] = busy.get(family(name), 0) + count
    ready: dict[str, list[Freeze]] = {}
    for name, freeze in sorted(frozen.items(), key=lambda item: (item[1].refusals[-1], item[0])):
        if now >= freeze.until:
            ready.setdefault(family(name), []).append(freeze)
    chosen = {kin: items[_turn(items, now) % len(items)] for kin, items in ready.items()}
    rooms = {item.resource: max(1, item.served) - busy.get(kin, 0) for kin, item in chosen.items()}
    return {name: room for name, room in rooms.items() if room > 0}


def one_of_each(names: Iterable[str], rooms: Mapping[str, float]) -> dict[str, str]:
    """Return family → the one of the narrow resources that has most room: a family has one trial at a time."""
    return {family(name): name for name in sorted(names, key=lambda name: (rooms.get(name, 0), name))}


def next_turn(frozen: Iterable[Freeze], now: float) -> float:
    """Return the seconds until another one of a family has its turn; infinite if there is only one of each."""
    ready: dict[str, list[Freeze]] = {}
    for freeze in frozen:
        if now >= freeze.until:
            ready.setdefault(family(freeze.resource), []).append(freeze)
    ends = [_began(items) + TURN * (_turn(items, now) + 1) - now for items in ready.values() if len(items) > 1]
    return min(ends, default=float("inf"))


def _turn(items: Sequence[Freeze], now: float) -> int:
    return int((now - _began(items)) / TURN)


def _began(items: Sequence[Freeze]) -> float:
    return max(freeze.until for freeze in items)


def split(resources: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return (resources that a quota counts, kinds of narrow resources)."""
    found = list(resources)
    return [item for item in found if item not in _KINDS], [item for item in found if item in _KINDS]
