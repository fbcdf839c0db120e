# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find nodes that no request can get any more since the configuration changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model import reasons
from ..model.config.types import Provider
from ..model.node import Node
from ..model.reasons import Reason


def retirement(provider: Provider, pool_name: str | None, labels: Iterable[str]) -> Reason | None:
    """Return why a pool gives no node of any of the *labels* to a request, neither a new one nor a ready one.

    :return: None while the pool offers one of the labels.
    """
    pool = provider.pools.get(pool_name or "")
    where = f"{provider.name}/{pool_name or '?'}"
    if pool is None:
        return Reason(reasons.POOL_GONE, {"where": where})
    if pool.max_servers <= 0:
        return Reason(reasons.POOL_DISABLED, {"where": where})
    wanted = list(labels)
    if not any(label in pool.labels for label in wanted):
        return Reason(reasons.LABEL_UNKNOWN, {"where": where, "label": ", ".join(wanted) or "?"})
    return None


class Places:
    """The providers that the launcher acts for, by name. A provider that left the configuration has no pools."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = providers
        self._known: dict[tuple[str, ...], Reason | None] = {}

    def retired(self, node: Node) -> Reason | None:
        """Return why no request can get the node; None when one can, and for nodes of other launchers."""
        provider = self._providers.get(node.provider or "")
        if provider is None or node.pool is None:
            return None
        # Thousands of nodes share a few combinations of provider, pool and labels.
        key = (provider.name, node.pool, *node.type)
        if key not in self._known:
            self._known[key] = retirement(provider, node.pool, node.type)
        return self._known[key]
