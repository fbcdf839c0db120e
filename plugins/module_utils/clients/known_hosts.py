# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded host keys in the form that ssh reads."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable


def known_hosts_lines(address: str, port: int, keys: Iterable[str]) -> list[str]:
    """Return one line for each key; none when the address is invalid. A key is ``"<type> <base64>"``."""
    if len(address.split()) != 1:
        return []
    name = address if port == 22 else f"[{address}]:{port}"
    return [f"{name} {key}" for key in keys if len(key.split()) == 2 and "\n" not in key]


def write_known_hosts(path: str, text: str) -> None:
    """Replace the file atomically, so that a running ssh reads the old or the new file and never part of one.

    Nothing is written when the file already has this text.

    :raises OSError: when the file cannot be read or written.
    """
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    handle, temporary = tempfile.mkstemp(prefix=".known_hosts", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
