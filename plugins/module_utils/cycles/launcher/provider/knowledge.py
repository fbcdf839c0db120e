# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The offer of one cloud: flavors, zones, networks, images, and the names that a launch may be refused for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from operator import is_
from typing import Any, Protocol, TypeVar

from ....clients.openstack.addresses import will_need_floating_ip
from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.kinds import CINDER, NEUTRON
from ....launching.resolver import floating_problems, is_id
from ....model.cloud import Flavor, Image, Network, SecurityGroup, ServerGroup
from ....model.config.types import Pool, PoolLabel, Provider
from ....model.errors import CloudError, CloudUnavailable
from .dead_ends import DeadEnds
from .denials import Denials
from .facts import Fact
from .lacks import Lack, flavors_of

T = TypeVar("T")

HOUR = 3600.0
IMAGE_AGE = 300.0
TOGETHER = 5.0
"""Seconds after a doubt in which another one adds nothing: the reading that follows the first one answers both."""
DOUBT = 10.0
"""Longest wait in seconds for facts that are read again after a doubt."""


class MakeFact(Protocol):
    """Makes a fact of the provider."""

    def __call__(self, what: str, read: Callable[[], Any], max_age: float, /, *, heeded: bool = True) -> Fact[Any]:
        """Return a new fact. *heeded*: True if errors of its reading count for the health of the API."""


class Kept:
    """Results that a pass needs as the pass before did: each is made again only if what it was made of was replaced."""

    def __init__(self) -> None:
        self._results: dict[Hashable, tuple[tuple[object, ...], Any]] = {}

    def once(self, place: Hashable, made_of: tuple[object, ...], make: Callable[[], T]) -> T:
        """Return the result of *make*, which is called again only if an object of *made_of* is another one.

        :param place: names what is kept. Nobody may change the result, nor what it was made of.
        """
        before = self._results.get(place)
        if before is None or not all(map(is_, made_of, before[0])):
            before = self._results[place] = made_of, make()
        result: T = before[1]
        return result


class LabelLook:
    """What one state of the known facts says about one label of a pool, see :meth:`Knowledge.look`."""

    def __init__(self, known: Knowledge, client: CloudClient, pool: Pool, label: PoolLabel) -> None:
        self.known = known
        self.pool = pool
        self.label = label
        self._client = client
        self._networks = known.networks.value
        self._answers: dict[str, Any] = {}
        self.usual: Any = None
        """What :mod:`..context.launch_templates` made of it, for as long as nothing else is odd."""

    def once(self, what: str, look: Callable[[], T]) -> T:
        """Return the result of *look*, which is called once; it may depend on the label and the known facts alone."""
        if what not in self._answers:
            self._answers[what] = look()
        result: T = self._answers[what]
        return result

    @cached_property
    def named(self) -> Sequence[Fact[Any]]:
        """The facts in which the names of the label are looked up, except flavor and image; only those it needs."""
        known, pool, label = self.known, self.pool, self.label
        # The networks are needed even when none is named: nova does not choose between several.
        facts: list[Fact[Any]] = [known.networks]
        if pool.availability_zones:
            facts.append(known.every_zone)
        if label.key_name is not None:
            facts.append(known.keypairs)
        if pool.security_groups:
            facts.append(known.security_groups)
        if label.launches.server_group is not None:
            facts.append(known.server_groups)
        return facts

    @cached_property
    def awaited(self) -> Sequence[Fact[Any]]:
        """Those of them for whose first answer a launch waits.

        Without named networks the create looks at them, so that a slow neutron delays no record of a node.
        """
        networks = self.label.networks or self.pool.networks
        return [fact for fact in self.named if networks or fact is not self.known.networks]

    @cached_property
    def floats(self) -> bool:
        """True if nodes of the label most likely get a floating IP."""
        client, names = self._client, self.label.networks or self.pool.networks
        return self.pool.auto_floating_ip and will_need_floating_ip(
            names, self._networks or [], private=client.private, roles=client.roles
        )

    def floating_problems(self, now: float) -> Sequence[str]:
        """Return why nodes of the label that need a floating IP can get none; empty while that is not known."""
        dead_ends = self.known.dead_ends.known(now)

        def problems() -> Sequence[str]:
            return list(floating_problems(self.pool, self.label, self._networks, self._client, dead_ends))

        # Dead ends are rare, and each moment has a set of its own.
        return problems() if dead_ends else self.once("floating problems", problems)


class Knowledge:
    """The known facts about one provider's cloud, each read when it is needed.

    :param name: the name of the provider.
    :param client: returns the current client.
    :param by_name: returns True if some label names a network by its name.
    """

    def __init__(
        self,
        name: str,
        client: Callable[[], CloudClient],
        clock: Callable[[], float],
        fact: MakeFact,
        by_name: Callable[[], bool] = lambda: False,
    ) -> None:
        self._name = name
        self._client = client
        self._clock = clock
        self._fact = fact
        self.denials = Denials()
        self.dead_ends = DeadEnds()
        self.doubted_at = float("-inf")
        """UNIX time at which the cloud last said that something which the facts have does not exist."""
        self.flavors: Fact[list[Flavor]] = fact("GET /flavors/detail", lambda: flavors_of(client()), HOUR)
        self.zones: Fact[list[str]] = fact("GET /os-availability-zone", self._read_zones, HOUR)
        self.networks: Fact[list[Network]] = fact(
            "GET /networks", lambda: client().list_networks(needed=by_name()), HOUR
        )
        # Names that a launch may be refused for. Whether they can be read says nothing about the API's health.
        self.every_zone: Fact[list[str]] = fact("GET /os-availability-zone", self._read_every_zone, HOUR, heeded=False)
        self.keypairs: Fact[list[str]] = fact("GET /os-keypairs", lambda: client().list_keypairs(), HOUR, heeded=False)
        self.security_groups: Fact[list[SecurityGroup]] = fact(
            "GET /security-groups", lambda: client().list_security_groups(), HOUR, heeded=False
        )
        self.server_groups: Fact[list[ServerGroup]] = fact(
            "GET /os-server-groups", lambda: client().list_server_groups(), HOUR, heeded=False
        )
        self.image_names: Fact[list[str]] = fact("GET /images", lambda: client().image_names(), HOUR, heeded=False)
        self.images: dict[str, Fact[list[Image]]] = {}
        self.kept = Kept()
        self._hidden: dict[tuple[str, str], list[Lack]] = {}
        """Pool and label → the lists of which items cannot be read, one of which may be what the label names."""

    @property
    def facts(self) -> tuple[Fact[Any], ...]:
        """The facts whose readings count for the health of the API."""
        return (self.flavors, self.zones, self.networks, *self.images.values())

    @property
    def names(self) -> tuple[Fact[Any], ...]:
        """The facts whose readings say nothing about the health of the API: names that a launch may be refused for."""
        return (*self._of_labels, self.image_names)

    @property
    def _of_labels(self) -> tuple[Fact[Any], ...]:
        return (self.every_zone, self.keypairs, self.security_groups, self.server_groups)

    def image(self, name: str) -> Fact[list[Image]]:
        """Return the fact of the images with a name, or of the one with an id."""
        if name not in self.images:
            self.images[name] = self._fact("GET /images", lambda: self._client().images_named(name), IMAGE_AGE)
        return self.images[name]

    def look(self, pool: Pool, label: PoolLabel) -> LabelLook:
        """Return what the known facts say about a label: the same object until the label or one of them changes."""
        client = self._client()
        made_of = (
            pool,
            label,
            client,
            client.private,
            client.roles,
            self.flavors.value,
            self.networks.value,
            self.every_zone.value,
            self.keypairs.value,
            self.security_groups.value,
            self.server_groups.value,
        )
        return self.kept.once((pool.name, label.name), made_of, lambda: LabelLook(self, client, pool, label))

    def note_hidden(self, place: tuple[str, str], errors: Iterable[CloudError], now: float) -> None:
        """Note which lists may have what a label names among the items that cannot be read; none: it is not so.

        :param place: pool and label.
        """
        since = {lack.kind: lack.since for lack in self._hidden.pop(place, ())}
        found = [Lack(error.call, error, since.get(error.call, now)) for error in errors]
        if found:
            self._hidden[place] = found

    def hidden(self, provider: Provider) -> list[Lack]:
        """Return the lists that may have what labels of the provider name among the items that cannot be read."""
        if not self._hidden:
            return []
        places = {(pool.name, label) for pool in provider.pools.values() for label in pool.labels}
        return [lack for place, lacks in self._hidden.items() if place in places for lack in lacks]

    def is_doubtful(self, now: float) -> bool:
        """Return True if more is known of some label than the facts say: that nova or neutron denies it something."""
        return bool(self._hidden or self.networks.failures or self.dead_ends.known(now) or self.denials.images.ids(now))

    def learn_zones(self, document: object) -> None:
        """Take over the zones of earlier cycles; a reading that lacks one of them is dropped, as a cell was down."""
        self.denials.learn(document)
        for fact in (self.zones, self.every_zone):
            if fact.value is not None and set(self.denials.zones) - set(fact.value):
                fact.value, fact.answered_at = None, None
                fact.forget()

    def doubt(self, now: float) -> None:
        """Note that the cloud says that something which the facts have does not exist.

        What creates that were sent together are refused for is one doubt.
        """
        if now - self.doubted_at < TOGETHER:
            return
        self.doubted_at = now
        self.forget_names()

    def is_settled(self, facts: Iterable[Fact[Any]], now: float) -> bool:
        """Return True unless one of the *facts* is being read again after a doubt; a launch waits for that.

        A reading that fails, or that takes too long, does not stop a launch.
        """
        if now - self.doubted_at >= DOUBT:
            return True
        old = [fact for fact in facts if fact.age(now) > now - self.doubted_at]
        for fact in old:
            fact.want(now, 0.0)
        return not any(fact.busy for fact in old)

    def forget_names(self) -> None:
        """Read the names again at the next use, as the cloud refused a call: the known names may be wrong."""
        facts: tuple[Fact[Any], ...] = (self.flavors, self.networks, *self._of_labels)
        for fact in facts:
            fact.forget()

    def floats(self, pool: Pool, label: PoolLabel) -> bool:
        """Return True if nodes of the label most likely get a floating IP."""
        return pool.auto_floating_ip and self.look(pool, label).floats

    def floating_problems(self, pool: Pool, label: PoolLabel, now: float) -> Sequence[str]:
        """Return why nodes of the label that need a floating IP can get none; empty while that is not known."""
        return self.look(pool, label).floating_problems(now)

    def needed_services(self, pool: Pool, label: PoolLabel) -> set[str]:
        """Return the services besides nova and keystone that a launch of the label needs."""
        named = bool(label.networks or pool.networks)
        floats = pool.auto_floating_ip and (self.networks.value is None or self.floats(pool, label))
        return {*([NEUTRON] if named or floats else []), *([CINDER] if label.boot_from_volume else [])}

    def networks_needed(self, provider: Provider) -> bool:
        """Return True if some label cannot be launched without the networks."""
        return any(
            pool.max_servers > 0 and (label.networks or pool.networks)
            for pool in provider.pools.values()
            for label in pool.labels.values()
        )

    @staticmethod
    def groups_needed(provider: Provider) -> bool:
        """Return True if some label cannot be launched without the server groups: it gives the name of one."""
        return any(
            pool.max_servers > 0 and bool(label.launches.server_group) and not is_id(label.launches.server_group or "")
            for pool in provider.pools.values()
            for label in pool.labels.values()
        )

    def _read_zones(self) -> list[str]:
        zones = self._client().availability_zones()
        had = [] if zones else self.denials.none(self._clock())
        if had:
            text = f"provider {self._name}: nova shows no availability zone, but had {', '.join(had)}"
            raise CloudUnavailable(text, provider=self._name, call="GET /os-availability-zone", status=200)
        self.denials.saw(zones)
        return zones

    def _read_every_zone(self) -> list[str]:
        return self.denials.keep(self._client().availability_zones(every=True), self._clock())
