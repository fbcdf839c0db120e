# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses and floating IPs of active servers. One call lists the ports for all waiting servers of a provider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ....clients.openstack.addresses import (
    FloatingIpTarget,
    floating_ip_targets,
    needs_floating_ip,
    reached_addresses,
)
from ....clients.openstack.kinds import service_of
from ....model import owner
from ....model.cloud import (
    FloatingIp,
    Network,
    Port,
    ReachedAddresses,
    Server,
)
from ....model.errors import (
    CloudConflict,
    CloudError,
    CloudRefused,
)
from ....model.launch import (
    Launch,
    Written,
    floating_ip_description,
    written_by,
)
from ..context.context import Context
from ..provider.actor import ProviderActor
from ..provider.lacks import POLICY

Done = Callable[["CloudError | None"], None]


MOST_UNHEARD = 2
"""Number of creates of a floating IP after which a launch fails, if each had no answer or the answer that the address
has one already, and no floating IP is found."""


@dataclass(frozen=True, eq=False)
class _Wish:
    launch: Launch
    server: Server
    done: Done
    era: object
    """The era in which the wish was made. Answers for a wish of an earlier era are ignored: its launch was
    given up and may have been adopted since."""
    unheard: tuple[CloudError, ...] = ()
    """The errors of creates that may have made a floating IP."""


class Addressing:
    """The floating IPs that the cycle's launches wait for."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._wishes: dict[str, list[_Wish]] = {}
        self._eras: dict[str, object] = {}
        """Provider → what its present wishes have in common; another one after they were forgotten."""

    def addresses(self, actor: ProviderActor, server: Server, networks: Sequence[Network]) -> ReachedAddresses:
        """Return the server's addresses sorted into Nodepool's fields."""
        client = actor.client
        return reached_addresses(
            server,
            networks,
            private=client.private,
            force_ipv4=client.force_ipv4,
            roles=client.roles,
            local_ipv6=client.local_ipv6,
        )

    def needed(self, actor: ProviderActor, server: Server, networks: Sequence[Network]) -> bool:
        """Return True if the server can only be reached by a floating IP."""
        return needs_floating_ip(server, networks, private=actor.client.private, roles=actor.client.roles)

    def drop(self) -> None:
        """Forget all wishes, and ignore answers that are under way."""
        self._wishes.clear()
        self._eras.clear()

    def drop_provider(self, name: str) -> None:
        """Forget the wishes at a provider that moves to another host."""
        self._wishes.pop(name, None)
        self._eras.pop(name, None)

    def want(self, launch: Launch, actor: ProviderActor, server: Server, done: Done) -> None:
        """Get a floating IP for a server; note it in the launch's record before *done* is called."""
        name = actor.provider.name
        era = self._eras.setdefault(name, object())
        self._wishes.setdefault(name, []).append(_Wish(launch, server, done, era))

    def _is_present(self, wish: _Wish) -> bool:
        return self._eras.get(wish.launch.provider) is wish.era

    def step(self) -> None:
        """Look up the ports or floating IPs for all waiting servers, with one call of each kind per provider."""
        for name, wishes in self._wishes.items():
            actor = self._context.actors.get(name)
            doubtful = [wish for wish in wishes if wish.launch.floating_doubt]
            fresh = [wish for wish in wishes if not wish.launch.floating_doubt]
            if actor is not None and fresh:
                self._look_up(actor, fresh)
            if actor is not None and doubtful:
                self._recall(actor, doubtful)
        self._wishes = {}

    def _recall(self, actor: ProviderActor, wishes: list[_Wish]) -> None:
        """List the floating IPs once for all servers that may have one; create one for those that have none."""

        def answered(known: list[FloatingIp] | None, error: CloudError | None) -> None:
            present = [wish for wish in wishes if self._is_present(wish)]
            if known is None:
                for wish in present:
                    wish.done(error)
                return
            by_mark = {written.mark: item for item in known if (written := self._ours(item, actor)) is not None}
            missing = []
            for wish in present:
                found = by_mark.get(wish.launch.mark)
                if found is None and len(wish.unheard) >= MOST_UNHEARD:
                    wish.done(wish.unheard[-1])
                elif found is None:
                    missing.append(wish)
                else:
                    wish.launch.floating_ip_id, wish.launch.floating_address = found.id, found.address
                    wish.done(None)
            if missing:
                self._look_up(actor, missing)

        actor.call("GET /floatingips", actor.client.list_floating_ips, answered)

    def _ours(self, floating: FloatingIp, actor: ProviderActor) -> Written | None:
        """Return the content of its description, unless another provider or another tree wrote it."""
        return written_by(floating.description, actor.provider.name, self._context.site)

    def _look_up(self, actor: ProviderActor, wishes: list[_Wish]) -> None:
        ids = [wish.server.id for wish in wishes]

        def answered(ports: list[Port] | None, error: CloudError | None) -> None:
            for wish in wishes:
                if not self._is_present(wish):
                    continue
                if ports is None:
                    wish.done(error)
                else:
                    self._attach(actor, wish, ports)

        actor.call("GET /ports", lambda: actor.client.list_ports(ids), answered)

    def _attach(
        self, actor: ProviderActor, wish: _Wish, ports: Sequence[Port], refused: CloudError | None = None
    ) -> None:
        """Create a floating IP for the first choice of networks that neutron has not refused lately.

        :param refused: the refusal of the choice before.
        """
        networks, dead_ends = actor.known.networks.value or [], actor.known.dead_ends.known(self._context.now())
        targets = floating_ip_targets(wish.server, networks, ports, roles=actor.client.roles, dead_ends=dead_ends)
        if not targets:
            wish.done(_nowhere(wish.server, refused))
            return
        target = targets[0]

        def answered(created: FloatingIp | None, error: CloudError | None) -> None:
            if not self._is_present(wish):
                return
            if created is not None:
                wish.launch.floating_ip_id = created.id
                wish.launch.floating_address = created.address
            elif error is not None and (error.unclear or _is_second(error)):
                # The floating IP may exist. If the launch failed now, nothing would look for it.
                wish.launch.floating_doubt = True
                again = replace(wish, unheard=(*wish.unheard, error))
                self._wishes.setdefault(actor.provider.name, []).append(again)
                return
            elif error is not None and actor.known.dead_ends.learn(target, error, self._context.now()):
                self._attach(actor, wish, ports, error)
                return
            wish.done(error)

        text = floating_ip_description(wish.launch.mark, wish.launch.provider, self._context.site)
        actor.call("POST /floatingips", lambda: _create(actor, target, text), answered)


def told_refusal(error: CloudError, whose: str) -> str:
    """Return the refusal of a call that a floating IP takes, with the remedy if the account may not make the call."""
    forbids = f"; {service_of(error.call)} forbids this call to the account: {POLICY}"
    return str(error) + (forbids if whose == owner.ACCOUNT else "")


def _nowhere(server: Server, refused: CloudError | None) -> CloudRefused:
    """Return the error of a server for which no pair of networks is left; neutron's last refusal classifies it."""
    remedy = (
        "connect a router, or choose the networks with nat_source and nat_destination under 'networks' of the cloud in"
        " clouds.yaml"
    )
    if refused is None:
        return CloudRefused(f"server {server.id} has no port that a floating IP can be attached to: {remedy}")
    return CloudRefused(
        f"{refused} No other external network and no other port of the server is left: {remedy}",
        provider=refused.provider,
        call=refused.call,
        status=refused.status,
        error_type=refused.error_type,
    )


def _is_second(error: CloudError) -> bool:
    """Return True if neutron says that the fixed address has a floating IP already: most likely from an earlier create.

    This is neutron's FloatingIPPortAlreadyAssociated; other conflicts (no addresses left) are final answers.
    """
    return isinstance(error, CloudConflict) and "already has a floating ip" in str(error).lower()


def _create(actor: ProviderActor, target: FloatingIpTarget, description: str) -> FloatingIp:
    return actor.client.create_floating_ip(target.network_id, target.port_id, target.fixed_address, description)
