# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The warnings of a configuration that hold for the tree as it is."""

from __future__ import annotations

from ...clients.zookeeper.store import Store
from ...model.component import stock_providers
from ...model.config.drivers import still_told
from ...model.config.types import NodepoolConfig


def config_warnings(config: NodepoolConfig, store: Store) -> list[str]:
    """Return the warnings without those about providers of other drivers that launchers of Nodepool work on.

    :param store: an open store; its cache has the registrations.
    """
    return still_told(config.warnings, stock_providers(store.components.pools()))
