# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Component registrations: ``/nodepool/components/<kind>/<hostname><10 digits>``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .documents import Document, Reader, dump, whole

MODEL_API = 0
"""Nodepool's daemons refuse to start when every registered component has a higher number than they have."""
DEFAULT_POOL_PRIORITY = 100


class ComponentKind:
    """The kinds of components that Nodepool registers."""

    LAUNCHER = "launcher"
    BUILDER = "builder"
    POOL = "pool"


class ComponentState:
    """The states of a component."""

    INITIALIZING = "initializing"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    ABSENT = "absent"
    """Of a lasting registration. Nodepool does not have it, and its launchers do not look at the state of a pool."""


OUR_POOLS = "stackci-PoolWorker."
"""What the launcher ids of our pools begin with."""


def is_lasting(document: Mapping[str, Any]) -> bool:
    """Return True for the registration of a pool that outlives its launcher, and says nothing about one."""
    return document.get("state") == ComponentState.ABSENT


def registration(kind: str, hostname: str, fields: Mapping[str, Any]) -> bytes:
    """Return the document of a registration; *fields* may override defaults, but not kind, hostname or model_api."""
    document = {"state": ComponentState.INITIALIZING, "version": "unknown", **fields}
    document.update(kind=kind, hostname=hostname, model_api=MODEL_API)
    return dump(document, sort_keys=True)


def _priority(value: Any) -> int:
    number = whole(value)
    return DEFAULT_POOL_PRIORITY if number is None else number


@dataclass
class PoolComponent(Document):
    """A registered provider pool of any launcher.

    *id* is the launcher id that ``declined_by`` names. The version of the launcher's software is in ``extra``, because
    ``version`` is the version of the znode.
    """

    NEEDED: ClassVar[tuple[str, ...]] = ("id", "provider_name")
    READ: ClassVar[Mapping[str, Reader]] = {"priority": _priority, "paused": lambda value: value is True}
    BESIDE: ClassVar[tuple[str, ...]] = ("path",)

    id: str = ""
    name: str | None = None
    provider_name: str | None = None
    supported_labels: list[str] = field(default_factory=list)
    priority: int = DEFAULT_POOL_PRIORITY
    paused: bool = False
    state: str = ""
    hostname: str | None = None
    kind: str | None = None
    model_api: int = MODEL_API
    path: str = ""

    @property
    def is_ours(self) -> bool:
        """True for a pool of this collection's launchers, False for one of Nodepool's."""
        return self.id.startswith(OUR_POOLS)


def stock_providers(pools: Iterable[PoolComponent]) -> dict[str, str]:
    """Return the providers that launchers of Nodepool work on, each with the host name of its launcher.

    :param pools: the registered pools of all launchers.
    """
    return {pool.provider_name or "": pool.hostname or "another host" for pool in pools if not pool.is_ours}
