# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a cycle's actions, for the module's result and for the lines that it prints while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ....model.reasons import Reason
from ...frame.counts import CycleCounts
from .leak_counts import LeakCounts


@dataclass
class Account:
    """The actions of a cycle; ids are in the order of events. *say* takes a line for the operator.

    *waiting_for*, *unmet_spares* and *unmet_reasons* show the latest plan; the other fields collect all events.
    """

    say: Callable[[str], None] = lambda line: None
    fulfilled: list[str] = field(default_factory=list)
    failed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    declined: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    canceled: list[str] = field(default_factory=list)
    waiting_for: dict[str, Reason] = field(default_factory=dict)
    unmet_spares: dict[str, int] = field(default_factory=dict)
    unmet_reasons: dict[str, str] = field(default_factory=dict)
    launched: list[str] = field(default_factory=list)
    ready: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    launch_failures: dict[str, list[str]] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    refused: int = 0
    freezes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Freezes in force at the end, by pool and resource."""
    breakers: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    """Open breakers at the end, by provider and "image/flavor"."""
    health: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The health of the providers' APIs at the end."""
    unusable: dict[str, str] = field(default_factory=dict)
    """Provider → why the cycle does not act for it."""
    strangers: dict[str, str] = field(default_factory=dict)
    """Provider → warning about servers there that have its name in their metadata but belong to another tree."""
    wrong_clock: str = ""
    """What is wrong with the clock of this host."""
    sweeps: LeakCounts = field(default_factory=LeakCounts)
    """The leaks that sweeps found and deleted."""
    stuck: list[dict[str, Any]] = field(default_factory=list)
    """Deletions that were stuck at the end."""
    timings: dict[str, dict[str, float]] = field(default_factory=dict)
    """Node id → UNIX times of the steps of its launch, as the cycle saw them."""
    cycle_counts: CycleCounts = field(default_factory=CycleCounts)
    """The counters for metrics."""

    def end(
        self,
        *,
        freezes: dict[str, dict[str, dict[str, Any]]],
        breakers: dict[str, dict[str, dict[str, Any]]],
        stuck: list[dict[str, Any]],
        health: dict[str, dict[str, Any]],
    ) -> None:
        """Note the state at the end of the cycle."""
        self.freezes, self.breakers, self.stuck, self.health = freezes, breakers, stuck, health

    def wait(self, request_id: str, reason: Reason, *, stored: bool) -> bool:
        """Note why a request waits; return True if the reason is to be stored and differs from the last stored one.

        :param stored: True if reasons of this kind are stored.
        """
        self.waiting_for[request_id] = reason
        known = (reason.code, reason.figures.get("where"))
        if not stored or self._told.get(request_id) == known:
            return False
        self._told[request_id] = known
        return True

    def forget_wait(self, request_id: str) -> None:
        """Drop the reason of a request that does not wait any more."""
        self.waiting_for.pop(request_id, None)
        self._told.pop(request_id, None)

    def step(self, node_id: str, name: str, now: float) -> None:
        """Note when a launch reached a step."""
        self.timings.setdefault(node_id, {})[name] = now

    _told: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def waiting(self) -> dict[str, dict[str, Any]]:
        """Request → why it waits, as a document."""
        return {key: reason.document() for key, reason in self.waiting_for.items()}

    @property
    def changed(self) -> bool:
        """True when anything in ZooKeeper or a cloud was changed for a request or a node."""
        events = (self.fulfilled, self.failed, self.declined, self.canceled, self.launched, self.adopted, self.deleted)
        return any(events)

    def result(self) -> dict[str, Any]:
        """Return the part of the module's result about requests and nodes."""
        return {
            "requests": {
                "fulfilled": list(self.fulfilled),
                "failed": [{"id": key, "reasons": value} for key, value in self.failed.items()],
                "declined": [{"id": key, "reasons": value} for key, value in self.declined.items()],
                "canceled": list(self.canceled),
                "waiting": [{"id": key, "reason": value} for key, value in self.waiting.items()],
            },
            "nodes": {
                "launched": list(self.launched),
                "ready": list(self.ready),
                "adopted": list(self.adopted),
                "deleted": list(self.deleted),
                "failed": [{"id": key, "failures": value} for key, value in self.launch_failures.items()],
                "refused_creates": self.refused,
                "timings": self.timings,
            },
            "min_ready_unmet": dict(self.unmet_spares),
            "min_ready_reasons": dict(self.unmet_reasons),
        }
