# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remarks: what is odd about a cloud although its calls succeed."""

from __future__ import annotations

import threading


def is_about_rows(subject: str) -> bool:
    """Return True for a remark about what a reading call returned; others are about login, clock or catalog."""
    return subject.startswith("GET ")


class Remarks:
    """The remarks about one cloud or login, one per subject. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}

    def put(self, subject: str, text: str) -> None:
        """Set the remark about *subject*; an empty *text* removes it."""
        with self._lock:
            if text:
                self._texts[subject] = text
            else:
                self._texts.pop(subject, None)

    def by_subject(self) -> dict[str, str]:
        """Return the present remarks by subject."""
        with self._lock:
            return dict(self._texts)
