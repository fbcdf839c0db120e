# Copyright: (c) 2026, The stackci.nodepool contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a cloud's API is waited for: one figure, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_ABSENCE = 60.0
"""Seconds: no API is left alone for longer than this, whatever it asks for (``Retry-After``)."""
MOST_CREATES = 64
"""Creates of one provider that may be without an answer at once; each of them keeps a thread and a connection."""


@dataclass(frozen=True)
class ApiTimeouts:
    """All in seconds. *silence*: for how long an API may say nothing before the call is given up."""

    silence: float = 30.0

    @property
    def connect(self) -> float:
        """For a connection."""
        return min(5.0, self.silence)

    @property
    def call(self) -> float:
        """For one HTTP call with its whole answer, which may come in pieces."""
        return 2 * self.silence

    @property
    def job(self) -> float:
        """For what may be several calls; then its thread is given up."""
        return 4 * self.silence

    @property
    def suspect(self) -> float:
        """A call without an answer for so long makes its provider suspect: nothing more is given to it."""
        return self.silence / 3

    @property
    def stuck(self) -> float:
        """A provider in trouble for so long loses its launches that have no server yet to an able one."""
        return self.silence / 2

    @property
    def stuck_with_server(self) -> float:
        """The same for launches that have a server."""
        return 2 * self.silence

    def create_first(self, floor: float) -> float:
        """For a create at a cloud of which nothing is known. *floor*: the least that this cloud is waited for."""
        return min(self.create_most(floor), 10 * max(self.silence, floor))

    def create_most(self, floor: float) -> float:
        """For a create at any cloud, whatever it lately needed."""
        return max(20 * self.silence, floor)
