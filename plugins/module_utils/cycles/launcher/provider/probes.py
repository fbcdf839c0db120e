# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The few calls that show what became of a provider in trouble: whether it is back, and whether it is dead or slow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ....clients.openstack.cloud_client import CloudClient
from ....clients.openstack.kinds import GLANCE, KEYSTONE, NEUTRON, NOVA
from ....launching.resolver import names_networks
from ....model.config.types import Provider
from ....model.errors import CloudError
from ...frame.inbox import Inbox
from ...frame.workers import WorkerSet
from .health import LISTENED, Health

LIST = "GET /servers/detail"
SERVICE_PROBE = 30.0
"""Seconds without news after which a service in trouble is tried with a cheap call."""


class Probes:
    """These calls of one provider. Used by the cycle's thread only.

    :param client, health, provider: return what the provider has at that moment; a new configuration replaces it.
    """

    def __init__(
        self,
        inbox: Inbox,
        workers: WorkerSet,
        client: Callable[[], CloudClient],
        health: Callable[[], Health],
        provider: Callable[[], Provider],
    ) -> None:
        self._inbox = inbox
        self._workers = workers
        self._client = client
        self._health = health
        self._provider = provider
        self._services: set[str] = set()
        """The services that are being tried."""

    def step(self, now: float) -> None:
        """Make the calls that are due. Called once per pass."""
        self._probe(now)
        self._probe_services(now)
        self._listen(now)

    def _probe(self, now: float) -> None:
        """Try an API that asked for a pause with one cheap call: it may work long before the pause is over."""
        health = self._health()
        if health.probe_due(now):
            self._submit("GET /os-availability-zone", self._client().availability_zones, health.probed)

    def _probe_services(self, now: float) -> None:
        """Try a service in trouble of which nothing was heard for a while: nothing else may call it now."""
        client, health = self._client(), self._health()
        reads: dict[str, tuple[str, Callable[[], Any]]] = {
            NOVA: ("GET /os-availability-zone", client.availability_zones),
            KEYSTONE: ("GET /os-availability-zone", client.availability_zones),
            NEUTRON: ("GET /networks", partial(client.list_networks, needed=names_networks(self._provider()))),
            GLANCE: ("GET /images", client.image_names),
        }
        for name in health.overdue(now, SERVICE_PROBE):
            if name in reads and name not in self._services and now >= health.held_until(reads[name][0]):
                self._services.add(name)
                self._submit(*reads[name], partial(self._service_probed, name, reads[name][0]))

    def _service_probed(self, name: str, kind: str, error: CloudError | None, now: float) -> None:
        self._services.discard(name)
        self._health().heard(error, now, kind)

    def _listen(self, now: float) -> None:
        """Try a provider that does not answer with a cheap call, which shows whether it is dead or only slow."""
        health = self._health()
        if health.listens(now):
            self._submit(LISTENED, self._client().list_keypairs, health.told)
        seconds = health.measures(now)
        if seconds > 0:
            self._submit(LIST, partial(self._client().first_server, seconds), partial(self._measured, health))

    @staticmethod
    def _measured(health: Health, error: CloudError | None, now: float) -> None:
        health.heard(error, now, LIST)

    def _submit(self, kind: str, read: Callable[[], Any], told: Callable[[CloudError | None, float], None]) -> None:
        def answered(_found: Any, error: CloudError | None) -> None:
            told(error, self._inbox.clock())
            self._inbox.nudge()

        self._workers.submit(kind, read, answered)
