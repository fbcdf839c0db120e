# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of JSON Schema for whole sections of a configuration."""

from __future__ import annotations

from .drivers import OURS
from .options import Schema


def present(key: str) -> Schema:
    """Return the rule that *key* exists and has a value."""
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def rule(kind: str, keys: tuple[str, ...], sentence: str) -> Schema:
    """Return the rule that one of *keys* has a value (kind ``oneOf``), or at least one (``anyOf``), with its error."""
    return {kind: [present(key) for key in keys], "errorMessage": sentence}


def ours_only(schema: Schema) -> Schema:
    """Return the schema of a provider: of another driver's one only the name and the driver are checked."""
    any_driver = {key: schema["properties"][key] for key in ("name", "driver")}
    return {
        "type": "object",
        "if": {"properties": {"driver": {"enum": [OURS, None]}}},
        "then": schema,
        "else": {"properties": any_driver, "required": ["name"]},
    }
