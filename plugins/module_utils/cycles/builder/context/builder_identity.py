# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The identity of a builder in ZooKeeper: who it is, where it works and what it lists, for as long as it lives.

Builds belong to a builder by its id, and their files are in its images-dir. Two hosts that work under one id take each
other's builds for their own: they end them, and remove their records and files. So a builder that is alive elsewhere is
refused.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ....clients.diskimage_builder.images_dir import BUILDER_ID_FILE
from ....clients.proc import boot_id, pid_namespace
from ....clients.zookeeper.components import Registration
from ....clients.zookeeper.link import paths
from ....clients.zookeeper.store import Store
from ....imaging.listed import Listed
from ....model.config.types import NodepoolConfig
from ....model.documents import text
from ....model.errors import NodepoolError
from ....model.own_tree import LIVE_BUILDERS

MARGIN = 5.0
"""Seconds beyond the session time-out for which the other builder may still be shown after its death."""
PACE = 0.5
"""Seconds between two looks at the other builders."""


class BuilderElsewhere(NodepoolError):
    """A builder with the same id is alive on another host, or with another images-dir."""


@dataclass(frozen=True)
class Place:
    """Where a builder works.

    *folder*: device and inode of images-dir, *boot* and *namespace* those of the machine and of the processes; empty
    when unknown.
    """

    host: str
    images_dir: str
    folder: str
    boot: str
    namespace: str

    @classmethod
    def here(cls, images_dir: str) -> Place:
        """Return the place of this process."""
        try:
            found = os.stat(images_dir)
            folder = f"{found.st_dev}:{found.st_ino}"
        except OSError:
            folder = ""
        return cls(socket.gethostname(), os.path.abspath(images_dir), folder, boot_id(), pid_namespace())

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Place:
        """Read what was stored; what is not a text counts as unknown."""
        return cls(**{name: text(document.get(name)) or "" for name in cls.__dataclass_fields__})

    def is_same(self, other: Place) -> bool:
        """Return True when both work on the same files of the same machine.

        Containers of one machine have host names of their own, and share the locks of files.
        """
        if (self.boot, self.folder) != (other.boot, other.folder):
            return False
        return self.host == other.host or (bool(self.boot) and self.namespace != other.namespace)


class Identity:
    """The registration of this builder's cycle.

    :param clock: monotonic seconds.
    """

    def __init__(
        self,
        store: Store,
        config: NodepoolConfig,
        builder_id: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleeper: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._builder_id = builder_id
        self._place = Place.here(config.images_dir or "")
        self._patience = config.zookeeper.timeout + MARGIN
        self._clock = clock
        self._sleeper = sleeper
        self._fields = {"builder_id": builder_id, **asdict(self._place), **Listed.of(config).document()}
        self._registration: Registration | None = None

    def begin(self) -> None:
        """Register; wait until a dead builder elsewhere is not shown any more.

        :raises BuilderElsewhere: the other one is alive.
        :raises StoreError: ZooKeeper cannot be used.
        """
        end = self._clock() + self._patience
        self._registration = self._store.components.register(
            LIVE_BUILDERS, self._place.host, self._fields, root=paths.OWN
        )
        try:
            while self._rival() is not None and self._clock() < end:
                self._sleeper(PACE)
            self.check()
        except BaseException:
            self.end()
            raise

    def check(self) -> None:
        """Check that no older registration elsewhere has this id; call it before each round of work.

        :raises BuilderElsewhere: one has. It was there first, or this builder was away from ZooKeeper for long.
        """
        rival = self._rival()
        if rival is not None:
            path = os.path.join(self._place.images_dir, BUILDER_ID_FILE)
            raise BuilderElsewhere(
                f"builder {self._builder_id} is alive on {rival.host} with images-dir {rival.images_dir}: this"
                f" one, on {self._place.host} with {self._place.images_dir}, does nothing. Give each host its"
                f" own images-dir. If {path} is a copy, remove it: this builder then gets a new id"
            )

    def listing(self, config: NodepoolConfig) -> None:
        """Tell what a changed configuration lists. Without a connection, it is told after the reconnection."""
        if self._registration is not None:
            self._registration.update(**Listed.of(config).document())

    def end(self) -> None:
        """Remove the registration. Never raises."""
        if self._registration is not None:
            self._registration.unregister()

    def _rival(self) -> Place | None:
        """Return the place of an older registration of this builder that is elsewhere."""
        mine = _number(self._registration.path or "") if self._registration is not None else None
        for name, document in live_builders(self._store).items():
            place = Place.from_document(document)
            older = mine is None or _number(name) < mine
            if older and document.get("builder_id") == self._builder_id and not place.is_same(self._place):
                return place
        return None


def live_builders(store: Store) -> dict[str, dict[str, Any]]:
    """Return the documents of the registered builder cycles from the cache, by the name of their znode."""
    found = {name: store.own.get(f"{LIVE_BUILDERS}/{name}") for name in store.own.children(LIVE_BUILDERS)}
    return {name: document for name, document in found.items() if document is not None}


def _number(name: str) -> int:
    """Return the number that ZooKeeper has given to the registration; they rise."""
    with contextlib.suppress(ValueError):
        return int(name[-10:])
    return -1
