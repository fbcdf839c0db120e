# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several modules share; the doc fragment ``config`` describes them."""

from __future__ import annotations

from typing import Any

CONFIG_ARGUMENTS: dict[str, Any] = {
    "config": {"type": "path", "default": "/etc/nodepool/nodepool.yaml"},
    "secure_config": {"type": "path"},
    "strict_config": {"type": "bool", "default": False},
    "clouds_config": {"type": "path"},
}

PROGRESS_ARGUMENTS: dict[str, Any] = {
    "progress_file": {"type": "path"},
}

CHECK_ARGUMENTS: dict[str, Any] = {
    "strict_check": {"type": "bool", "default": True},
}
"""Described by the doc fragment ``check``."""

CONTROL_ARGUMENTS: dict[str, Any] = {
    "control_file": {"type": "path"},
    "heartbeat_file": {"type": "path"},
}
