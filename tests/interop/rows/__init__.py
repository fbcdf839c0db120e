# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the matrix, by what they are about."""

from __future__ import annotations

import importlib

FILES = (
    "showing",
    "web",
    "acting",
    "documents",
    "zuul",
    "zuul_images",
    "zuul_config",
    "zuul_launcher",
    "rolling",
    "beside",
    "beside_kubernetes",
    "gate",
    "gate_kills",
    "accounts",
)
"""In the order in which their rows run."""


def load() -> None:
    """Register all rows."""
    for name in FILES:
        importlib.import_module(f"{__name__}.{name}")
