# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates that stop launches although there is room: frozen pools and open breakers."""

from __future__ import annotations

from dataclasses import dataclass

from ..context.context import Context
from .breakers import Breakers
from .freezes import Freezes


@dataclass(frozen=True)
class Gates:
    """The gates of both kinds, which the parts of a cycle share."""

    freezes: Freezes
    breakers: Breakers

    @classmethod
    def of(cls, context: Context) -> Gates:
        """Return the gates of a cycle."""
        return cls(Freezes(context), Breakers(context))
