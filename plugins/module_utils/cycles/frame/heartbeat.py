# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The heartbeat of a cycle: an ephemeral document, written by the cycle's own thread, that ends with its session."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ...clients.zookeeper.components import Registration
from ...clients.zookeeper.link import paths
from ...clients.zookeeper.store import Store
from ...model.errors import StoreError
from ...model.own_tree import HEARTBEATS
from .tree_clock import unheard

EVERY = 30.0
"""Minimum seconds between two writes, unless the providers or a problem change."""
CONFIG_PROBLEMS = "config_problems"
"""The field with what is wrong with nodepool.yaml or secure.conf."""
MOST_PROBLEMS, LONGEST = 3, 500
"""Largest number of problems in the document, and of characters in each."""
CLOCK_AHEAD = "clock_ahead"
"""The field with the seconds by which the clock of the host is ahead of ZooKeeper's; 0 while it is right."""
UNSENT_METRICS = "unsent_metrics"
"""The field that says why metrics are not sent to statsd; empty while they are, or are not wanted."""


def nothing_unsent() -> str | None:
    """Say that no metrics are lost: for cycles without statsd."""
    return None


class Heartbeat:
    """Writes an ephemeral document as long as its :meth:`step` is called. Used by the cycle's own thread only.

    :param cycle: ``launcher``, ``builds`` or ``uploads``.
    :param hear: takes ZooKeeper's time in UNIX seconds with each write; returns how far the clock of the host is ahead.
    :param unsent: returns why metrics are not sent; None when they are.
    """

    def __init__(
        self,
        store: Store,
        cycle: str,
        hear: Callable[[float], float] = unheard,
        unsent: Callable[[], str | None] = nothing_unsent,
    ) -> None:
        self._store = store
        self._cycle = cycle
        self._hear = hear
        self._unsent = unsent
        self._registration: Registration | None = None
        self._written = float("-inf")
        self._told: tuple[list[str], list[str], bool, str] = ([], [], False, "")
        self._heard = self._ahead = 0.0

    def step(self, now: float, providers: Iterable[str] = (), problems: Sequence[str] = ()) -> None:
        """Write the document if a write is due. A ZooKeeper error does not fail the cycle: a later call tries again.

        :param providers: the providers that a launcher acts for.
        :param problems: what is wrong with the files of the configuration, which the cycle therefore does not use. A
            change of either is written at once.
        """
        unsent = (self._unsent() or "")[:LONGEST]
        told = (
            sorted(providers),
            [problem[:LONGEST] for problem in problems[:MOST_PROBLEMS]],
            self._ahead != 0.0,
            unsent,
        )
        if now - self._written < EVERY and told == self._told:
            return
        self._written, self._told = now, told
        fields = {"cycle": self._cycle, "at": round(now, 3), "providers": told[0], CONFIG_PROBLEMS: told[1]}
        fields |= {CLOCK_AHEAD: round(self._ahead), UNSENT_METRICS: unsent}
        before = self._registration.written if self._registration is not None else 0.0
        self._write(fields)
        if self._registration is not None and self._registration.written != before:
            heard = self._hear(self._registration.written)
            # One slow answer is no wrong clock.
            self._heard, self._ahead = heard, heard if self._heard else 0.0

    def _write(self, fields: Mapping[str, Any]) -> None:
        if self._registration is not None:
            self._registration.update(**fields)
            return
        with contextlib.suppress(StoreError):
            self._registration = self._store.components.register(
                HEARTBEATS, socket.gethostname(), fields, root=paths.OWN
            )

    def end(self) -> None:
        """Delete the document."""
        if self._registration is not None:
            self._registration.unregister()
