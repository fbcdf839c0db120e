# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the operator adopts for this tree, although nothing on it proves that it is. Pure.

No cycle adopts anything by itself: adoption is an option of a sweep by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class AdoptionRules:
    """*sites*: ids of trees that are gone. *unmarked*: seconds of age from which on things that name the provider and
    no tree are claimed; None: not at all."""

    sites: Collection[str] = ()
    unmarked: float | None = None


NO_CLAIMS = AdoptionRules()


@dataclass(frozen=True)
class AdoptionRule:
    """How something became ours: *code* and *figures* of the reason, and the least age in seconds."""

    code: str
    figures: Mapping[str, Any]
    min_age: float | None = None


def claimed(claims: AdoptionRules, site: str) -> AdoptionRule | None:
    """The claim on a thing with the id of another tree, or ("") with none."""
    if site:
        return AdoptionRule("tree-adopted", {"site": site}) if site in claims.sites else None
    return None if claims.unmarked is None else AdoptionRule("unmarked-adopted", {}, claims.unmarked)
