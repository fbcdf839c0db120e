# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a launcher cycle is told to do."""

from __future__ import annotations

from dataclasses import dataclass

from ....model.config.types import NodepoolConfig
from ...frame.cycle_options import CycleOptions, with_providers


@dataclass(frozen=True, kw_only=True)
class LauncherOptions(CycleOptions):
    """The options of a launcher cycle.

    :param providers: names of the providers to act for; None for all.
    :param serves: False to only delete nodes: no request is served, no node is launched, and no pool is registered.
    :param spare_ssh_after: age in seconds from which ssh is tried again before a spare node is handed out; 0: never.
    """

    providers: tuple[str, ...] | None = None
    serves: bool = True
    spare_ssh_after: float = 0.0

    def load(self) -> NodepoolConfig:
        """Read the configuration and check that it has the chosen providers.

        :raises ConfigError: with all problems.
        """
        return with_providers(self.reload(), self.providers)

    def chosen(self, config: NodepoolConfig) -> list[str]:
        """Return the names of the providers to act for."""
        return [name for name in config.providers if self.providers is None or name in self.providers]
