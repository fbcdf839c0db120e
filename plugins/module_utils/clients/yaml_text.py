# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writing of plain data as YAML."""

from __future__ import annotations

import json
from typing import Any

try:
    import yaml
except ImportError:
    yaml = None  # type: ignore[assignment]  # reported when nodepool.yaml is read


def yaml_text(document: Any, width: int = 120) -> str:
    """Return the document as YAML, with the keys in their order and without aliases."""
    # A value that occurs twice would become an alias; JSON makes two values of it.
    plain = json.loads(json.dumps(document))
    return str(yaml.safe_dump(plain, sort_keys=False, width=width, allow_unicode=True))
