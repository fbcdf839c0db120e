# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the duration and the labels of a lease before anything is requested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...clients.zookeeper.link.paths import segment
from ...model.config.problems import shown
from ...model.config.types import NodepoolConfig
from ...model.errors import UnknownName
from ...model.lease import LeaseSpec
from ...model.own_tree import LEASES
from ...model.similar import hint

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store


def capped(spec: LeaseSpec, config: NodepoolConfig) -> tuple[LeaseSpec, tuple[str, ...]]:
    """Return the lease with a duration of at most ``max-hold-age`` seconds, and a warning if that shortened it."""
    most = config.max_hold_age
    if not most or spec.expires <= most:
        return spec, ()
    told = (
        f"lease {spec.name}: expires is {spec.expires} s, but max-hold-age of {config.path} releases a node"
        f" after {most} s: it lasts {most} s"
    )
    return replace(spec, expires=most), (told,)


def refuse_unknown(spec: LeaseSpec, config: NodepoolConfig, store: Store) -> None:
    """Check that each label is in nodepool.yaml or offered by a launcher that is registered in the tree.

    A nodepool.yaml without labels only says where the tree is. Then nothing is checked here, and launchers decline
    labels that they do not have. A lease that exists already is not checked either; launchers decide about its
    requests.

    :raises UnknownName: a label is unknown to both; names similar labels.
    """
    if not config.labels or store.own.get(f"{LEASES}/{segment(spec.name)}"):
        return
    offered = {label for pool in store.components.pools() for label in pool.supported_labels}
    known = {*config.labels, *offered}
    problems = [
        f"label {shown(label)!r} is neither in {config.path} nor offered by a launcher of this ZooKeeper tree; "
        f"{hint(label, known)}"
        for label in dict.fromkeys(spec.labels)
        if label not in known
    ]
    if problems:
        raise UnknownName(problems)
