# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long is waited after failures in a row: 10 s, doubled with each, at most an hour."""

from __future__ import annotations

from ..model.backoff import backoff
from .notes import Failures

FIRST = 10.0
MOST = 3600.0
LONGEST_ERROR = 500
"""Characters of an error that are remembered."""


def failed(
    before: Failures, error: str, now: float, jitter: float, *, request: int | None = None, build: str = ""
) -> Failures:
    """The failures after one more.

    :param error: what went wrong, for people; no secrets.
    :param jitter: 0…1, spreads the time by a tenth either way.
    :param request: for builds, the request that was there when it was tried (``ImageState.requested``).
    :param build: for uploads, the id of the build.
    """
    wait = min(MOST, backoff(before.count + 1, first=FIRST, most=MOST, spread=0.1, chance=jitter))
    return Failures(before.count + 1, now + wait, now, error[:LONGEST_ERROR], request, build)
