# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hints for a name that does not exist: the names that are most like it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

MOST_SHOWN = 10
"""Names in a hint when none is alike."""


def near(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that are most similar to *name*, the most similar first.

    Ids are numbers with leading zeros: an id that was typed without them is found, too.
    """
    there = sorted(set(names))
    exact = [known for known in there if name.isdigit() and known.lstrip("0") == name.lstrip("0")]
    ending = [known for known in there if name and known.rpartition("-")[2].lstrip("0") == name.lstrip("0")]
    return list(dict.fromkeys([*exact, *ending, *get_close_matches(name, there, 3, 0.6)]))[:3]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return ``did you mean a or b?``, or an empty text when no name is alike."""
    like = near(name, names)
    return f"did you mean {' or '.join(like)}?" if like else ""


def hint(name: str, names: Iterable[str]) -> str:
    """Return the names that are alike, or else the first of all names."""
    known = sorted(set(names))
    rest = len(known) - MOST_SHOWN
    listed = ", ".join(known[:MOST_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
    return did_you_mean(name, known) or (f"there are {listed}" if known else "there are none")
