# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests are locked and become pending, many side by side in one round trip where nobody was there before us."""

from __future__ import annotations

from collections.abc import Sequence

from ....clients.zookeeper.batch import Sent
from ....clients.zookeeper.locks import Held
from ....clients.zookeeper.store import Store
from ....launching.actions import Admit
from ....model.errors import StoreGone
from ....model.request import NodeRequest, RequestState

Accepted = tuple[NodeRequest, Held]


def accept(store: Store, actions: Sequence[Admit], now: float) -> list[Accepted | None]:
    """Lock the requests and set them pending.

    :return: in the order of *actions*; None where something has changed since the plan was made.
    """
    claims = [_claim(store, action, now) for action in actions]
    return [_outcome(store, action, claim, now) for action, claim in zip(actions, claims, strict=True)]


def _claim(store: Store, action: Admit, now: float) -> tuple[NodeRequest, Held, Sent] | None:
    """Lock and state in one go, unless the request has been written since it was seen."""
    request = store.requests.get(action.request_id)
    if request is None or not _is_open(request, action):
        return None
    batch = store.batch()
    held = store.requests.claim(request.id, batch)
    if held is None:
        return None
    request.set_state(RequestState.PENDING, now)
    store.requests.write(request, batch=batch, if_unchanged=True)
    sent = batch.send()
    held.claimed_by(sent)
    return request, held, sent


def _outcome(store: Store, action: Admit, claim: tuple[NodeRequest, Held, Sent] | None, now: float) -> Accepted | None:
    if claim is not None:
        request, held, sent = claim
        if sent.refused() is None:
            return request, held
        held.release()
    return _step_by_step(store, action, now)


def _step_by_step(store: Store, action: Admit, now: float) -> Accepted | None:
    """Where somebody had the lock before: lock, look once more, write."""
    held = store.requests.lock(action.request_id)
    if held is None:
        return None
    request = store.requests.read(action.request_id)
    if request is None or not _is_open(request, action):
        held.release()
        return None
    request.set_state(RequestState.PENDING, now)
    try:
        store.requests.write(request)
    except StoreGone:
        held.release()
        return None
    return request, held


def _is_open(request: NodeRequest, action: Admit) -> bool:
    """True when the plan was made for the request as it is."""
    same = request.node_types == [slot.label for slot in action.slots]
    return same and request.state == RequestState.REQUESTED and action.pool_id not in request.declined_by
