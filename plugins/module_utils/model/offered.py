# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences about names that the configuration asks for and a cloud does not offer."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

MOST = 20
"""Maximum number of names that are shown."""
NEAR = 0.5
"""Minimum similarity of two names that count as near, by difflib's ratio."""


def listed(wanted: str, names: Sequence[str], shown: Mapping[str, str] | None = None) -> str:
    """Return the names for a sentence, at most MOST of them, those similar to *wanted* first.

    :param shown: name → text to show in place of the name.
    """
    each = list(dict.fromkeys(names))
    near = difflib.get_close_matches(wanted, each, n=5, cutoff=NEAR) if wanted else []
    ordered = [*near, *(name for name in each if name not in near)]
    told = [(shown or {}).get(name, name) for name in ordered[:MOST]]
    more = len(ordered) - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "") if told else "none"


def not_offered(what: str, wanted: str, names: Sequence[str], remedy: str) -> str:
    """Return ``the cloud has no network named 'nonet'; it offers net-a, net-b: correct networks of the pool``."""
    return f"the cloud has no {what} named {wanted!r}; it offers {listed(wanted, names)}: {remedy}"
