# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines for people: how they count, and which of them tell of something wrong."""

from __future__ import annotations


class Trouble(str):
    """A line that tells of something wrong; the journal shows it as a warning."""

    __slots__ = ()


def amount(number: float, noun: str, plural: str | None = None) -> str:
    """``1 request``, ``2 requests``."""
    return f"{number:g} {noun if number == 1 else plural or noun + 's'}"
