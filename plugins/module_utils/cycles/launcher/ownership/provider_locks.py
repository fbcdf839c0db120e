# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The locks of providers: one launcher acts for a provider, others stand by."""

from __future__ import annotations

from collections.abc import Iterable

from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....model.own_tree import PROVIDERS


class ProviderLocks:
    """The locks that give this cycle the right to act. They end with the session."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._held: dict[str, Held] = {}

    def gain(self, providers: Iterable[str]) -> list[str]:
        """Take the free locks; return the providers that this cycle newly acts for."""
        return [name for name in providers if self._take(name, f"{PROVIDERS}/{name}")]

    def __contains__(self, provider: str) -> bool:
        held = self._held.get(provider)
        return held is not None and held.valid

    def release(self, provider: str) -> None:
        """Release the lock of a provider; it can be taken again."""
        held = self._held.pop(provider, None)
        if held is not None:
            held.release()

    def lose(self) -> None:
        """Release all locks."""
        for held in self._held.values():
            held.release()
        self._held.clear()

    def _take(self, key: str, path: str) -> bool:
        if key in self._held or self._store.own.is_locked(path):
            return False
        held = self._store.own.lock(path)
        if held is None:
            return False
        self._held[key] = held
        return True
