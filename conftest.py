# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes ``ansible_collections.stackci.nodepool`` importable from a plain checkout."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TREE = ROOT / "playbooks" / "collections"
LINK = TREE / "ansible_collections" / "stackci" / "nodepool"

if not LINK.exists():
    LINK.parent.mkdir(parents=True, exist_ok=True)
    LINK.symlink_to(Path("..") / ".." / ".." / "..")
for entry in (str(TREE), str(ROOT)):
    if entry not in sys.path:
        sys.path.insert(0, entry)
