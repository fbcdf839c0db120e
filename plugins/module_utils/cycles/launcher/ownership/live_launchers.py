# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The launchers of the tree that live now: this cycle's registration, and the host that must act for each provider.

Each cycle has an ephemeral document in ``live-launchers``. The cycles of one host count as one launcher, so that a
hand-over from a cycle to the next moves nothing. Who acted last for a provider is in the provider's document.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ....clients.proc import boot_id
from ....clients.zookeeper.components import Registration
from ....clients.zookeeper.link import paths
from ....clients.zookeeper.store import Store
from ....launching.assignment import LauncherHost, assign
from ....model.documents import text, words
from ....model.errors import StoreError
from ....model.own_tree import LIVE_LAUNCHERS, PROVIDERS
from ....model.stored import is_number

HOLDER = "host"
BRIEF = "brief"
"""In the document of a provider: only cycles that end when a wish is fulfilled have acted for it."""
"""The key in a provider's document that names the host of the launcher that acts for it, or acted for it last."""
LEAST_WEIGHT, LARGEST_WEIGHT = 0.01, 100.0


@dataclass(frozen=True)
class Here:
    """The launcher that this cycle is a part of.

    :ivar host: host name and folder of its session files: two launchers of one machine are two hosts.
    :ivar weight: its share of the providers, relative to other hosts.
    :ivar prefers: the providers that it should act for; None for no preference.
    :ivar stays: False if the cycle ends as soon as its work is done.
    :ivar machine: boot of the machine, device and inode of the folder: other machines with the same names have
        another one. "" if unknown.
    """

    host: str = ""
    weight: float = 1.0
    prefers: tuple[str, ...] | None = None
    stays: bool = True
    machine: str = ""

    @classmethod
    def of(cls, folder: str | None, **more: Any) -> Here:
        """Return the launcher of this machine with that folder."""
        return cls(f"{socket.gethostname()}:{folder or ''}", machine=_machine(folder), **more)


class LiveLaunchers:
    """The registration of this cycle and the view of all others. Used by the cycle's own thread only."""

    def __init__(self, store: Store, here: Here) -> None:
        self._store = store
        self._here = here
        self._registration: Registration | None = None
        self._told: dict[str, Any] = {}
        self._computed: tuple[Any, dict[str, str]] = (None, {})

    @property
    def host(self) -> str:
        """The host that this cycle belongs to."""
        return self._here.host

    def register(self, wants: Collection[str], *, ready: bool, ending: bool = False) -> None:
        """Tell the others which providers this cycle can act for. Writes only what has changed.

        A ZooKeeper error does not fail the cycle: a later call tries again.

        :param ending: True for a cycle that ends soon: it keeps what it has, and nothing moves to it or from it.
        """
        here = self._here
        prefers = sorted(here.prefers) if here.prefers is not None else None
        fields = {"host": here.host, "weight": here.weight, "prefers": prefers, "stays": here.stays and not ending}
        fields |= {"wants": sorted(wants), "ready": ready, "machine": here.machine}
        if self._registration is None:
            with contextlib.suppress(StoreError):
                self._registration = self._store.components.register(
                    LIVE_LAUNCHERS, socket.gethostname(), fields, root=paths.OWN
                )
        elif fields != self._told:
            self._registration.update(**fields)
        self._told = fields

    def withdraw(self) -> None:
        """Remove the registration: other hosts take the providers when their locks are free."""
        if self._registration is not None:
            self._registration.unregister()
            self._registration = None

    def hosts(self) -> dict[str, LauncherHost]:
        """Return the hosts with live launchers, by name, from the cache."""
        found = dict[str, LauncherHost]()
        for one, _machine_of in self._registered():
            found[one.host] = _together(found[one.host], one) if one.host in found else one
        return found

    def _registered(self) -> list[tuple[LauncherHost, str]]:
        own = self._store.own
        found = (own.unchanging(f"{LIVE_LAUNCHERS}/{name}", _place) for name in own.children(LIVE_LAUNCHERS))
        return [one for one in found if one is not None]

    def has_twin(self) -> bool:
        """Return True if a cycle on another machine, or with another folder, counts as this launcher by its names."""
        mine = self._here
        machines = {machine for one, machine in self._registered() if one.host == mine.host}
        return bool(mine.machine) and bool(machines - {"", mine.machine})

    def count(self) -> int:
        """Return the number of live launcher cycles, this one included."""
        return len(self._store.own.children(LIVE_LAUNCHERS))

    def holder(self, provider: str) -> str | None:
        """Return the host that acts for the provider, or acted for it last; None if nobody did."""
        return self._store.own.unchanging(f"{PROVIDERS}/{provider}", _holder)

    def targets(self, hosts: Mapping[str, LauncherHost]) -> dict[str, str]:
        """Return provider → the host that must act for it."""
        holders = {name: self.holder(name) or "" for name in {name for one in hosts.values() for name in one.wants}}
        key = (dict(hosts), holders)
        if self._computed[0] != key:
            self._computed = key, assign(hosts.values(), holders)
        return self._computed[1]


def launcher_host(document: Mapping[str, Any]) -> LauncherHost | None:
    """Return what a registration says; None if it names no host."""
    host = text(document.get("host"))
    if not host:
        return None
    prefers = document.get("prefers")
    return LauncherHost(
        host,
        _weight(document.get("weight")),
        frozenset(words(document.get("wants"))),
        frozenset(words(prefers)) if prefers is not None else None,
        document.get("stays") is not False,
        document.get("ready") is True,
    )


def _place(document: Mapping[str, Any]) -> tuple[LauncherHost, str] | None:
    host = launcher_host(document)
    return (host, text(document.get("machine")) or "") if host is not None else None


def _machine(folder: str | None) -> str:
    try:
        found = os.stat(folder or "")
    except OSError:
        return ""
    return f"{boot_id()}:{found.st_dev}:{found.st_ino}"


def _weight(value: Any) -> float:
    if not is_number(value) or not math.isfinite(value):
        return 1.0
    return float(min(LARGEST_WEIGHT, max(LEAST_WEIGHT, value)))


def _together(one: LauncherHost, other: LauncherHost) -> LauncherHost:
    """Return a host with two cycles, of which one is about to take over from the other."""
    latest = other if other.stays else one
    return replace(
        latest, wants=one.wants | other.wants, stays=one.stays or other.stays, ready=one.ready or other.ready
    )


def _holder(document: Mapping[str, Any]) -> str | None:
    return text(document.get(HOLDER))


def shown_name(host: str, hosts: Collection[str]) -> str:
    """Return a host for people: its name, with the folder only if it is not the only launcher of that name."""
    name = host.partition(":")[0]
    return host if sum(other.partition(":")[0] == name for other in hosts) > 1 else name
