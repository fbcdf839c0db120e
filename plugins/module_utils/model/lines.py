# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of output: how they count, and which of them tell of something wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

ATTEMPT = re.compile(r"^attempt \d+: ")
"""How a failure in the record of a launch begins."""


class Trouble(str):
    """A line that tells of something wrong; the journal shows it as a warning."""

    __slots__ = ()


def collapsed(failures: Iterable[str]) -> str:
    """Attempts that failed in the same way are told once: ``fault: no host (3 attempts)``."""
    counts = Counter(ATTEMPT.sub("", failure) for failure in failures)
    return "; ".join(text if count == 1 else f"{text} ({count} attempts)" for text, count in counts.items())


def amount(number: float, noun: str, plural: str | None = None) -> str:
    """``1 request``, ``2 requests``."""
    return f"{number:g} {noun if number == 1 else plural or noun + 's'}"
