# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the collection's own part of the tree: complete, shown in the documentation, and the only place."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ansible_collections.stackci.nodepool.plugins.module_utils.clients.zookeeper.link.accounts import SHARED
from ansible_collections.stackci.nodepool.plugins.module_utils.model import own_tree
from ansible_collections.stackci.nodepool.plugins.module_utils.model.own_tree import OWN_TREE, REQUESTOR

ROOT = Path(__file__).resolve().parents[5]
NAMES = {part.name for part in OWN_TREE}


def test_every_name_is_in_the_table_once() -> None:
    assert [part.name for part in OWN_TREE] == sorted(NAMES)
    constants = {value for name, value in vars(own_tree).items() if name.isupper() and isinstance(value, str)}
    others = {value for name, value in vars(own_tree).items() if name.startswith("BY_")}
    others |= {own_tree.LAUNCHER, own_tree.BUILDER, own_tree.ALL, REQUESTOR}
    assert constants - others == NAMES


def test_the_page_about_security_shows_the_table() -> None:
    page = (ROOT / "docs/security.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \| (.+?) \| (.+?) \|$", page, re.M)
    told = [
        (part.name, part.key or "-", "every client" if part.writer == REQUESTOR else part.writer, part.holds)
        for part in OWN_TREE
    ]
    assert [row for row in rows if row[0] in NAMES] == told
    shared = re.search(r"^\| `/nodepool/stackci/([a-z-]+)`, `([a-z-]+)` \|", page, re.M)
    assert shared is not None
    assert {f"/nodepool/stackci/{name}" for name in shared.groups()} == set(SHARED)


def test_no_other_file_spells_a_path_of_it() -> None:
    spelled = re.compile(rf"(?:/nodepool/stackci/|^)(?:{'|'.join(sorted(NAMES))})/")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value}"
        for path in sorted((ROOT / "plugins/module_utils").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if "\n" not in node.value and " " not in node.value and spelled.search(node.value)
    ]
    assert found == []
