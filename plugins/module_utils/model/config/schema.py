# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The form of each file as JSON Schema (draft 2020-12), made of the options that :mod:`types` declares.

:mod:`check` checks references from one place of a file to another.
"""

from __future__ import annotations

import math
from typing import Any

from . import types
from .options import (
    ABOVE,
    NODEPOOL,
    SECURE,
    SETTINGS,
    Option,
    Schema,
    keys_of,
    section_of,
)


def section_schema(cls: type, file: str) -> Schema:
    """Return the schema of the entries of a section in a file.

    The rules of whole entries are for the file that has all of an entry. Of one that nodepool.yaml may have, the other
    files have only a part.
    """
    declared = section_of(cls)
    keys = list(keys_of(cls, file))
    schema: Schema = {
        "description": declared.meaning,
        "type": "object",
        "properties": {option.key: option_schema(option, file) for option in keys},
        "required": [option.key for option in keys if option.required],
        "additionalProperties": False,
    }
    whole = file == NODEPOOL or not any(keys_of(cls, NODEPOOL))
    return declared.wrap({**schema, **declared.rules}) if whole else schema


def option_schema(option: Option, file: str) -> Schema:
    """Return the schema of the value of an option in a file."""
    schema: Schema = dict(option.schema or {})
    if option.part is not None:
        inner = section_schema(option.part, file)
        return {**schema, "items": inner} if option.many else {**inner, **schema}
    shown = shown_default(option)
    return schema if shown is None else {**schema, "default": shown}


def shown_default(option: Option) -> Any:
    """Return the default of an option as a file would have it; None for none, and for one that is inherited."""
    nothing = option.default is None or option.default in ((), {}, math.inf)
    return None if nothing or option.required or option.inherits in ABOVE else option.default


NODEPOOL_SCHEMA = section_schema(types.NodepoolConfig, NODEPOOL)
SECURE_SCHEMA = {
    **section_schema(types.NodepoolConfig, SECURE),
    "description": "secure.conf: the secrets. It replaces or completes what nodepool.yaml says.",
}
SETTINGS_SCHEMA = {
    **section_schema(types.NodepoolConfig, SETTINGS),
    "description": "nodepool-settings.yaml: what Nodepool does not know about things that nodepool.yaml defines.",
}
