# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The version of the collection that the command belongs to. Only the standard library is loaded here."""

from __future__ import annotations

import json
import re
from pathlib import Path

COLLECTION = Path(__file__).resolve().parents[3]
_VERSION = re.compile(r"^version:\s*[\"']?([^\s\"'#]+)", re.MULTILINE)


def own_version(root: Path = COLLECTION) -> str:
    """Return what MANIFEST.json says, or galaxy.yml in a checkout; "unknown" where there is neither."""
    try:
        return str(json.loads((root / "MANIFEST.json").read_text("utf-8"))["collection_info"]["version"])
    except (OSError, ValueError, TypeError, LookupError):
        pass
    try:
        found = _VERSION.search((root / "galaxy.yml").read_text("utf-8"))
    except (OSError, ValueError):
        found = None
    return found[1] if found else "unknown"
