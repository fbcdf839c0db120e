# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a sweep by hand."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from ....model.config.types import NodepoolConfig
from ....model.errors import ConfigError
from ....sweeping.candidate import Kind
from ....sweeping.find import AdoptionRules
from ....sweeping.judge import Rules
from ...frame.cycle_options import ConfigOptions, with_providers

_SITE = re.compile("[0-9a-f]{32}")
DISTANCE = 60.0
"""Minimum seconds between two sightings of a leak. A run that itself waits for the second may use fewer."""


@dataclass(frozen=True, kw_only=True)
class SweepOptions(ConfigOptions):
    """The options of a sweep by hand.

    :param kinds: kinds of things to look for.
    :param min_age: minimum age of a leaked thing in seconds.
    :param max_deletions: largest number of deletions in each provider, and in the tree.
    :param wait: seconds until a second check; 0 for one check.
    :param adopt_sites: ids of trees that are gone; their things are treated as this tree's.
    :param adopt_unmarked: age in seconds from which things that name a provider but no tree are treated as this
        tree's; None: they are not.
    """

    providers: tuple[str, ...] | None = None
    kinds: tuple[str, ...] = Kind.ALL
    min_age: float = 600.0
    max_deletions: int = 50
    wait: float = 0.0
    adopt_sites: tuple[str, ...] = ()
    adopt_unmarked: float | None = None

    def load(self) -> NodepoolConfig:
        """Read the configuration and check the options.

        :raises ConfigError: with all problems, including those of the options.
        """
        problems = [
            f"{name} is {value:g}: give a number of 0 or more"
            for name, value in (("min_age", self.min_age), ("max_deletions", self.max_deletions), ("wait", self.wait))
            if not (value >= 0 and math.isfinite(value))
        ]
        if self.adopt_unmarked is not None and not self.adopt_unmarked >= 0:  # nan is neither
            problems.append(f"adopt_unmarked is {self.adopt_unmarked:g}: give an age in seconds")
        problems += [
            f"adopt_sites: {site!r} is not the id of a tree: give the 32 digits that its servers have as stackci_site"
            for site in self.adopt_sites
            if not _SITE.fullmatch(site)
        ]
        if problems:
            raise ConfigError(problems)
        return with_providers(self.reload(), self.providers)

    def chosen(self, config: NodepoolConfig) -> list[str]:
        """Return the names of the providers to sweep; none if only the tree is swept."""
        if not set(self.kinds) - set(Kind.TREE):
            return []
        return [name for name in config.providers if self.providers is None or name in self.providers]

    @property
    def claims(self) -> AdoptionRules:
        """The rules for things of other trees, or of none, that are treated as this tree's."""
        return AdoptionRules(self.adopt_sites, self.adopt_unmarked)

    @property
    def rules(self) -> Rules:
        """The rules that a leak must meet before it is deleted."""
        distance = min(DISTANCE, self.wait) if self.wait > 0 else DISTANCE
        return Rules(self.min_age, distance, self.max_deletions)
