# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes ``docs/nodepool.schema.json``, which editors read, from the schema that the loader uses.

From the checkout's root: ``python -m tests.support.editor_schema``. A test compares the two.
"""

from __future__ import annotations

import json

from ansible_collections.stackci.nodepool.plugins.module_utils.model.config.schema import NODEPOOL, Schema
from conftest import ROOT

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TARGET = ROOT / "docs" / "nodepool.schema.json"


def editor_schema() -> Schema:
    """The schema of nodepool.yaml as a document of its own."""
    return {"$schema": DIALECT, "title": "nodepool.yaml of stackci.nodepool", **NODEPOOL}


def rendered() -> str:
    """The text that belongs into the file."""
    return json.dumps(editor_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(rendered(), encoding="utf-8")
    print(f"{TARGET.relative_to(ROOT)} written")
