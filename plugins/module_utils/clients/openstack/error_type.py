# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the machine-readable type in the body of an error. Pure."""

from __future__ import annotations

import json
from typing import Any

LONGEST = 80
"""Characters of a type; neutron's longest are below 50."""


def error_type(body: str) -> str:
    """Return the type that a service gives its error: neutron's ``type``, nova's and cinder's key; "" without one.

    neutron: ``{"NeutronError": {"type": "OverQuota", …}}``; nova: ``{"forbidden": {"code": 403, …}}``. keystone and
    glance name no type.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(document, dict) or len(document) != 1:
        return ""
    ((key, value),) = document.items()
    if not isinstance(value, dict):
        return ""
    named: Any = value.get("type") if key == "NeutronError" else key
    return named if isinstance(named, str) and named != "error" and len(named) <= LONGEST else ""
