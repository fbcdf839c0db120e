# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launches that a cycle carries out: each is a record together with state that only the running cycle has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from ....clients.zookeeper.link.batch import Batch
from ....clients.zookeeper.locks import Held
from ....launching.builds import Build
from ....launching.create_checks import LONGEST
from ....launching.known_answers import REACH
from ....launching.machine import Failure, LaunchRules
from ....launching.narrow import Shape, family, shape_of
from ....model.cloud import Flavor, Server
from ....model.config.gate_settings import is_gate_label
from ....model.config.types import ImageSettings, Pool, PoolLabel
from ....model.image import build_of_path
from ....model.launch import Launch, Phase
from ....model.lines import Line, Subject
from ....model.node import Node
from ....model.owner import IMAGE, UNKNOWN
from ....model.reasons import Reason
from ....model.request import NodeRequest
from ....model.resources import Resources, total
from ..context.context import Context
from ..context.ledger import size_of
from ..provider.actor import ProviderActor
from ..provider.watched import Watched

REREAD = 300.0
"""Seconds for which names that were read again after a doubt count as read anew."""
ADDRESS_SECONDS = 10.0
"""Seconds for which an ACTIVE server may show no address."""
ASKED_FOR = frozenset({Phase.CREATING, Phase.UNCLEAR, Phase.BOOTING})
"""The phases in which a server may be coming."""
UNREACHED = ASKED_FOR | {Phase.ADDRESSING, Phase.REACHING}
"""The phases in which it is not known yet whether the server answers."""
GUEST = frozenset({Phase.REACHING, Phase.PROBING})
"""The phases in which only the guest is waited for."""
FAILED_BUILD = frozenset({Failure.CAPACITY, Failure.FAULT, Failure.TIMEOUT})
"""The failures in which the server went to ERROR, or was not usable in time."""

Ended = Callable[["LaunchInProgress", Batch], None]


@dataclass(eq=False)
class LaunchInProgress:
    """A launch that this cycle carries out.

    *pool*, *label* and *image* are as they were when the launch began; the configuration may have changed since.
    """

    launch: Launch
    node: Node
    held: Held
    actor: ProviderActor
    pool: Pool
    label: PoolLabel
    image: ImageSettings
    request: Mapping[str, Any] = field(default_factory=dict)
    ended: Ended | None = None
    """Called with the batch of the last writes when the launch of a request is ready or failed; must send the batch."""
    busy: bool = False
    denied_image: str | None = None
    """The id of the image that nova did not find at the latest attempt."""
    list_seen: float = 0.0
    """UNIX time at which the server list was asked for that this launch has last evaluated."""
    host_keys: tuple[str, ...] = ()
    pending: set[str] = field(default_factory=set)
    """Marks of creates that a thread of this cycle still waits for."""
    sent: dict[str, float] = field(default_factory=dict)
    """Mark → when this cycle sent its create."""
    broken: bool = False
    """True when nova answered the create of the current attempt with 500."""
    has_host: bool = False
    """True when the list has shown the host of its server."""
    on_trial: bool = False
    """True if its latest create needs what was lately used up: it may fail at once."""
    leaves_zone: bool = False
    """True if its latest attempt failed for want of something that its next zone may have."""
    build: Build | None = None
    """The build of the current attempt's server, if this cycle has sent the create."""
    flavors_seen: list[Flavor] | None = None
    """The list of flavors with which the flavor of the launch was last compared."""
    bare: tuple[str, float] = ("", 0.0)
    """The id of the server that was seen ACTIVE without any address, and when first."""
    abandoned: bool = False
    """True when its request got other nodes because its guest was late: its end shows whether its build is at fault."""
    lacks: Reason | None = None
    """Why there is no image for the launch now, although there was one when it began."""

    @property
    def alone(self) -> bool:
        """True for a node that belongs to no set of nodes: it may be launched in any zone."""
        return len(self.request.get("labels", ())) <= 1

    @property
    def flavor(self) -> str:
        """The name of its flavor; the flavor's id if the list of flavors is not known."""
        known = self.actor.known.flavors.value or ()
        return next((item.name for item in known if item.id == self.launch.flavor_id), self.launch.flavor_id or "?")

    @property
    def key(self) -> tuple[str, str]:
        """(provider, pool)."""
        return (self.launch.provider, self.launch.pool)

    @property
    def build_id(self) -> str:
        """The build of a diskimage that it boots from; the id in the cloud for a cloud-image."""
        place = build_of_path(self.node.image_id)
        return place[1] if place is not None else self.launch.cloud_image_id or self.label.image_name

    @property
    def witness(self) -> str:
        """For whom the launch is: two of the same request are no independent signs."""
        return self.launch.request_id or self.launch.node_id

    @property
    def tenant(self) -> str:
        """The tenant whose request gives a part of what the create sends; "" if no request does."""
        name = self.request.get("tenant_name") or ""
        return name if self.label.dynamic_instance_properties and len(name) <= LONGEST else ""

    @property
    def networks(self) -> tuple[str, ...]:
        """The names of the networks that the configuration gives it."""
        return self.label.networks or self.pool.networks

    @property
    def narrow(self) -> tuple[str, ...]:
        """The narrow resources that it needs."""
        return self.shape.narrow_needs(self.launch.az)

    def tries(self, *, queued: bool) -> Iterator[str]:
        """Yield the narrow resources that it tries: what shows whether they are there has not happened yet.

        :param queued: yield those of a launch that waits for its create, too.
        """
        if (self.is_on_its_way and not self.has_host) or (self.is_queued and queued):
            yield from self.narrow
        elif self.launch.phase in UNREACHED:
            yield self.shape.narrow_name(REACH, self.launch.az)

    @property
    def shape(self) -> Shape:
        """What decides which hosts and addresses it needs."""
        return shape_of(self.flavor, self.label, self.networks)

    @property
    def rules(self) -> LaunchRules:
        """The settings for launches: the label's, or else the provider's."""
        provider, own = self.actor.provider, self.label.launches.launch_timeout
        return LaunchRules(provider.launch_timeout if own is None else own, provider.launch_retries)

    @property
    def boot_timeout(self) -> float:
        """The most seconds from an address to an answer by ssh."""
        own = self.label.launches.boot_timeout
        return self.actor.provider.boot_timeout if own is None else own

    def awaits_address(self, server: Server, now: float) -> bool:
        """Return True while a server that has just become ACTIVE shows no address at all.

        nova shows what neutron has told it, which may come a moment later.
        """
        if server.status != "ACTIVE" or server.addresses or server.access_ipv4 or server.access_ipv6:
            return False
        if self.bare[0] != server.id:
            self.bare = (server.id, now)
        return now - self.bare[1] < ADDRESS_SECONDS

    @property
    def is_queued(self) -> bool:
        """True for a launch that cannot have a server in the cloud."""
        return self.launch.phase == Phase.QUEUED and not self.launch.superseded

    @property
    def fails_unexplained(self) -> bool:
        """True for a launch that waits for its next attempt, and nobody knows why its latest one failed."""
        return self.launch.phase == Phase.QUEUED and self.launch.owner == UNKNOWN and bool(self.launch.failures)

    @property
    def failed_for_image(self) -> bool:
        """True for a launch of which an attempt failed for its image or flavor, and that has not begun the next one.

        Not if it has another image now, and did not fail for the new one.
        """
        denied = self.denied_image is not None and self.denied_image == self.launch.cloud_image_id
        again = bool(self.launch.failures) or denied
        return self.launch.phase == Phase.QUEUED and self.launch.owner == IMAGE and again

    @property
    def has_news(self) -> bool:
        """True when there is a server list that this launch has not evaluated."""
        return self.actor.view.listed_from > self.list_seen

    @property
    def booting_since(self) -> float:
        """UNIX time at which its create was accepted."""
        return self.launch.created_at or self.launch.since

    @property
    def is_on_its_way(self) -> bool:
        """True for a launch whose server was asked for and is not yet ACTIVE."""
        return self.launch.phase in ASKED_FOR

    def has_reread(self, now: float) -> bool:
        """Return True if the names in the cloud were read again, after nova had denied one, before its create was sent.

        It may have been denied to another launch: all wait for the reading.
        """
        doubted = self.actor.known.doubted_at
        return self.launch.reread or (doubted < self.launch.asked_at and now - doubted < REREAD)

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones in which it might be created: those of its pool, or else those of the cloud."""
        return self.pool.availability_zones or tuple(self.actor.known.zones.value or ())

    def next_zone(self, frozen: AbstractSet[str]) -> str | None:
        """Return another zone for a node that is in no set: nova tries only the zone of the create.

        :param frozen: the narrow resources that are frozen; a zone in which it needs none of them goes first.
        """
        zones = self.zones
        if self.launch.az not in zones:
            return self.launch.az
        place = zones.index(self.launch.az) + 1
        others = [*zones[place:], *zones[: place - 1]] or [self.launch.az]
        return next((zone for zone in others if frozen.isdisjoint(self.shape.narrow_needs(zone))), others[0])

    # -- how many servers the cloud builds side by side --------------------------------------------------------------

    def build_begins(self, more: int, now: float) -> None:
        """Note that the create is about to be sent, as the last of *more* creates in this pass."""
        self.build = Build(now, self.actor.creates.in_flight + more, self.flavor)

    def build_is_active(self, late: Iterable[LaunchInProgress], now: float) -> None:
        """Note that the server is ACTIVE.

        A build that an earlier cycle began is not measured: the number of servers built beside it is unknown.

        :param late: launches of its provider whose builds take longer than usual.
        """
        build, self.build = self.build, None
        if build is not None:
            under_way = [other.build for other in late if other.build is not None and other.is_on_its_way]
            self.actor.creates.builds.active(build, now, under_way)

    def build_failed(self, failure: Failure, now: float) -> None:
        """Note that the attempt failed; call it before the phase changes."""
        build, self.build = self.build, None
        if build is not None and failure in FAILED_BUILD and self.launch.phase == Phase.BOOTING:
            self.actor.creates.builds.failed(build, now)

    # -- messages ----------------------------------------------------------------------------------------------------

    @property
    def subject(self) -> Subject:
        """The subject of lines about this launch."""
        launch = self.launch
        return Subject(
            provider=launch.provider,
            pool=launch.pool,
            label=launch.label,
            request=launch.request_id,
            node=launch.node_id,
            event_id=launch.event_id,
            server=launch.server_id,
        )

    def beginning_line(self) -> Line:
        """Return the line that says where the node is launched, and for which request."""
        launch = self.launch
        where = f"{launch.provider}/{launch.pool}" + (f" zone {launch.az}" if launch.az else "")
        whose = f" for request {launch.request_id}" if launch.request_id else ""
        return Line(f"node {launch.node_id}: launching {launch.label} in {where}{whose}", **self.subject)

    def ready_line(self, now: float) -> Line:
        """Return the line that says how long the launch took, with its server and address."""
        node = self.node
        where = f", {node.interface_ip}" if node.interface_ip else ""
        seconds = now - (self.launch.started or now)
        text = f"node {node.id}: ready after {seconds:.1f} s, server {node.external_id}{where}"
        return Line(text, **self.subject)


class LaunchesInProgress(dict[str, LaunchInProgress]):
    """The launches of a cycle by node id, with their sums."""

    def __init__(self) -> None:
        super().__init__()
        self._late: dict[str, tuple[float, list[LaunchInProgress]]] = {}

    def of(self, actor: ProviderActor) -> Iterator[LaunchInProgress]:
        """Return the launches at one provider."""
        return (ongoing for ongoing in self.values() if ongoing.actor is actor)

    def late(self, actor: ProviderActor, now: float) -> list[LaunchInProgress]:
        """Return the launches at one provider whose builds take longer than usual.

        The result is kept for the rest of the pass, as each computation goes through all launches.
        """
        name, builds = actor.provider.name, actor.creates.builds
        seen_at, found = self._late.get(name, (None, []))
        if seen_at != now:
            found = [one for one in self.of(actor) if one.build is not None and builds.is_late(one.build, now)]
            # Without a usual time nothing is late yet.
            if builds.usual:
                self._late[name] = now, found
        return found

    @property
    def creating(self) -> bool:
        """True while a create waits for its answer."""
        return any(ongoing.launch.phase == Phase.CREATING for ongoing in self.values())

    def creating_at(self, provider: str) -> bool:
        """Return True while a create of the provider waits for its answer."""
        return any(one.launch.phase == Phase.CREATING and one.launch.provider == provider for one in self.values())

    @property
    def is_any_queued(self) -> bool:
        """True while a create waits to be sent."""
        return any(ongoing.launch.phase == Phase.QUEUED for ongoing in self.values())

    def zones(self) -> dict[tuple[str, str], list[str]]:
        """Return (provider, pool) → zones of launches whose node's record does not name a zone yet."""
        zones: dict[tuple[str, str], list[str]] = {}
        for ongoing in self.values():
            if ongoing.launch.az is not None and ongoing.node.az is None:
                zones.setdefault(ongoing.key, []).append(ongoing.launch.az)
        return zones

    def on_their_way(self) -> Counter[str]:
        """Return provider → number of servers that were asked for and are not yet ACTIVE."""
        return Counter(ongoing.actor.provider.name for ongoing in self.values() if ongoing.is_on_its_way)

    def by_build(self, provider: str) -> Counter[str]:
        """Return build → number of launches from it at a provider; those that wait after a failure do not count."""
        mine = (one for one in self.values() if one.launch.provider == provider)
        return Counter(one.build_id for one in mine if one.launch.phase != Phase.QUEUED or not one.launch.failures)

    def late_builds(self, provider: str) -> set[str]:
        """Return the builds of the launches at a provider whose requests were given other nodes."""
        return {one.build_id for one in self.values() if one.abandoned and one.launch.provider == provider}

    def waiting(self, provider: str) -> Iterator[tuple[str, float]]:
        """Yield (build, since when the server is ACTIVE) of a provider's launches whose guests do not answer yet."""
        for one in self.values():
            if one.launch.provider == provider and one.launch.phase in GUEST and one.launch.active_at is not None:
                yield one.build_id, one.launch.active_at

    def needed(self, key: tuple[str, str], besides: str | None = None) -> Counter[str]:
        """Return the narrow resources that the launches of a pool try, and for how many requests.

        Launches that are about to try them count, too, unless they are asked for to judge one of these.

        :param key: (provider, pool).
        :param besides: for whom the launch is that wants to try now; others that are queued do not count then.
        """
        others = [one for one in self.values() if one.key == key and one.witness != besides]
        tried = {(one.witness, name) for one in others for name in one.tries(queued=besides is None)}
        return Counter(name for _unused, name in tried)

    def goes_ahead(self, ongoing: LaunchInProgress) -> LaunchInProgress | None:
        """Return the launch of its set that is tried first, as launches for that label fail and nobody knows why.

        None if the launch may be tried itself.
        """
        mates = [one for one in self.of(ongoing.actor) if one.witness == ongoing.witness and one.key == ongoing.key]
        failing = [one for one in mates if one.fails_unexplained and one.launch.label == ongoing.launch.label]
        first = max(failing, key=lambda one: (len(one.launch.failures), one.node.id), default=ongoing)
        return None if first is ongoing else first

    def tried_beside(self, ongoing: LaunchInProgress) -> Counter[str]:
        """Return the families of the narrow resources that other launches of the same set try now, and by how many."""
        mates = [one for one in self.of(ongoing.actor) if one is not ongoing and one.witness == ongoing.witness]
        trying = [one for one in mates if one.is_on_its_way and not one.has_host and one.key == ongoing.key]
        return Counter(family(name) for one in trying for name in one.narrow)

    def queued(self) -> Counter[tuple[str, str]]:
        """Return (provider, pool) → number of launches whose create is not sent yet.

        Those that wait after a failure of their image do not count: they would keep others away.
        """
        queued = (one for one in self.values() if one.launch.phase == Phase.QUEUED and not one.failed_for_image)
        return Counter(one.key for one in queued)

    def like(self, ongoing: LaunchInProgress) -> list[LaunchInProgress]:
        """Return the other launches at its provider with the same image and flavor."""
        kind = (ongoing.label.image_name, ongoing.flavor)
        others = (one for one in self.of(ongoing.actor) if one is not ongoing)
        return [one for one in others if (one.label.image_name, one.flavor) == kind]

    def to_float(self) -> set[str]:
        """Return the ids of the nodes that will most likely need a floating IP."""
        floats: dict[tuple[int, int], bool] = {}
        found = set()
        for node_id, ongoing in self.items():
            # A configuration that was read again has different objects for the same pool.
            kind = id(ongoing.pool), id(ongoing.label)
            if kind not in floats:
                floats[kind] = ongoing.actor.known.floats(ongoing.pool, ongoing.label)
            if floats[kind]:
                found.add(node_id)
        return found

    def troubled(self, now: float) -> set[str]:
        """Return the ids of requests with a launch that may be stuck: a waiting create, or a provider in trouble."""
        unwell = {id(actor): actor.health.troubled_for(now) > 0 for actor in {one.actor for one in self.values()}}
        return {
            ongoing.launch.request_id
            for ongoing in self.values()
            if ongoing.launch.request_id and (ongoing.launch.phase == Phase.QUEUED or unwell[id(ongoing.actor)])
        }

    def unanswered(self, actor: ProviderActor) -> Resources:
        """Return the resources that the provider's unanswered creates will use."""
        return total(
            size_of(ongoing.node)
            for ongoing in self.of(actor)
            if ongoing.launch.phase in (Phase.CREATING, Phase.UNCLEAR)
        )

    def watched(self, actor: ProviderActor) -> Watched:
        """Return what the provider's launches wait for in its server list."""
        launches = [ongoing.launch for ongoing in self.of(actor)]
        booting = [ongoing for ongoing in self.of(actor) if ongoing.launch.phase == Phase.BOOTING]
        return Watched(
            booting_since=[one.booting_since for one in booting if not is_gate_label(one.launch.label)],
            patient_since=[one.booting_since for one in booting if is_gate_label(one.launch.label)],
            tried_since=[one.booting_since for one in booting if one.on_trial and not one.has_host],
            unclear=sum(1 for launch in launches if launch.phase == Phase.UNCLEAR),
            hurry=any(launch.phase == Phase.CLEARING for launch in launches),
            behind=sum(1 for launch in launches if launch.phase in (Phase.QUEUED, Phase.CREATING)),
        )

    def next_due(self, now: float) -> float:
        """Return the seconds until the first waiting launch may go on."""
        waits = [
            ongoing.launch.not_before - now
            for ongoing in self.values()
            if ongoing.launch.phase in (Phase.QUEUED, Phase.ADDRESSING)
            and not ongoing.busy
            and ongoing.launch.not_before > now
        ]
        return max(0.05, min(waits, default=float("inf")))


def text_of(server: Server | None, failure: Failure) -> str:
    """Return what is wrong with a server, as a text for the operator."""
    if server is None:
        return "an unanswered create produced no server" if failure is Failure.API else "the server no longer exists"
    return (server.fault or f"the server is in status {server.status}").strip()


def request_values(request: NodeRequest | None) -> dict[str, Any]:
    """Return the values that dynamic-instance-properties may use (Nodepool's list)."""
    if request is None:
        return {}
    return {
        "id": request.id,
        "labels": list(request.node_types),
        "requestor": request.requestor,
        "requestor_data": request.requestor_data,
        "relative_priority": request.relative_priority,
        "event_id": request.event_id,
        "created_time": request.created_time,
        "tenant_name": request.tenant_name,
    }


def pool_id_of(context: Context, ongoing: LaunchInProgress) -> str:
    """Return the id of a launch's pool; the node's record names a pool that has left the configuration."""
    return context.pool_ids.get(ongoing.key) or ongoing.node.launcher or ""
