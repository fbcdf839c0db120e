# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions of a plan, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..model.reasons import Reason

PoolReason = tuple[str, Reason]
"""A pool (``provider/pool``) and its reason about a request."""


@dataclass(frozen=True)
class Slot:
    """One node of a set: a ready node to take, or (*node_id* None) a node to launch."""

    label: str
    node_id: str | None = None


@dataclass(frozen=True)
class Admit:
    """Serve a request from one pool and availability zone; *slots* are in the order of the request's labels."""

    request_id: str
    pool_id: str
    az: str | None
    slots: tuple[Slot, ...]
    reason: Reason


@dataclass(frozen=True)
class Decline:
    """Our pools can never serve the request: pool id → reason. *fail*: no other pool is left that could."""

    request_id: str
    reasons: Mapping[str, Reason]
    fail: bool


@dataclass(frozen=True)
class Wait:
    """The request stays as it is.

    *pools*: why each pool cannot serve it now, the best pool first; then why the other pools never can.
    """

    request_id: str
    reason: Reason
    pools: tuple[PoolReason, ...] = ()


@dataclass(frozen=True)
class LaunchSpare:
    """Launch a node without a request, to keep min-ready."""

    label: str
    pool_id: str
    az: str | None
    reason: Reason


@dataclass(frozen=True)
class DeleteNode:
    """Delete a node and what belongs to it.

    *version*: the version of the record that the decision was made on. When the record has changed since, the node is
    not deleted and a later plan decides again.
    """

    node_id: str
    reason: Reason
    version: int


@dataclass(frozen=True)
class FreeNode:
    """Remove the allocation of a ready node whose request is gone, so that the node can serve another request."""

    node_id: str
    reason: Reason


@dataclass(frozen=True)
class DropRequest:
    """Delete a request of ours that no playbook will ever collect."""

    request_id: str
    reason: Reason


@dataclass(frozen=True)
class Plan:
    """Everything to do, in the order in which it was decided."""

    admit: tuple[Admit, ...] = ()
    decline: tuple[Decline, ...] = ()
    wait: tuple[Wait, ...] = ()
    spare: tuple[LaunchSpare, ...] = ()
    delete: tuple[DeleteNode, ...] = ()
    unmet_spares: Mapping[str, int] = field(default_factory=dict)
    unmet_reasons: Mapping[str, str] = field(default_factory=dict)
