# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema that editors read, and the tables of ``docs/configuration.md``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config import types
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.options import (
    ABOVE,
    APPENDED,
    MERGED,
    NODEPOOL,
    PARENT,
    PARENT_OR_FALSE,
    SECURE,
    Option,
    Schema,
    keys_of,
)
from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import (
    NODEPOOL_SCHEMA,
    SETTINGS_SCHEMA,
    shown_default,
)
from conftest import ROOT

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMA = ROOT / "docs" / "nodepool.schema.json"
OWN_SCHEMA = ROOT / "docs" / "nodepool-settings.schema.json"
MANUAL = ROOT / "docs" / "configuration.md"
_PLACE = re.compile(r"(<!-- options of (\w+)(?: in (\S+))? -->\n).*?(<!-- end -->\n)", re.DOTALL)
"""Where the manual has a table: the name of the section's class, and the file if only its options are meant."""
_INHERITED = {
    PARENT: "yes",
    PARENT_OR_FALSE: "yes, and `false` overrides",
    APPENDED: APPENDED,
    MERGED: MERGED,
    "": "no",
}


def editor_schema() -> Schema:
    """The schema of nodepool.yaml as a document of its own."""
    return {"$schema": DIALECT, "title": "nodepool.yaml of stackci.nodepool", **NODEPOOL_SCHEMA}


def own_editor_schema() -> Schema:
    """The schema of nodepool-settings.yaml as a document of its own."""
    return {"$schema": DIALECT, "title": "nodepool-settings.yaml of stackci.nodepool", **SETTINGS_SCHEMA}


def rendered_files() -> dict[Path, str]:
    """The text that belongs into each file."""
    schemas = {SCHEMA: editor_schema(), OWN_SCHEMA: own_editor_schema()}
    texts = {path: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for path, schema in schemas.items()}
    manual = _PLACE.sub(
        lambda place: place[1] + table(getattr(types, place[2]), place[3] or "") + place[4], MANUAL.read_text("utf-8")
    )
    return {**texts, MANUAL: manual}


def table(cls: type, file: str = "") -> str:
    """The options of a section as a table.

    :param file: "" for those of nodepool.yaml and secure.conf.
    """
    chosen = {file} if file else {NODEPOOL, SECURE}
    options = [option for option in keys_of(cls) if chosen & set(option.files)]
    from_parents = cls is types.Diskimage
    mixed = not file and any(NODEPOOL in option.files for option in options)
    heads = ["key", "default", *(["inherited"] if from_parents else []), "meaning"]
    lines = [heads, ["---"] * len(heads)]
    for option in options:
        inherited = [_INHERITED[option.inherits]] if from_parents else []
        lines.append([_key(option), _default(option), *inherited, _meaning(option, mixed)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def tables() -> list[str]:
    """The sections whose tables the manual has."""
    return [found[2] for found in _PLACE.finditer(MANUAL.read_text("utf-8"))]


def _key(option: Option) -> str:
    return f"**{option.key}**" if option.required else option.key


def _default(option: Option) -> str:
    if option.inherits in ABOVE:
        return f"the {option.inherits}'s"
    value: Any = shown_default(option)
    if value is None or option.part is not None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value) or "''"


def _meaning(option: Option, mixed: bool) -> str:
    meaning: str = (option.schema or {})["description"]
    elsewhere = f" Only in {' or '.join(option.files)}." if mixed and NODEPOOL not in option.files else ""
    return (meaning + elsewhere).rstrip(".").replace("|", "\\|")
