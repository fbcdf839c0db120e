# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launcher cycle is told to do."""

from __future__ import annotations

from dataclasses import dataclass

from ....model.config.types import NodepoolConfig
from ....model.errors import ConfigError
from ...frame.cycle_options import CycleOptions, unknown_providers, with_providers


@dataclass(frozen=True, kw_only=True)
class LauncherOptions(CycleOptions):
    """The options of a launcher cycle.

    :param providers: names of the providers to act for; None for all.
    :param prefers: names of the providers that this host should act for; None for no preference. It acts for the others
        of *providers* only while no other host does.
    :param weight: the share of this host in the providers, relative to other hosts.
    :param brief: True for a cycle that ends when a wish is fulfilled: it takes no work from launchers that stay.
    :param serves: False to only delete nodes: no request is served, no node is launched, and no pool is registered.
    :param spare_ssh_after: age in seconds from which ssh is tried again before a spare node is handed out; 0: never.
    """

    providers: tuple[str, ...] | None = None
    prefers: tuple[str, ...] | None = None
    weight: float = 1.0
    brief: bool = False
    serves: bool = True
    spare_ssh_after: float = 0.0

    def load(self) -> NodepoolConfig:
        """Read the configuration and check that it has the chosen providers.

        :raises ConfigError: with all problems.
        """
        config = with_providers(self.reload(), self.providers)
        unknown = unknown_providers(config, self.prefers or (), "prefers")
        if unknown:
            raise ConfigError(unknown)
        return config

    def chosen(self, config: NodepoolConfig) -> list[str]:
        """Return the names of the providers to act for."""
        return [name for name in config.providers if self.providers is None or name in self.providers]
