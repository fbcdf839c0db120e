# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registrations of the launchers, builders and pools that work on this tree."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ...model.component import (
    ComponentKind,
    ComponentState,
    PoolComponent,
    registration,
)
from ...model.documents import text, why_unreadable
from ...model.errors import StoreConflict, StoreError, StoreGone
from .link import paths
from .link.session import Session
from .link.tree import Entry

_POOLS = f"{paths.COMPONENTS}/{ComponentKind.POOL}"
_LASTING = "stackci-"
_BUILDERS = f"{paths.COMPONENTS}/{ComponentKind.BUILDER}"


class Registration:
    """A registration of this process. It renews itself after the session was lost."""

    def __init__(
        self, session: Session, kind: str, hostname: str, fields: Mapping[str, Any], root: str = paths.COMPONENTS
    ) -> None:
        self._session = session
        self._root = root
        self._kind = kind
        self._hostname = hostname
        self._fields = dict(fields)
        self._wanted = registration(kind, hostname, self._fields)
        self._lock = threading.Lock()
        self._active = True
        self._generation = 0
        self._stored = b""
        self._version = -1
        self.path: str | None = None
        """Full path of the znode; None while the component is not registered."""
        self.written = 0.0
        """ZooKeeper's time of the last write in UNIX seconds; 0 before the first."""

    def update(self, **fields: Any) -> None:
        """Change fields. Writes only when a value differs; without a connection, it writes after the reconnection."""
        with self._lock:
            if any(name not in self._fields or self._fields[name] != value for name, value in fields.items()):
                self._fields.update(fields)
                self._wanted = registration(self._kind, self._hostname, self._fields)
        with contextlib.suppress(StoreError):
            self.renew()

    def unregister(self) -> None:
        """Delete the registration. Never raises: the registration vanishes with the session at the latest."""
        with self._lock:
            self._active = False
            path, self.path = self.path, None
            if path is None or self._generation != self._session.generation:
                return
            try:
                self._session.remove([path])
            except StoreError:
                self._session.remove_later(path)

    def renew(self) -> None:
        """Create or rewrite the znode when it is missing or out of date. Also called after each reconnection.

        :raises StoreError: it is not possible now.
        """
        with self._lock:
            if not self._active:
                return
            wanted = self._wanted
            current = self.path is not None and self._generation == self._session.generation
            if current and (wanted == self._stored or self._rewrite(wanted)):
                return
            self.path = None
            generation = self._session.generation
            path, stat = self._session.create(
                f"{self._root}/{self._kind}/{self._hostname}",
                wanted,
                ephemeral=True,
                sequence=True,
                parents=True,
            )
            self.path, self._generation, self._stored, self._version = path, generation, wanted, stat.version
            self.written = stat.mtime / 1000.0

    def _rewrite(self, wanted: bytes) -> bool:
        """Replace the data; return False when the znode is gone."""
        path = self.path or ""
        try:
            try:
                stat = self._session.write(path, wanted, self._version)
            except StoreConflict:  # only its owner may write it
                stat = self._session.write(path, wanted)
        except StoreGone:
            return False
        self._stored, self._version = wanted, stat.version
        self.written = stat.mtime / 1000.0
        return True


class Components:
    """The registrations in ``/nodepool/components``."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pools: tuple[object, Sequence[PoolComponent]] = (None, ())

    def pools(self) -> Sequence[PoolComponent]:
        """Return all registered pools from the cache, including those of other launchers.

        Leaves out broken and lasting ones. They are made once for each state of the cache, so nobody may change them.
        """
        documents = self._session.tree.documents(_POOLS)
        if self._pools[0] is not documents:
            self._pools = documents, self._read_pools(documents)
        return self._pools[1]

    def _read_pools(self, documents: Sequence[tuple[str, Entry]]) -> Sequence[PoolComponent]:
        root = _POOLS
        pools = []
        for name, entry in documents:
            pool = entry.parsed(PoolComponent.from_bytes, name)
            if pool is None or pool.broken:
                problem = pool.lack() if pool is not None else why_unreadable(entry.data)
                self._session.unusable.add(f"{root}/{name}", problem or "it is empty")
            elif pool.state != ComponentState.ABSENT:
                pool = pool.clone()
                pool.path = f"{root}/{name}"
                pools.append(pool)
        return pools

    def lasting_pools(self) -> set[str]:
        """Return the names of the lasting registrations of pools, by the cache."""
        return {name for name in self._session.tree.names(_POOLS) if name.startswith(_LASTING)}

    def put_lasting_pool(self, ident: str, hostname: str, fields: Mapping[str, Any]) -> None:
        """Register a pool so that it stays registered after the end of this session, or rewrite what has changed.

        :param ident: its launcher id.
        """
        wanted = registration(ComponentKind.POOL, hostname, {**fields, "state": ComponentState.ABSENT, "paused": True})
        path = f"{_POOLS}/{lasting_name(ident)}"
        entry = self._session.tree.entry(path)
        if entry is not None and entry.data == wanted:
            return
        try:
            self._session.create(path, wanted, parents=True)
        except StoreConflict:
            with contextlib.suppress(StoreGone):
                self._session.write(path, wanted)

    def drop_lasting_pool(self, name: str) -> None:
        """Delete a lasting registration, if it is there."""
        with contextlib.suppress(StoreGone):
            self._session.remove([f"{_POOLS}/{name}"])

    def builders(self) -> list[tuple[str, str]]:
        """Return host name and version of each registered builder from the cache; empty texts for what is missing."""
        documents = (entry.document()[0] for _name, entry in self._session.tree.documents(_BUILDERS))
        known = [document for document in documents if document is not None]
        return [(text(found.get("hostname")) or "", text(found.get("version")) or "") for found in known]

    def register(
        self, kind: str, hostname: str, fields: Mapping[str, Any], *, root: str = paths.COMPONENTS
    ) -> Registration:
        """Register a component; *fields* are those of the schema beyond kind, hostname and model_api.

        :param hostname: ``socket.gethostname()``, not the FQDN.
        :param root: path that has the folder of the kind.
        """
        made = Registration(self._session, kind, hostname, fields, root)
        made.renew()
        self._session.after_sync.append(made.renew)
        return made


def lasting_name(ident: str) -> str:
    """Return the name of the lasting registration of the pool with that launcher id."""
    return _LASTING + hashlib.sha256(ident.encode("utf-8", "surrogatepass")).hexdigest()[:16]
