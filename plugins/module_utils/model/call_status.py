# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which calls of a cloud's API have failed, by the status under which they are counted."""

from __future__ import annotations

SERVER_ERRORS = 500
UNSENT = "queue-timeout"
"""The status of a call that was not sent because too many were under way: it says nothing about the cloud."""


def has_failed(status: str) -> bool:
    """Return True when the cloud did not do what it should: no answer, a damaged one, or an HTTP status from 500 on.

    A refusal (4xx) is an answer: 404 ends a deletion, 403 is a full quota.
    """
    return int(status) >= SERVER_ERRORS if status.isdecimal() and status.isascii() else status != UNSENT
