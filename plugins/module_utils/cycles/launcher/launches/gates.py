# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps launches back besides room: frozen pools and open breakers."""

from __future__ import annotations

from dataclasses import dataclass

from ..context.context import Context
from .breakers import Breakers
from .freezes import Freezes


@dataclass(frozen=True)
class Gates:
    """Both kinds, as the parts of a cycle pass them around."""

    freezes: Freezes
    breakers: Breakers

    @classmethod
    def of(cls, context: Context) -> Gates:
        """The gates of a cycle."""
        return cls(Freezes(context), Breakers(context))
