# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be said of a wished lease before anything is asked for: what it cannot have, and what nobody offers."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ...clients.zookeeper.paths import segment
from ...model.config.problems import shown
from ...model.config.types import NodepoolConfig
from ...model.lease import LEASES, LeaseError, LeaseSpec

if TYPE_CHECKING:
    from ...clients.zookeeper.store import Store

MOST_SHOWN = 10


def capped(spec: LeaseSpec, config: NodepoolConfig) -> tuple[LeaseSpec, tuple[str, ...]]:
    """The lease with no more time than ``max-hold-age`` leaves to any held node, and what to say of that."""
    most = config.max_hold_age
    if not most or spec.expires <= most:
        return spec, ()
    told = (
        f"lease {spec.name}: expires is {spec.expires} s, but max-hold-age of {config.path} gives a node back after "
        f"{most} s: it lasts {most} s"
    )
    return replace(spec, expires=most), (told,)


def refuse_unknown(spec: LeaseSpec, config: NodepoolConfig, store: Store) -> None:
    """See that somebody may have the labels: nodepool.yaml, or a launcher that is registered in the tree.

    A nodepool.yaml without labels only names the tree, and then nobody knows: a launcher declines what it does not
    have. A lease that exists already goes on; others decide about its requests.

    :raises LeaseError: a label that neither of them has, with names that are near.
    """
    if not config.labels or store.own.get(f"{LEASES}/{segment(spec.name)}"):
        return
    offered = {label for pool in store.components.pools() for label in pool.supported_labels}
    known = {*config.labels, *offered}
    problems = [
        f"label {shown(label)!r} is neither in {config.path} nor offered by a launcher of this ZooKeeper tree; "
        f"{_hint(label, known)}"
        for label in dict.fromkeys(spec.labels)
        if label not in known
    ]
    if problems:
        raise LeaseError("; ".join(problems))


def _hint(label: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(label, sorted(known), n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    names = sorted(known)
    rest = len(names) - MOST_SHOWN
    return f"there are {', '.join(names[:MOST_SHOWN])}{f' and {rest} more' if rest > 0 else ''}"
