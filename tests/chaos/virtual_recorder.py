# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records the history of a world on virtual time."""

from __future__ import annotations

from typing import Any

from kazoo.protocol.serialization import Create2, Delete, GetChildren, GetData, SetData

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.multi import (
    Multi,
    changes,
    failure,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.cloud import (
    FloatingIp,
    Image,
    Port,
    ServerSpec,
    Volume,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.types import Provider
from ansible_collections.stackci.nodepool.plugins.module_utils.model.errors import CloudQuotaRefused
from tests.chaos.history import CREATE, DELETE, SET, Change, Configured, CreateRefused, Event, Remains, ServerDeleted
from tests.support.memory_zookeeper import MemorySession
from tests.support.virtual_client import VirtualClient
from tests.support.virtual_cloud import VirtualCloud
from tests.support.world import World

_EPHEMERAL = 1


class VirtualRecorder:
    """Wraps ZooKeeper and the clouds of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.events: list[Event] = []
        self._foreign: set[str] = set()
        self._wrap_keeper()
        for name, cloud in world.clouds.items():
            self._wrap_cloud(name, cloud)
        self._wrap_clients()
        self.configured()

    def configured(self) -> None:
        """The configuration has been written."""
        pools = {
            f"{provider.name}/{pool.name}": (pool.max_servers, frozenset(pool.labels))
            for provider in self.world.config.providers.values()
            for pool in provider.pools.values()
        }
        self.events.append(Configured(self.world.agenda.now, pools))

    def plant(self) -> None:
        """Put servers, ports, volumes, images and addresses of others into every cloud."""
        for cloud in self.world.clouds.values():
            cloud.add_foreign()
            cloud.add_foreign(stackci_site="f" * 32, nodepool_provider_name="east", nodepool_node_id="0000000001")
            cloud.down_ports["port-foreign"] = Port("port-foreign", "gone", "net-private", ("10.9.9.9",), "DOWN")
            cloud.volumes["volume-foreign"] = Volume("volume-foreign", "data", "available")
            cloud.own_images["image-foreign"] = Image("image-foreign", "golden", "active")
            address = FloatingIp("fip-foreign", "203.0.113.251", "DOWN", "", "")
            cloud.floating_ips["fip-foreign"] = (address, None)
        self._foreign = set(self._things())

    def remains(self) -> Remains:
        """What is there now."""
        clouds = self.world.clouds
        addresses = {
            (name, ident): str(server)
            for name, cloud in clouds.items()
            for ident, (_address, server) in cloud.floating_ips.items()
            if ident != "fip-foreign"
        }
        servers = frozenset((name, machine.id) for name, cloud in clouds.items() for machine in cloud.ours())
        return Remains(servers, addresses, frozenset(self._foreign), frozenset(self._things()))

    def _things(self) -> list[str]:
        found = []
        for name, cloud in self.world.clouds.items():
            for kind, things in (
                ("server", cloud.machines),
                ("port", cloud.down_ports),
                ("volume", cloud.volumes),
                ("image", cloud.own_images),
                ("floating IP", cloud.floating_ips),
            ):
                found += [f"{name} {kind} {ident}" for ident in things]
        return found

    # -- inside --------------------------------------------------------------------------------------------------

    def _wrap_keeper(self) -> None:
        keeper = self.world.keeper
        answer, end_session = keeper.answer, keeper.end_session

        def answered(request: Any, session: MemorySession) -> Any:
            value = answer(request, session)
            if not isinstance(request, GetData | GetChildren) and not (
                isinstance(request, Multi) and failure(value) is not None
            ):
                for change, result in changes(request, value):
                    self._change(change, result, session.owner)
            return value

        def ended(owner: int) -> None:
            mine = [path for path, znode in keeper.znodes.items() if znode.owner == owner]
            end_session(owner)
            self.events += [Change(self.world.agenda.now, owner, DELETE, path) for path in mine]

        keeper.answer = answered  # type: ignore[method-assign]
        keeper.end_session = ended  # type: ignore[method-assign]

    def _change(self, change: Any, result: Any, session: int) -> None:
        now = self.world.agenda.now
        if isinstance(change, Create2):
            owner = session if change.flags & _EPHEMERAL else 0
            self.events.append(Change(now, session, CREATE, result[0], change.data, owner))
        elif isinstance(change, SetData):
            self.events.append(Change(now, session, SET, change.path, change.data))
        elif isinstance(change, Delete):
            self.events.append(Change(now, session, DELETE, change.path))

    def _wrap_cloud(self, name: str, cloud: VirtualCloud) -> None:
        delete = cloud.delete

        def deleted(server_id: str) -> None:
            self.events.append(ServerDeleted(self.world.agenda.now, name, server_id))
            delete(server_id)

        cloud.delete = deleted  # type: ignore[method-assign]

    def _wrap_clients(self) -> None:
        """A create is under way from when the launcher sends it, also while it waits for the rate of its provider."""
        world, agenda = self.world, self.world.agenda
        client = world.client

        def made(provider_of: Provider) -> VirtualClient:
            one = client(provider_of)
            create = one.create_server

            def created(spec: ServerSpec, seconds: float | None = None) -> str:
                began = agenda.now
                try:
                    return create(spec, seconds)
                except CloudQuotaRefused:
                    self.events.append(CreateRefused(agenda.now, began, provider_of.name))
                    raise

            one.create_server = created  # type: ignore[method-assign]
            return one

        world.client = made  # type: ignore[method-assign]
