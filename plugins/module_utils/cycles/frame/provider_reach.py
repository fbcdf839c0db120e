# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks whether the providers of a configuration can be used now, for check mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ...model.errors import CloudError

T = TypeVar("T")
SIDE_BY_SIDE = 16


def reach_document(problem: str | None) -> dict[str, Any]:
    """Return a provider's row of the result. *problem*: why it cannot be used and what to do; None when it can."""
    return {"reached": True} if problem is None else {"reached": False, "text": problem}


def unreached(providers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the problems of the providers that cannot be used, in the order of their names."""
    return [str(row["text"]) for _name, row in sorted(providers.items()) if not row["reached"]]


def reach(clients: Mapping[str, T], ask: Callable[[T], object]) -> dict[str, str | None]:
    """Call all providers in parallel; the client bounds the time of each call.

    :return: provider → why it cannot be used; None if it can.
    """

    def one(client: T) -> str | None:
        try:
            ask(client)
        except CloudError as error:
            return str(error)
        return None

    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return dict(zip(clients, pool.map(one, clients.values()), strict=True))
