# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what the cache of an inventory holds: a file may be damaged, or of another version. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .gathering import RECORDS, Part

_TEXTS_OF_SERVERS = ("name", "server_id", "status", "provider", "node_id", "pool", "label", "image", "az", "task_state")
_TEXTS_OF_RECORDS = ("id", "state", "provider", "pool", "label", "az", "private_ipv4", "public_ipv4", "public_ipv6")
_ADDRESS = ("network", "address", "version", "floating")


def sound_parts(stored: Any) -> tuple[dict[str, Part], str]:
    """Return the parts that can be used, and a sentence about the others; "" when all can be used."""
    if stored is None:
        return {}, ""
    if not isinstance(stored, Mapping):
        return {}, "the inventory cache is damaged and is ignored: it is not a mapping"
    good = {str(name): dict(part) for name, part in stored.items() if _is_sound(str(name), part)}
    bad = [str(name) for name in stored if str(name) not in good]
    if not bad:
        return good, ""
    return good, f"the inventory cache is damaged for {', '.join(bad)}; listing again"


def _is_sound(name: str, part: Any) -> bool:
    if not isinstance(part, Mapping) or not isinstance(part.get("rows"), list):
        return False
    when = part.get("listed_at")
    if isinstance(when, bool) or not isinstance(when, (int, float)):
        return False
    fits: Callable[[Any], bool] = _is_record if name == RECORDS else _is_server
    return all(isinstance(row, Mapping) and fits(row) for row in part["rows"])


def _is_server(row: Mapping[str, Any]) -> bool:
    addresses = row.get("addresses")
    return (
        all(isinstance(row.get(key), str) for key in _TEXTS_OF_SERVERS)
        and isinstance(row.get("metadata"), Mapping)
        and isinstance(addresses, list)
        and all(isinstance(item, Mapping) and all(key in item for key in _ADDRESS) for item in addresses)
    )


def _is_record(row: Mapping[str, Any]) -> bool:
    keys = row.get("host_keys")
    return (
        "external_id" in row
        and all(isinstance(row.get(key), str) for key in _TEXTS_OF_RECORDS)
        and (keys is None or isinstance(keys, list))
    )
