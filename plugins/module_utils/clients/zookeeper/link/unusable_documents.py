# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unusable documents: each is reported once, left as it is, and does not affect other documents."""

from __future__ import annotations

import threading
from collections import deque

MOST = 1000
"""Maximum number of documents that are reported, so that a tree full of them does not fill a log."""


class UnusableDocuments:
    """The sentences about unusable documents that were not reported yet; each is reported once. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._news: deque[str] = deque()

    def add(self, path: str, problem: str) -> None:
        """Note that the document at *path* cannot be used.

        :param problem: the part of a sentence that says why, e.g. "it is not JSON".
        """
        self._once(path, f"{path} is ignored and not changed: {problem}: correct it, or delete it by hand")

    def remark(self, path: str, remark: str) -> None:
        """Note what is wrong with a document that is used all the same."""
        self._once(path, f"{path}: {remark}")

    def _once(self, path: str, sentence: str) -> None:
        if path in self._told or len(self._told) >= MOST:
            return
        with self._lock:
            if path not in self._told:
                self._told.add(path)
                self._news.append(sentence)

    def tell(self, sentence: str) -> None:
        """Note any other sentence that the operator should see once."""
        with self._lock:
            if sentence not in self._told and len(self._told) < MOST:
                self._told.add(sentence)
                self._news.append(sentence)

    def drain(self) -> list[str]:
        """Return the sentences since the last call."""
        with self._lock:
            news = list(self._news)
            self._news.clear()
        return news
